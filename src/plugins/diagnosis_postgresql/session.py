"""One connection, made harmless: read-only, one statement at a time, limited in time and rows.

Nothing here trusts the policy. Every call runs in a read-only transaction of its own, whose
settings end with it; the extended protocol takes one statement only; and what runs can be stopped
from outside.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import asyncpg

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected, SourceUnavailable
from diagnosis_postgresql.values import Column
from diagnosis_sql.policy import VettedStatement
from diagnosis_sql.text import unique_labels
from diagnosis_sql.url import ServerAddress

FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""What asyncpg raises in a conversation."""

CONNECT_FAILURES = (*FAILURES, TimeoutError, EOFError, ValueError, LookupError, RuntimeError)
"""What it raises while it connects, where the other side may be anything at all."""

_REASONS = {
    "42601": QueryRejection.SYNTAX_ERROR,
    "42P01": QueryRejection.UNKNOWN_TABLE,
    "42703": QueryRejection.UNKNOWN_COLUMN,
    "3F000": QueryRejection.SCHEMA_NOT_ALLOWED,
    "42501": QueryRejection.SCHEMA_NOT_ALLOWED,
    "25006": QueryRejection.STATEMENT_NOT_ALLOWED,
}
# classes: connection exception, invalid authorization; too many connections; shut down
_LOST_CLASSES = ("08", "28")
_LOST = frozenset({"53300", "57P01", "57P02", "57P03", "57P05", "25P03"})
_CANCELED = "57014"
_LOCK_TIMEOUT = "55P03"

_BATCH_ROWS = 20


def sqlstate(error: BaseException) -> str:
    """The server's code of an error, or "" where it is none of the server's."""
    return str(getattr(error, "sqlstate", None) or "")


async def connect_raw(address: ServerAddress, database: str | None, timeout_s: float) -> Any:
    """Open an asyncpg connection.

    Raises:
        CONNECT_FAILURES: whatever asyncpg or the clock raises.
    """
    async with asyncio.timeout(timeout_s):
        return await asyncpg.connect(
            host=address.unix_socket or address.host,
            port=address.port,
            user=address.user,
            # an empty one too: a password file of the machine is none of the user's settings
            password=address.password.get_secret_value(),
            passfile="",
            database=database or address.database or address.user,
            ssl=address.tls or False,
            # prepared statements of one transaction only, so that a pooler in between may be used
            statement_cache_size=0,
            server_settings={"application_name": "diagnosis"},
        )


class Session:
    """One prepared connection. Not for two statements at once.

    Attributes:
        time_zone: the zone in which times with a zone are shown.
        server_version: as the server tells it.
        busy: True while a statement may be running on the server.
        lost: True once the connection cannot be used again.
    """

    def __init__(self, connection: Any, database: str | None, schemas: Sequence[str]) -> None:
        self._connection = connection
        self._database = database
        quoted = (name.replace('"', '""') for name in schemas)
        self._path = [f'"{name}"' for name in quoted]
        self._identity: tuple[int, Any] = (0, None)
        self._row_limit = 1
        self._time_limit_s = 0.0
        self.time_zone = ""
        self.server_version = ""
        self.busy = False
        self.lost = False

    @classmethod
    async def open(
        cls, address: ServerAddress, database: str | None, schemas: Sequence[str], timeout_s: float
    ) -> Session:
        """Connect.

        Args:
            address: the server.
            database: which of its databases; None for the address's own.
            schemas: where unqualified names are looked up, pg_catalog first whatever it says.
            timeout_s: until the server counts as unreachable.

        Raises:
            CONNECT_FAILURES: as `connect_raw`.
        """
        connection = await connect_raw(address, database, timeout_s)
        session = cls(connection, database or address.database, schemas)
        try:
            async with asyncio.timeout(timeout_s):
                await session._prepare()
        except BaseException:
            session.close()
            raise
        return session

    async def _prepare(self) -> None:
        row = await self._connection.fetchrow(
            "SELECT pg_catalog.pg_backend_pid(), "
            "(SELECT a.backend_start FROM pg_catalog.pg_stat_activity AS a "
            "WHERE a.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()), "
            "pg_catalog.current_setting('server_version')"
        )
        self._identity = (row[0], row[1])
        self.server_version = row[2]

    def serves(self, database: str | None) -> bool:
        """Whether this is a connection to that database."""
        return database == self._database

    async def begin(self, database: str | None, time_limit_s: float, row_limit: int) -> None:
        """Start a read-only transaction with the server's own limits set.

        Raises:
            SourceUnavailable: the connection is lost.
        """
        milliseconds = max(1, int(time_limit_s * 1000))
        self._row_limit, self._time_limit_s = row_limit, time_limit_s
        settings = {
            "statement_timeout": f"'{milliseconds}'",
            "lock_timeout": f"'{milliseconds}'",
            "idle_in_transaction_session_timeout": f"'{milliseconds + 10_000}'",
            # pg_temp last: it would come first where it is not named
            "search_path": ", ".join(["pg_catalog", *self._path, "pg_temp"]),
            "standard_conforming_strings": "on",
            "client_encoding": "'UTF8'",
            "datestyle": "'ISO'",
            "intervalstyle": "'postgres'",
            "bytea_output": "'hex'",
        }
        text = "; ".join(f"SET LOCAL {name} = {value}" for name, value in settings.items())
        try:
            await self._connection.execute(
                f"BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY; {text}"
            )
            self.time_zone = await self._connection.fetchval(
                "SELECT pg_catalog.current_setting('TimeZone')"
            )
        except FAILURES as error:
            self.lost = True
            raise SourceUnavailable(f"the connection failed ({type(error).__name__})") from error

    async def stream(
        self, statement: VettedStatement, *, text_bytes: int
    ) -> tuple[list[Column], AsyncGenerator[list[Any], None]]:
        """Send one statement; rows are read as they are asked for, never all at once.

        Raises (also while iterating):
            QueryRejected: the server refuses it.
            SourceUnavailable: the connection is lost.
            TimeoutError: the server's time limit is reached.
        """
        self.busy = True
        started = time.monotonic()
        try:
            prepared = await self._connection.prepare(statement.sql)
            columns = _columns(prepared.get_attributes())
            if not statement.describes and columns:
                prepared = await self._connection.prepare(
                    _as_text(statement.sql, columns, text_bytes, self._row_limit)
                )
        except FAILURES as error:
            raise self._failed(error, started) from error
        return columns, self._read(prepared, statement, started)

    async def _read(
        self, prepared: Any, statement: VettedStatement, started: float
    ) -> AsyncGenerator[list[Any], None]:
        try:
            cursor = await prepared.cursor()
            while batch := await cursor.fetch(_BATCH_ROWS):
                for row in batch:
                    values = list(row)
                    if statement.describes:
                        yield [(value, None) for value in values]
                    else:
                        yield list(zip(values[::2], values[1::2], strict=True))
        except FAILURES as error:
            raise self._failed(error, started) from error
        self.busy = False

    async def end(self) -> None:
        """End the transaction, so that the session can serve the next call."""
        try:
            await self._connection.execute("ROLLBACK")
        except FAILURES:
            self.lost = True

    def _failed(self, error: Exception, started: float) -> Exception:
        """What a failure of a statement means to the boundary; the server's text is not shown."""
        state = sqlstate(error)
        lost = state in _LOST or state.startswith(_LOST_CLASSES)
        if lost or self._connection.is_closed() or not isinstance(error, asyncpg.PostgresError):
            self.lost = True
            return SourceUnavailable(f"the connection was lost ({type(error).__name__})")
        # an error ends the statement: the connection is in step and idle
        self.busy = False
        waited_s = time.monotonic() - started
        if state == _LOCK_TIMEOUT or (state == _CANCELED and waited_s >= self._time_limit_s * 0.9):
            return TimeoutError("the server's time limit was reached")
        return QueryRejected(_REASONS.get(state, QueryRejection.QUERY_FAILED))

    def close(self) -> None:
        """Cut the connection at once, whatever it is doing."""
        self.lost = True
        self._connection.terminate()

    async def stop(self, address: ServerAddress, timeout_s: float) -> None:
        """Stop this connection's statement from a second connection of the same account.

        The whole connection, not only its query: a request to cancel that arrives before the
        statement has begun is forgotten, and this connection is never used again.

        Raises:
            CONNECT_FAILURES: the server cannot be reached or refuses.
        """
        connection = await connect_raw(address, self._database, timeout_s)
        try:
            # by its start too: the number of a process may be another's by now
            await connection.fetch(
                "SELECT pg_catalog.pg_terminate_backend(a.pid) FROM pg_catalog.pg_stat_activity "
                "AS a WHERE a.pid OPERATOR(pg_catalog.=) $1 "
                "AND a.backend_start OPERATOR(pg_catalog.=) $2",
                *self._identity,
            )
        finally:
            connection.terminate()

    async def quit(self) -> None:
        """Say goodbye and close an idle connection."""
        self.lost = True
        try:
            await self._connection.close(timeout=1)
        except (*FAILURES, TimeoutError):
            self._connection.terminate()


def _columns(attributes: Sequence[Any]) -> list[Column]:
    labels = unique_labels([("", each.name) for each in attributes])
    columns = []
    for label, each in zip(labels, attributes, strict=True):
        kind, name = each.type.kind, each.type.name
        columns.append(Column(label, name.removesuffix("[]") if kind == "array" else name, kind))
    return columns


def _as_text(sql: str, columns: list[Column], text_bytes: int, row_limit: int) -> str:
    """The vetted statement, its values as text and its rows limited."""
    names = [f'"c{number}"' for number in range(len(columns))]
    values = [
        expression
        for name, column in zip(names, columns, strict=True)
        for expression in column.select(f'"q".{name}', text_bytes)
    ]
    chosen, named = ", ".join(values), ", ".join(names)
    # the statement is the policy's own rendering, and the rest is made here
    return f'SELECT {chosen} FROM ({sql}) AS "q" ({named}) LIMIT {row_limit}'  # noqa: S608
