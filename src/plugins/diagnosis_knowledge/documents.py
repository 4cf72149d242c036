"""Finds and reads the documents under the paths a user gives.

Nothing of the machine's paths leaves this module but `SourceFile.path`, which is never stored.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from diagnosis.errors import SourceError
from diagnosis_knowledge.chunking import Chunk, chunked
from diagnosis_knowledge.readers.decoding import decoded
from diagnosis_knowledge.readers.kinds import (
    FILE_BYTES,
    LARGEST_FILE_BYTES,
    Kind,
    kind_by_name,
    kind_of,
    why_unsupported,
)
from diagnosis_knowledge.readers.process import ReadingProcess, unread
from diagnosis_knowledge.readers.sections import DocumentUnreadable, Extract
from diagnosis_knowledge.readers.text_readers import read_markdown, read_plain

DOCUMENT_CHUNKS = 5_000
_LINK_OUT = "a link that leads out of the folder"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file to index.

    Attributes:
        source: its name relative to the path the user gave; what the model and users see.
        folder: the first folder name below that path, or None: the category by default.
    """

    path: Path
    source: str
    folder: str | None

    @property
    def document_id(self) -> str:
        """Short and stable: the same source name is the same document."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A visible file of a folder that is no document.

    Attributes:
        source: as for `SourceFile`.
        reason: what it is instead.
    """

    source: str
    reason: str


@dataclass(slots=True)
class Survey:
    """What there is under paths.

    Attributes:
        skipped: what folders hold beside documents.
        folders: for each folder that was given, named by a digest of its path, the ids of the
            documents in it.
    """

    files: list[SourceFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    folders: dict[str, set[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """The bytes of a file, not yet read as a document."""

    file: SourceFile
    content: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Document:
    """One document, read and cut.

    Attributes:
        sha256: of the file's bytes.
        note: what of it could not be read, or None.
    """

    document_id: str
    source: str
    title: str
    category: str | None
    sha256: str
    chunks: tuple[Chunk, ...]
    note: str | None = None


def survey(paths: Iterable[Path]) -> Survey:
    """The files under `paths`: a named file whatever its suffix, in folders those with a known one.

    Hidden files and folders inside a given folder are left out.

    Raises:
        SourceError: a path does not exist, is no file or folder, or a folder holds no document.
    """
    found = Survey()
    for path in paths:
        if path.is_file():
            found.files.append(SourceFile(path, _shown(path.name), None))
        elif path.is_dir():
            before = len(found.files)
            _survey_folder(path, found)
            if len(found.files) == before:
                raise SourceError(
                    f"The knowledge folder {path} holds no Markdown, text, HTML, PDF or "
                    "reStructuredText file.",
                    "Name a folder or file with such documents.",
                )
        else:
            problem = "is neither a file nor a folder" if path.exists() else "does not exist"
            raise SourceError(f"The knowledge path {path} {problem}.", "Name an existing document.")
    return found


def find_files(paths: Iterable[Path]) -> list[SourceFile]:
    """The documents of a `survey`.

    Raises:
        SourceError: as `survey`.
    """
    return survey(paths).files


class DocumentReader:
    """Reads and cuts files. What is easily hostile is read by a process of its own.

    A document that was read is kept, so that reading the same file again costs little. `close` may
    be called by any thread, and ends a read that waits.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process = ReadingProcess()
        self._read: dict[tuple[str, str], Document] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if there is one; nothing can be read any more."""
        self._process.close()

    def read(self, file: SourceFile) -> Document:
        """Read and cut one file.

        Raises:
            DocumentUnreadable: it is too large, of no kind that can be read, damaged or empty.
        """
        return self.parse(self.load(file))

    def load(self, file: SourceFile) -> LoadedFile:
        """Take a file's bytes, before what takes time.

        Raises:
            DocumentUnreadable: there are too many, or the file cannot be read.
        """
        if self._process.is_closed:
            raise unread()
        try:
            with file.path.open("rb") as stream:
                content = stream.read(LARGEST_FILE_BYTES + 1)
        except OSError as error:
            raise DocumentUnreadable(
                f"cannot be read: {error.strerror}", "Make it readable."
            ) from error
        if len(content) > LARGEST_FILE_BYTES:
            raise _too_large(LARGEST_FILE_BYTES)
        return LoadedFile(file, content, hashlib.sha256(content).hexdigest())

    def parse(self, loaded: LoadedFile) -> Document:
        """Read and cut what was loaded.

        Raises:
            DocumentUnreadable: as `read`.
        """
        key = loaded.file.source, loaded.sha256
        if key not in self._read:
            self._read[key] = _document(loaded, self._extract(loaded))
        return self._read[key]

    def read_all(self, paths: Iterable[Path]) -> list[Document]:
        """Every document under `paths` that can be read.

        Raises:
            SourceError: as `survey`; or a file named itself, or all of a folder, cannot be read.
        """
        documents: list[Document] = []
        for path in paths:
            before, refusal = len(documents), DocumentUnreadable("holds no text")
            for file in find_files([path]):
                try:
                    documents.append(self.read(file))
                except DocumentUnreadable as error:
                    refusal = error
            if len(documents) == before:
                raise SourceError(
                    f"The knowledge path {path} {refusal.reason}.",
                    refusal.mend or "Name another document.",
                )
        return documents

    def _extract(self, loaded: LoadedFile) -> Extract:
        kind = kind_of(loaded.file.path.name, loaded.content)
        if len(loaded.content) > FILE_BYTES[kind]:
            raise _too_large(FILE_BYTES[kind])
        if kind is Kind.MARKDOWN:
            return read_markdown(decoded(loaded.content))
        if kind is Kind.TEXT:
            return read_plain(decoded(loaded.content))
        return self._process.read(kind, loaded.content)


def _document(loaded: LoadedFile, extract: Extract) -> Document:
    file = loaded.file
    title = extract.title or _shown(file.path.stem)
    chunks = tuple(islice(chunked(extract.sections, title), DOCUMENT_CHUNKS + 1))
    if not chunks:
        raise DocumentUnreadable("holds no text")
    if len(chunks) > DOCUMENT_CHUNKS:
        raise DocumentUnreadable(f"holds more than {DOCUMENT_CHUNKS} passages", "Split it.")
    return Document(
        document_id=file.document_id,
        source=file.source,
        title=title,
        category=extract.category or file.folder,
        sha256=loaded.sha256,
        chunks=chunks,
        note=extract.note,
    )


def _too_large(limit: int) -> DocumentUnreadable:
    return DocumentUnreadable(f"is larger than {limit // 1024 // 1024} MiB", "Split it.")


def _survey_folder(folder: Path, found: Survey) -> None:
    root = folder.resolve()
    inside = found.folders.setdefault(hashlib.sha256(os.fsencode(root)).hexdigest()[:16], set())
    for path in _visible_files(folder):
        relative = path.relative_to(folder)
        source = _shown(relative.as_posix())
        if kind_by_name(path.name) is None:
            found.skipped.append(SkippedFile(source, why_unsupported(path.name)))
        elif not path.resolve().is_relative_to(root):
            found.skipped.append(SkippedFile(source, _LINK_OUT))
        else:
            first = _shown(relative.parts[0]) if len(relative.parts) > 1 else None
            file = SourceFile(path, source, first)
            found.files.append(file)
            inside.add(file.document_id)


def _visible_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.is_file():
            yield path


def _shown(name: str) -> str:
    """A file's name as text: names are bytes, and those of Chinese archives are GB 18030 at times.

    Raises nothing: what is neither that nor UTF-8 gets replacement characters.
    """
    encoded = os.fsencode(name)
    for encoding in ("utf-8", "gb18030"):
        try:
            return encoded.decode(encoding)
        except UnicodeDecodeError:
            continue
    return encoded.decode("utf-8", errors="replace")
