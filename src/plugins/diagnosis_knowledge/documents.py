"""Finds and reads the documents under the paths a user gives: Markdown and plain text, UTF-8.

Nothing of the machine's paths leaves this module but `SourceFile.path`, which is never stored.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from diagnosis.errors import SourceError
from diagnosis_knowledge.chunking import Chunk, chunk_markdown, chunk_plain, first_heading

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
TEXT_SUFFIXES = frozenset({".txt", ".text"})
DOCUMENT_BYTES = 4 * 1024 * 1024

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_MATTER_LINE = re.compile(r"(title|category)[ \t]*:[ \t]*(.+?)[ \t]*$")


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
class Document:
    """One document, read and cut.

    Attributes:
        sha256: of the file's bytes.
    """

    document_id: str
    source: str
    title: str
    category: str | None
    sha256: str
    chunks: tuple[Chunk, ...]


class DocumentUnreadable(Exception):
    """A file cannot be indexed; its text says why, without a machine path."""


def find_files(paths: Iterable[Path]) -> list[SourceFile]:
    """The files under `paths`: a named file whatever its suffix, in folders those with a known one.

    Hidden files and folders inside a given folder are left out; links that lead out of it too.

    Raises:
        SourceError: a path does not exist, is no file or folder, or a folder holds no document.
    """
    found: list[SourceFile] = []
    for path in paths:
        if path.is_file():
            found.append(SourceFile(path, path.name, None))
        elif path.is_dir():
            inside = _files_below(path)
            if not inside:
                raise SourceError(
                    f"The knowledge folder {path} holds no Markdown or text file.",
                    "Name a folder or file with .md, .markdown, .txt or .text documents.",
                )
            found += inside
        else:
            problem = "is neither a file nor a folder" if path.exists() else "does not exist"
            raise SourceError(f"The knowledge path {path} {problem}.", "Name an existing document.")
    return found


def read_document(file: SourceFile) -> Document:
    """Read and cut one file.

    Raises:
        DocumentUnreadable: it is too large, binary, not UTF-8, empty, or cannot be read.
    """
    try:
        with file.path.open("rb") as stream:
            content = stream.read(DOCUMENT_BYTES + 1)
    except OSError as error:
        raise DocumentUnreadable(f"cannot be read: {error.strerror}") from error
    if len(content) > DOCUMENT_BYTES:
        raise DocumentUnreadable(f"is larger than {DOCUMENT_BYTES // 1024 // 1024} MiB")
    text = _decode(content)
    markdown = file.path.suffix.lower() in MARKDOWN_SUFFIXES
    title, category = None, file.folder
    if markdown and (match := _FRONT_MATTER.match(text)):
        entries = _front_matter(match[1] or "")
        title, category = entries.get("title"), entries.get("category", category)
        text = text[match.end() :]
    if markdown:
        title = title or first_heading(text) or file.path.stem
        chunks = chunk_markdown(text, title)
    else:
        title = file.path.stem
        chunks = chunk_plain(text, title)
    if not chunks:
        raise DocumentUnreadable("holds no text")
    return Document(
        document_id=file.document_id,
        source=file.source,
        title=title,
        category=category,
        sha256=hashlib.sha256(content).hexdigest(),
        chunks=tuple(chunks),
    )


def _files_below(folder: Path) -> list[SourceFile]:
    root = folder.resolve()
    found: list[SourceFile] = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if any(part.startswith(".") for part in relative.parts):
            continue
        if path.suffix.lower() not in MARKDOWN_SUFFIXES | TEXT_SUFFIXES or not path.is_file():
            continue
        if not path.resolve().is_relative_to(root):
            continue
        first = relative.parts[0] if len(relative.parts) > 1 else None
        found.append(SourceFile(path, relative.as_posix(), first))
    return found


def _decode(content: bytes) -> str:
    if b"\0" in content:
        raise DocumentUnreadable("is a binary file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentUnreadable("is not UTF-8 text") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _front_matter(block: str) -> dict[str, str]:
    entries: dict[str, str] = {}
    for line in block.splitlines():
        if match := _FRONT_MATTER_LINE.match(line):
            value = match[2].strip("\"'").strip()
            if value:
                entries[match[1]] = value
    return entries


def read_all(paths: Iterable[Path]) -> list[Document]:
    """Every document under `paths` that can be read.

    Raises:
        SourceError: as `find_files`; or a file named itself, or all of a folder, cannot be read.
    """
    documents: list[Document] = []
    for path in paths:
        before, refusal = len(documents), "holds no text"
        for file in find_files([path]):
            try:
                documents.append(read_document(file))
            except DocumentUnreadable as error:
                refusal = str(error)
        if len(documents) == before:
            raise SourceError(
                f"The knowledge path {path} {refusal}.", "Name a UTF-8 Markdown or text document."
            )
    return documents
