"""The application's database: an asynchronous engine over the embedded SQLite file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import URL, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from diagnosis.storage.migrating import migrate
from diagnosis.storage.trouble import database_trouble

T = TypeVar("T")

_WAIT_S = 5.0  # for another process that writes


class Database:
    """An open database of the newest revision. Made by `open`; for one event loop."""

    def __init__(self, file: Path, engine: AsyncEngine) -> None:
        """Take the engine of a migrated file."""
        self._file = file
        self._engine = engine

    @classmethod
    async def open(cls, file: Path) -> Self:
        """Open the file; it is made where there is none, and migrated where it is older.

        Raises:
            SourceError: it cannot be used, or has a revision that is not known here.
        """
        await asyncio.to_thread(migrate, file)
        url = URL.create("sqlite+aiosqlite", database=str(file))
        engine = create_async_engine(url, connect_args={"timeout": _WAIT_S})
        event.listen(engine.sync_engine, "connect", _set_up)
        return cls(file, engine)

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()

    async def transaction(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Run work in one transaction, whole or not at all.

        A caller that is cancelled meanwhile ends when the transaction has: that takes
        milliseconds, and afterwards nobody need ask whether it was kept.

        Raises:
            SourceError: the database cannot be read or written now.
        """
        running = asyncio.ensure_future(self._transaction(work))
        # a caller that is cancelled does not ask how it ended
        running.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise

    async def _transaction(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        try:
            async with self._engine.begin() as connection:
                return await work(connection)
        except (DBAPIError, LookupError) as error:  # LookupError: a value that no enum has
            raise database_trouble(self._file, error) from error


def _set_up(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    # with a write-ahead log this loses no consistency, only the last moment before a power cut
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()
