"""A bounded set of sessions, and the certainty that an abandoned statement stops on the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from pydantic import JsonValue

from diagnosis.errors import QueryRejected, SourceUnavailable
from diagnosis_sql.policy import VettedStatement

_LOG = logging.getLogger(__name__)

_STOP_S = 2.0


class ResultColumn(Protocol):
    """One column of a result: its unique `label`, its `type_name`, and its values as JSON."""

    @property
    def label(self) -> str:
        """Its name in every row; unique within the result."""
        ...

    @property
    def type_name(self) -> str:
        """Its SQL type."""
        ...

    def to_json(self, raw: Any, *, text_bytes: int, describes: bool) -> JsonValue:
        """A value as the session delivers it, as JSON; texts are cut to `text_bytes`."""
        ...


class SqlSession(Protocol):
    """One connection, made harmless. Not for two statements at once.

    Attributes:
        busy: True while a statement may be running on the server.
        lost: True once the connection cannot be used again.
        time_zone: the zone in which the server shows times.
        server_version: as the server tells it.
    """

    busy: bool
    lost: bool
    time_zone: str
    server_version: str

    def serves(self, database: str | None) -> bool:
        """Whether statements of this database can be run here."""
        ...

    async def begin(self, database: str | None, time_limit_s: float, row_limit: int) -> None:
        """Start a read-only transaction with the server's own limits set."""
        ...

    async def stream(
        self, statement: VettedStatement, *, text_bytes: int
    ) -> tuple[Sequence[ResultColumn], AsyncGenerator[Sequence[Any], None]]:
        """Send one statement; rows are read as they are asked for, never all at once."""
        ...

    async def end(self) -> None:
        """End the transaction, so that the session can serve the next call."""
        ...

    def close(self) -> None:
        """Cut the connection at once, whatever it is doing."""
        ...

    async def quit(self) -> None:
        """Say goodbye and close an idle connection."""
        ...


class SessionPool:
    """Lends sessions; a session that was not read to its end is closed and stopped, never reused.

    Attributes:
        label: the server as messages may name it.
    """

    def __init__(
        self,
        label: str,
        *,
        connect: Callable[[str | None], Awaitable[SqlSession]],
        stop: Callable[[Any], Awaitable[None]],
        failures: tuple[type[BaseException], ...],
        connections: int,
        begin_timeout_s: float,
    ) -> None:
        """Make an empty pool.

        Args:
            label: see above.
            connect: opens a session for a database.
            stop: ends on the server what a closed session was doing, from a second connection.
            failures: what `connect` and `stop` raise where the server cannot be used.
            connections: sessions at most.
            begin_timeout_s: until a server that does not answer an idle session is unavailable.
        """
        self.label = label
        self._open = connect
        self._stop = stop
        self._failures = failures
        self._begin_timeout_s = begin_timeout_s
        self._connections = connections
        self._slots = asyncio.Semaphore(connections)
        self._lent = 0
        self._idle: list[SqlSession] = []
        self._stops: set[asyncio.Task[None]] = set()

    async def open(self, database: str | None) -> SqlSession:
        """Connect once, so that a server that cannot be used is known at the start.

        Raises:
            Exception: as the driver raises them (`failures`).
        """
        session = await self._open(database)
        self._idle.append(session)
        return session

    @asynccontextmanager
    async def lend(
        self, database: str | None, time_limit_s: float, row_limit: int
    ) -> AsyncIterator[SqlSession]:
        """A session in a read-only transaction; waits while all are lent.

        Leaving the block in any way, cancellation included, before the statement was read to its
        end stops it on the server.

        Raises:
            QueryRejected: there is no such database, or it may not be used.
            SourceUnavailable: no connection can be had.
        """
        async with self._slots:
            self._lent += 1
            try:
                session = await self._ready(database, time_limit_s, row_limit)
                try:
                    yield session
                finally:
                    await self._take_back(session)
            finally:
                self._lent -= 1

    async def _ready(self, database: str | None, time_limit_s: float, row_limit: int) -> SqlSession:
        while True:
            session = self._take_idle(database)
            fresh = session is None
            if session is None:
                session = await self._connect(database)
            try:
                await self._begin(session, database, time_limit_s, row_limit)
            except SourceUnavailable:
                session.close()
                # an idle connection may have died unnoticed; a fresh one has no excuse
                if fresh:
                    raise
            except QueryRejected:
                self._idle.append(session)
                raise
            except BaseException:
                session.close()
                raise
            else:
                return session

    def _take_idle(self, database: str | None) -> SqlSession | None:
        for session in reversed(self._idle):
            if session.serves(database):
                self._idle.remove(session)
                return session
        if self._idle and len(self._idle) + self._lent > self._connections:
            self._idle.pop(0).close()
        return None

    async def _begin(
        self, session: SqlSession, database: str | None, time_limit_s: float, row_limit: int
    ) -> None:
        clock = asyncio.timeout(self._begin_timeout_s)
        try:
            async with clock:
                await session.begin(database, time_limit_s, row_limit)
        except TimeoutError as error:
            raise SourceUnavailable(f"no answer from {self.label}") from error

    async def _connect(self, database: str | None) -> SqlSession:
        try:
            return await self._open(database)
        except self._failures as error:
            raise SourceUnavailable(f"no connection to {self.label}") from error

    async def _take_back(self, session: SqlSession) -> None:
        if not session.busy and not session.lost:
            try:
                async with asyncio.timeout(self._begin_timeout_s):
                    await session.end()
            except TimeoutError:
                session.close()
            except BaseException:
                session.close()
                raise
        if session.busy or session.lost:
            await self._abandon(session)
        else:
            self._idle.append(session)

    async def _abandon(self, session: SqlSession) -> None:
        # closed first: an open socket would go on filling with rows
        session.close()
        if session.busy:
            stop = asyncio.create_task(self._stopped(session))
            self._stops.add(stop)
            stop.add_done_callback(self._stops.discard)
            await asyncio.shield(stop)

    async def _stopped(self, session: SqlSession) -> None:
        try:
            async with asyncio.timeout(_STOP_S):
                await self._stop(session)
        except self._failures as error:
            _LOG.warning(
                "a statement on %s could not be stopped; its time limit ends it (%s)",
                self.label,
                type(error).__name__,
            )

    async def close(self) -> None:
        """Close what is idle and wait for the statements that are being stopped."""
        if self._stops:
            await asyncio.wait(set(self._stops))
        while self._idle:
            await self._idle.pop().quit()
