"""The document registry that opens the database when it is first asked for something.

Most runs never ask; they neither make the file nor import a database library.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnosis.plugin.documents import DocumentRecord, DocumentRegistry

if TYPE_CHECKING:
    from diagnosis.storage.database import Database


class LateDocuments:
    """A `DocumentRegistry` in the embedded database. For one event loop; `close` it at the end."""

    def __init__(self, file: Path) -> None:
        """Take the database's file; nothing is opened."""
        self._file = file
        self._database: Database | None = None
        self._registry: DocumentRegistry | None = None
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        """Close the database, if it was opened. The next call would open it again."""
        async with self._opening:
            database, self._database, self._registry = self._database, None, None
            if database is not None:
                await database.close()

    async def documents(self, index: str) -> tuple[DocumentRecord, ...]:
        """See `DocumentRegistry`."""
        return await (await self._opened()).documents(index)

    async def record(self, index: str, documents: Sequence[DocumentRecord]) -> None:
        """See `DocumentRegistry`."""
        await (await self._opened()).record(index, documents)

    async def forget(self, index: str, document_ids: Sequence[str]) -> None:
        """See `DocumentRegistry`."""
        await (await self._opened()).forget(index, document_ids)

    async def _opened(self) -> DocumentRegistry:
        async with self._opening:
            if self._registry is None:
                await asyncio.to_thread(_import_libraries)  # half a second
                from diagnosis.storage.database import Database
                from diagnosis.storage.documents import StoredDocuments

                self._database = await Database.open(self._file)
                self._registry = StoredDocuments(self._database)
            return self._registry


def _import_libraries() -> None:
    import diagnosis.storage.documents  # noqa: F401 - for what it imports
