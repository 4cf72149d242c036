"""A bounded set of sessions, and the certainty that an abandoned statement stops on the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from diagnosis.errors import QueryRejected, SourceUnavailable
from diagnosis_mysql.session import CONNECT_FAILURES, Session, connect_raw, error_number
from diagnosis_mysql.url import ServerAddress

_LOG = logging.getLogger(__name__)

_UNKNOWN_THREAD = 1094
_KILL_S = 2.0


class SessionPool:
    """Lends sessions; a session that was not read to its end is closed and killed, never reused."""

    def __init__(
        self, address: ServerAddress, *, connections: int, connect_timeout_s: float
    ) -> None:
        self._address = address
        self._connect_timeout_s = connect_timeout_s
        self._slots = asyncio.Semaphore(connections)
        self._idle: list[Session] = []
        self._kills: set[asyncio.Task[None]] = set()

    async def open(self) -> Session:
        """Connect once, so that a server that cannot be used is known at the start.

        Raises:
            CONNECT_FAILURES: as the driver raises them.
        """
        session = await Session.open(self._address, self._connect_timeout_s)
        self._idle.append(session)
        return session

    @asynccontextmanager
    async def lend(
        self, database: str | None, time_limit_s: float, row_limit: int
    ) -> AsyncIterator[Session]:
        """A session in a read-only transaction; waits while all are lent.

        Leaving the block in any way, cancellation included, before the statement was read to its
        end stops it on the server.

        Raises:
            QueryRejected: there is no such database, or it may not be used.
            SourceUnavailable: no connection can be had.
        """
        async with self._slots:
            session = await self._ready(database, time_limit_s, row_limit)
            try:
                yield session
                if not session.busy and not session.lost:
                    await session.end()
            finally:
                if session.busy or session.lost:
                    await self._abandon(session)
                else:
                    self._idle.append(session)

    async def _ready(self, database: str | None, time_limit_s: float, row_limit: int) -> Session:
        while True:
            fresh = not self._idle
            session = await self._connect() if fresh else self._idle.pop()
            try:
                await session.begin(database, time_limit_s, row_limit)
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

    async def _connect(self) -> Session:
        try:
            return await Session.open(self._address, self._connect_timeout_s)
        except CONNECT_FAILURES as error:
            raise SourceUnavailable(f"no connection to {self._address.label}") from error

    async def _abandon(self, session: Session) -> None:
        # closed first: an open socket would go on filling with rows
        session.close()
        if session.busy:
            kill = asyncio.create_task(self._kill(session.server_id))
            self._kills.add(kill)
            kill.add_done_callback(self._kills.discard)
            await asyncio.shield(kill)

    async def _kill(self, server_id: int) -> None:
        """Stop a connection's statement from a second connection of the same account.

        The whole connection, not only its query: KILL QUERY that arrives before the statement has
        begun is forgotten, and this connection is never used again.
        """
        try:
            async with asyncio.timeout(_KILL_S):
                connection = await connect_raw(self._address, _KILL_S)
                try:
                    await connection.cursor().execute(f"KILL {server_id}")
                finally:
                    connection.close()
        except CONNECT_FAILURES as error:
            if error_number(error) != _UNKNOWN_THREAD:
                _LOG.warning(
                    "a statement on %s could not be stopped; its time limit ends it (%s)",
                    self._address.label,
                    type(error).__name__,
                )

    async def close(self) -> None:
        """Close what is idle and wait for the kills under way."""
        if self._kills:
            await asyncio.wait(set(self._kills))
        while self._idle:
            await self._idle.pop().quit()
