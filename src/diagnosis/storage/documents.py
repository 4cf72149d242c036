"""The document registry in the table `api_document`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, delete
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import col, select

from diagnosis.plugin.documents import DocumentRecord
from diagnosis.storage.database import Database
from diagnosis.storage.tables import ApiDocument

_INSERT = insert(ApiDocument)
_UPSERT = _INSERT.on_conflict_do_update(
    index_elements=["index_id", "doc_id"],
    set_={
        name: _INSERT.excluded[name] for name in ("source", "file_hash", "index_status", "reason")
    },
)
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
        query = (
            select(
                ApiDocument.doc_id,
                ApiDocument.source,
                ApiDocument.file_hash,
                ApiDocument.index_status,
            )
            .add_columns(col(ApiDocument.reason))
            .where(col(ApiDocument.index_id) == index)
            .order_by(col(ApiDocument.source), col(ApiDocument.doc_id))
        )

        async def work(connection: AsyncConnection) -> tuple[DocumentRecord, ...]:
            return tuple(DocumentRecord(*row) for row in await connection.execute(query))

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

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(_UPSERT, rows)

        if rows:
            await self._database.transaction(work)

    async def forget(self, index: str, document_ids: Sequence[str]) -> None:
        """See `DocumentRegistry`."""
        which = [{"of_index": index, "of_document": each} for each in document_ids]

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(_DELETE, which)

        if which:
            await self._database.transaction(work)
