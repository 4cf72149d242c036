"""What an `add` tells of each file, and its first half: reading what is new."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from diagnosis.plugin import IndexStatus
from diagnosis_knowledge.documents import (
    Document,
    DocumentReader,
    LoadedFile,
    SourceFile,
    Survey,
)
from diagnosis_knowledge.readers.sections import DocumentUnreadable
from diagnosis_knowledge.registry import Registry
from diagnosis_knowledge.statuses import KnownDocument


class AddStatus(StrEnum):
    """What became of one file."""

    ADDED = "ADDED"
    UNCHANGED = "UNCHANGED"
    REPLACED = "REPLACED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    """It lies in a folder and is no document."""
    MISSING = "MISSING"
    """It lay in a folder when that was added before; what was indexed of it stays."""


@dataclass(frozen=True, slots=True)
class AddedFile:
    """One file of an `add`.

    Attributes:
        source: its name relative to the path it was found under.
        document_id: None where it is SKIPPED.
        chunks: how many passages of it can be found now.
        reason: why it failed or was skipped, what of it could not be read, or which document has
            the same content already.
    """

    source: str
    document_id: str | None
    status: AddStatus
    chunks: int = 0
    reason: str | None = None


class AddStage(StrEnum):
    """The two halves of an `add`."""

    READING = "READING"
    INDEXING = "INDEXING"


@dataclass(frozen=True, slots=True)
class AddStep:
    """How far an `add` is.

    Attributes:
        done, total: files while READING, passages while INDEXING.
        source: the file that is at hand.
    """

    stage: AddStage
    done: int
    total: int
    source: str


class Sorting:
    """Decides for one file after the other whether there is something new to index."""

    def __init__(self, known: Iterable[KnownDocument]) -> None:
        """Take what is indexed already."""
        known = tuple(known)
        indexed = [d for d in known if d.status is IndexStatus.INDEXED]
        self._failed = {d.document_id for d in known} - {d.document_id for d in indexed}
        self._same: dict[str, KnownDocument | Document] = {d.sha256: d for d in indexed}
        self._versions = {d.document_id: d for d in indexed}
        self.new: dict[str, Document] = {}
        """What there is to index, by id."""
        self.recorded: list[tuple[Document | KnownDocument, IndexStatus, str | None]] = []
        """What became known of documents that are not indexed now."""
        self.twins: dict[str, list[Document]] = {}
        """Files with the content of a new document, by its id: told once that can be found."""
        self.obsolete: list[str] = []
        """Ids of documents that failed earlier, and whose content can be found as another's."""

    def take(self, file: SourceFile, reader: DocumentReader) -> AddedFile | None:
        """Read a file; what is to be told of it at once, or None where that is not known yet."""
        if file.document_id in self.new:
            reason = "another file of this call has the same name"
            return AddedFile(file.source, file.document_id, AddStatus.FAILED, 0, reason)
        loaded: LoadedFile | None = None
        try:
            loaded = reader.load(file)
            same = self._with_content(loaded)
            if same is None:
                document = self.new[file.document_id] = reader.parse(loaded)
                self._same.setdefault(loaded.sha256, document)
                return None
        except DocumentUnreadable as error:
            self._record_failure(file, "" if loaded is None else loaded.sha256, error.told)
            return AddedFile(file.source, file.document_id, AddStatus.FAILED, 0, error.told)
        if same.source == file.source:
            own = self._versions.get(file.document_id)
            if own is not None and own.reason is not None:  # a newer version that is gone again
                self.recorded.append((own, IndexStatus.INDEXED, None))
            return AddedFile(file.source, same.document_id, AddStatus.UNCHANGED)
        if isinstance(same, Document):
            twin = _unread(file, loaded.sha256)
            self.twins.setdefault(same.document_id, []).append(twin)
            return None
        if file.document_id in self._failed:
            self.obsolete.append(file.document_id)
        return same_content(file.source, same)

    def _record_failure(self, file: SourceFile, sha256: str, reason: str) -> None:
        # an earlier version goes on being found
        stands = file.document_id in self._versions
        status = IndexStatus.INDEXED if stands else IndexStatus.FAILED
        self.recorded.append((_unread(file, sha256), status, reason))

    def _with_content(self, loaded: LoadedFile) -> KnownDocument | Document | None:
        own = self._versions.get(loaded.file.document_id)
        # a file that now equals another one still replaces what was indexed of it
        changed = own is not None and own.sha256 != loaded.sha256
        return None if changed else self._same.get(loaded.sha256)


def same_content(source: str, other: KnownDocument | Document) -> AddedFile:
    """What is told of a file whose content can be found already, as another's."""
    reason = f"same content as {other.source}"
    return AddedFile(source, other.document_id, AddStatus.UNCHANGED, 0, reason)


def _unread(file: SourceFile, sha256: str) -> Document:
    return Document(file.document_id, file.source, file.source, file.folder, sha256, ())


def skipped_files(found: Survey) -> Sequence[AddedFile]:
    """What folders hold beside documents."""
    return [AddedFile(f.source, None, AddStatus.SKIPPED, 0, f.reason) for f in found.skipped]


def missing_files(
    registry: Registry, known: Iterable[KnownDocument], found: Survey
) -> Sequence[AddedFile]:
    """Documents that lay in one of the folders when it was added before; remembers what lies there.

    The folders' paths are not stored, only digests of them.
    """
    documents = {document.document_id: document for document in known}
    missing: list[AddedFile] = []
    facts: dict[str, str] = {}
    everywhere = set[str]().union(*found.folders.values())
    for folder, inside in found.folders.items():
        name = f"files of the folder {folder}"
        before = set(json.loads(registry.about(name) or "[]")) & documents.keys()
        for document_id in sorted(before - everywhere):
            reason = f"no longer there; remove it with `diagnosis knowledge remove {document_id}`"
            document = documents[document_id]
            missing.append(
                AddedFile(document.source, document_id, AddStatus.MISSING, document.chunks, reason)
            )
        # what has moved to another folder of this call belongs there
        facts[name] = json.dumps(sorted(inside | (before - everywhere)))
    registry.describe(facts)
    return missing
