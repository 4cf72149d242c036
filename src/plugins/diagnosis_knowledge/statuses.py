"""How far every document of an index is, in the document registry that the application lends.

The index decides what can be found, in a transaction of its own; the registry tells people. They
are two databases, so a crash may leave them apart: `settle` brings the records back to what can be
found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from diagnosis.plugin import DocumentRecord, DocumentRegistry, IndexStatus
from diagnosis_knowledge.documents import Document
from diagnosis_knowledge.registry import PublishedDocument

INTERRUPTED = "indexing was interrupted; add the file again"
LOST = "its passages are missing from the index; add the file again"


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document as index and registry together have it.

    Attributes:
        title, category: None before a version of it can be found.
        sha256: of the version that can be found, else of the latest one.
        chunks: how many of its passages can be found.
        reason: why it is FAILED, or what happened to a newer version of it.
    """

    document_id: str
    source: str
    title: str | None
    category: str | None
    sha256: str
    status: IndexStatus
    reason: str | None
    chunks: int


class Statuses:
    """The records of one index. One process at a time writes them: it holds the folder."""

    def __init__(self, registry: DocumentRegistry, index: str) -> None:
        """Take the registry, and the identity of the index."""
        self._registry = registry
        self._index = index
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None
        self._gathered: list[DocumentRecord] = []

    async def known(self, published: Iterable[PublishedDocument]) -> tuple[KnownDocument, ...]:
        """Every document that was ever added, by source name."""
        found = {document.document_id: document for document in published}
        records = {each.document_id: each for each in await self._registry.documents(self._index)}
        known = [_known(records.get(i), found.get(i)) for i in records.keys() | found.keys()]
        return tuple(sorted(known, key=lambda each: (each.source, each.document_id)))

    async def enter(
        self,
        documents: Iterable[Document | KnownDocument],
        status: IndexStatus,
        reason: str | None = None,
    ) -> None:
        """Record the same of several documents.

        What is entered while a write is under way is written together by the next one; a caller
        that is cancelled meanwhile takes nothing out of it.
        """
        self._gathered += [
            DocumentRecord(each.document_id, each.source, each.sha256, status, reason)
            for each in documents
        ]
        if self._next is None:
            self._next = asyncio.create_task(self._write())
            # callers that are cancelled do not ask how it ended
            self._next.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(self._next)

    async def _write(self) -> None:
        async with self._turn:
            records, self._gathered, self._next = self._gathered, [], None
            await self._registry.record(self._index, records)

    async def carry_over(self, records: Sequence[DocumentRecord]) -> None:
        """Record what an earlier format of the index knew itself."""
        await self._registry.record(self._index, records)

    async def forget(self, document_id: str) -> bool:
        """Drop a record; return whether there was one."""
        records = await self._registry.documents(self._index)
        await self._registry.forget(self._index, [document_id])
        return any(each.document_id == document_id for each in records)

    async def settle(
        self,
        published: Iterable[PublishedDocument],
        reason: str,
        only: Collection[str] | None = None,
    ) -> None:
        """Make the records agree with what can be found; nothing stays unfinished.

        Args:
            published: all documents that can be found.
            reason: why what is unfinished will not be finished.
            only: the documents to look at; None for all.
        """
        found = {document.document_id: document for document in published}
        async with self._turn:  # after what is being written
            known = await self._registry.documents(self._index)
            records = {each.document_id: each for each in known}
            settled = [
                _settled(records.get(i), found.get(i), reason)
                for i in records.keys() | found.keys()
                if only is None or i in only
            ]
            changed = [each for each in settled if each != records.get(each.document_id)]
            await self._registry.record(self._index, changed)


def _settled(
    record: DocumentRecord | None, published: PublishedDocument | None, reason: str
) -> DocumentRecord:
    """What is true of a document that nobody works on."""
    if published is None:
        assert record is not None, "a document is recorded or published"  # noqa: S101 - narrows
        if record.status is IndexStatus.FAILED:
            return record
        why = LOST if record.status is IndexStatus.INDEXED else reason
        return replace(record, status=IndexStatus.FAILED, reason=why)
    told = None if record is None else record.reason
    if record is not None and record.status in (IndexStatus.PENDING, IndexStatus.PROCESSING):
        # the version that was being indexed is the one that can be found, or it is not
        told = None if record.file_hash == published.sha256 else reason
    return DocumentRecord(
        published.document_id, published.source, published.sha256, IndexStatus.INDEXED, told
    )


def _known(record: DocumentRecord | None, published: PublishedDocument | None) -> KnownDocument:
    if published is None:
        assert record is not None, "a document is recorded or published"  # noqa: S101 - narrows
        return KnownDocument(
            record.document_id, record.source, None, None, record.file_hash,
            record.status, record.reason, 0,
        )  # fmt: skip
    return KnownDocument(
        published.document_id, published.source, published.title, published.category,
        published.sha256,
        IndexStatus.INDEXED if record is None else record.status,
        None if record is None else record.reason,
        published.chunks,
    )  # fmt: skip
