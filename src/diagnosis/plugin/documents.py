"""The registry of ingested documents that the application lends to plugins.

What can be found is for each index to decide; the registry tells people how far every document is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class IndexStatus(StrEnum):
    """How far the indexing of a document is."""

    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    INDEXED = "INDEXED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """What the registry knows of one document.

    Attributes:
        document_id: unique within its index, at most 255 characters.
        source: where the document is from, for people.
        file_hash: SHA-256 of the file's content, 64 hexadecimal digits; empty where the file
            could not be read.
        reason: why it is FAILED, or what became of a newer version; None where all is well.
    """

    document_id: str
    source: str
    file_hash: str
    status: IndexStatus
    reason: str | None = None


class DocumentRegistry(Protocol):
    """Keeps the records of any number of indexes. One process at a time writes those of an index.

    Every method raises `SourceError` where the records cannot be read or written. A call that
    returned is kept; one that is cancelled is kept whole or not at all.
    """

    async def documents(self, index: str) -> tuple[DocumentRecord, ...]:
        """All records of an index, by source.

        Args:
            index: the identity of the index, at most 64 characters: made once, and kept in it.
        """
        ...

    async def record(self, index: str, documents: Sequence[DocumentRecord]) -> None:
        """Keep these records instead of the earlier ones of the same documents, all or none."""
        ...

    async def forget(self, index: str, document_ids: Sequence[str]) -> None:
        """Drop these records; ids that are not there are ignored."""
        ...


class InMemoryDocuments:
    """A `DocumentRegistry` that ends with the process."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], DocumentRecord] = {}

    async def documents(self, index: str) -> tuple[DocumentRecord, ...]:
        """See `DocumentRegistry`."""
        found = [record for (its, _), record in self._records.items() if its == index]
        return tuple(sorted(found, key=lambda record: (record.source, record.document_id)))

    async def record(self, index: str, documents: Sequence[DocumentRecord]) -> None:
        """See `DocumentRegistry`."""
        self._records.update({(index, each.document_id): each for each in documents})

    async def forget(self, index: str, document_ids: Sequence[str]) -> None:
        """See `DocumentRegistry`."""
        for document_id in document_ids:
            self._records.pop((index, document_id), None)
