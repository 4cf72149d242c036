"""The document registry in the table `api_document`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from diagnosis.plugin.documents import DocumentRecord
from diagnosis.storage.database import Database
from diagnosis.storage.tables import ApiDocument

_DELETE = delete(ApiDocument).where(
    col(ApiDocument.index_id) == bindparam("of_index"),
    col(ApiDocument.doc_id) == bindparam("of_document"),
)


class StoredDocuments:
    """A `DocumentRegistry` over an open database."""

    def __init__(self, database: Database) -> None:
        """Take the database; it is closed by whoever opened it."""
        self._database = database

    async def documents(self, index: str) -> tuple[DocumentRecord, ...]:
        """See `DocumentRegistry`."""
        rows = select(ApiDocument).where(ApiDocument.index_id == index)
        ordered = rows.order_by(col(ApiDocument.source), col(ApiDocument.doc_id))

        async def work(session: AsyncSession) -> tuple[DocumentRecord, ...]:
            return tuple(_record(row) for row in await session.exec(ordered))

        return await self._database.transaction(work)

    async def record(self, index: str, documents: Sequence[DocumentRecord]) -> None:
        """See `DocumentRegistry`."""
        rows = [
            {
                "index_id": index,
                "doc_id": each.document_id,
                "source": each.source,
                "file_hash": each.file_hash,
                "index_status": each.status,
                "reason": each.reason,
            }
            for each in documents
        ]

        async def work(session: AsyncSession) -> None:
            await _delete(session, index, [each.document_id for each in documents])
            await (await session.connection()).execute(insert(ApiDocument), rows)

        if rows:
            await self._database.transaction(work)

    async def forget(self, index: str, document_ids: Sequence[str]) -> None:
        """See `DocumentRegistry`."""

        async def work(session: AsyncSession) -> None:
            await _delete(session, index, document_ids)

        if document_ids:
            await self._database.transaction(work)


async def _delete(session: AsyncSession, index: str, document_ids: Sequence[str]) -> None:
    which = [{"of_index": index, "of_document": each} for each in document_ids]
    await (await session.connection()).execute(_DELETE, which)


def _record(row: ApiDocument) -> DocumentRecord:
    return DocumentRecord(row.doc_id, row.source, row.file_hash, row.index_status, row.reason)
