"""One connection, made harmless: read-only, one statement at a time, limited in time and rows.

Nothing here trusts the policy. A session refuses several statements in one text (the server's own
switch), runs everything in a read-only transaction, and its reads can be stopped from outside.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator
from typing import Any

import asyncmy
from asyncmy.cursors import SSCursor
from asyncmy.errors import MySQLError

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected, SourceUnavailable
from diagnosis_mysql.values import Column
from diagnosis_sql.policy import VettedStatement
from diagnosis_sql.text import unique_labels
from diagnosis_sql.url import ServerAddress

_COM_SET_OPTION = 0x1B
_MULTI_STATEMENTS_OFF = (1).to_bytes(2, "little")

_UNKNOWN_THREAD = 1094  # it ended by itself
_TIME_LIMIT_ERRORS = frozenset({1969, 3024})  # MariaDB, MySQL

_REASONS = {
    1064: QueryRejection.SYNTAX_ERROR,
    1149: QueryRejection.SYNTAX_ERROR,
    1146: QueryRejection.UNKNOWN_TABLE,
    1109: QueryRejection.UNKNOWN_TABLE,
    1051: QueryRejection.UNKNOWN_TABLE,
    1054: QueryRejection.UNKNOWN_COLUMN,
    1044: QueryRejection.SCHEMA_NOT_ALLOWED,
    1046: QueryRejection.SCHEMA_NOT_ALLOWED,
    1049: QueryRejection.SCHEMA_NOT_ALLOWED,
    1142: QueryRejection.SCHEMA_NOT_ALLOWED,
    1143: QueryRejection.SCHEMA_NOT_ALLOWED,
    1305: QueryRejection.FUNCTION_NOT_ALLOWED,
}

_LOST_ERRORS = frozenset(
    {
        0,  # asyncmy: not connected
        1040,  # too many connections
        1053,  # server shutdown in progress
        1080,  # forced close
        1152,  # aborted connection
        1158,  # packet read error
        1159,  # packet read timeout
        1927,  # MariaDB: connection was killed
        2003,  # cannot connect
        2006,  # server has gone away
        2013,  # lost during query
        4031,  # MySQL: disconnected for inactivity
    }
)


def error_number(error: Exception) -> int:
    """The server's number of an error, or 0 where it is none of the server's."""
    number = error.args[0] if error.args else 0
    return number if isinstance(number, int) else 0


def translate(error: Exception) -> Exception:
    """What a failure of a statement means to the boundary. The server's text is never shown."""
    if isinstance(error, MySQLError):
        number = error_number(error)
        if number in _TIME_LIMIT_ERRORS:
            return TimeoutError("the server's time limit was reached")
        if number not in _LOST_ERRORS:
            return QueryRejected(_REASONS.get(number, QueryRejection.QUERY_FAILED))
        return SourceUnavailable(f"the connection was lost (error {number})")
    return SourceUnavailable(f"the connection failed ({type(error).__name__})")


FAILURES = (MySQLError, OSError, EOFError, AssertionError)
"""What asyncmy raises in a conversation; it asserts where the stream is out of step."""

CONNECT_FAILURES = (*FAILURES, TimeoutError, RuntimeError, ValueError, LookupError, struct.error)
"""What it raises while it connects, where the other side may be anything at all."""


async def connect_raw(address: ServerAddress, timeout_s: float) -> Any:
    """Open an asyncmy connection; every value comes back as the server's bytes.

    Raises:
        CONNECT_FAILURES: whatever asyncmy or the clock raises.
    """
    # typed loosely: asyncmy's stubs know neither a password of bytes nor seconds with a fraction
    options: dict[str, Any] = {
        "host": address.host,
        "port": address.port,
        "unix_socket": address.unix_socket,
        "user": address.user,
        # asyncmy encodes a str as latin-1, servers compare UTF-8
        "password": address.password.get_secret_value().encode(),
        "database": address.database,
        "charset": "utf8mb4",
        "conv": {},
        "use_unicode": False,
        "autocommit": None,
        "local_infile": False,
        "ssl": address.tls,
        "connect_timeout": timeout_s,
    }
    async with asyncio.timeout(timeout_s):
        connection = await asyncmy.connect(**options)
    if (task := asyncio.current_task()) is not None and task.cancelling():
        # the driver waits with asyncio.wait_for, which before Python 3.12 can lose a cancellation
        # that comes as the wait ends (python/cpython#86296)
        connection.close()
        raise asyncio.CancelledError
    return connection


class Session:
    """One prepared connection. Not for two statements at once.

    Attributes:
        server_id: the server's id of the connection, for KILL.
        time_zone: the zone in which TIMESTAMP values and NOW() are shown.
        busy: True while a statement may be running on the server.
        lost: True once the connection cannot be used again.
    """

    def __init__(self, connection: Any, address: ServerAddress) -> None:
        self._connection = connection
        self._database = address.database
        self._time_limit: str | None = None
        self.server_id = 0
        self.server_version = ""
        self.time_zone = ""
        self.busy = False
        self.lost = False

    @classmethod
    async def open(cls, address: ServerAddress, timeout_s: float) -> Session:
        """Connect and make the connection read-only.

        Raises:
            CONNECT_FAILURES: as `connect_raw`.
        """
        connection = await connect_raw(address, timeout_s)
        session = cls(connection, address)
        try:
            async with asyncio.timeout(timeout_s):
                await session._prepare()
        except BaseException:
            session.close()
            raise
        return session

    async def _prepare(self) -> None:
        # asyncmy always asks for multi-statements; the server is told to refuse them again
        send_command = self._connection._execute_command  # noqa: SLF001 - it has no public name
        await send_command(_COM_SET_OPTION, _MULTI_STATEMENTS_OFF)
        await self._connection.read_packet()
        await self._rows("SET SESSION TRANSACTION READ ONLY")
        rows = await self._rows(
            "SELECT CONNECTION_ID(), VERSION(), "
            "IF(@@session.time_zone = 'SYSTEM', @@system_time_zone, @@session.time_zone)"
        )
        server_id, version, zone = rows[0]
        self.server_id = int(server_id)
        self.server_version = version.decode()
        self.time_zone = zone.decode()
        if "mariadb" in self.server_version.lower():
            self._time_limit = "max_statement_time = {seconds:.3f}"
        elif await self._rows("SHOW SESSION VARIABLES LIKE 'max_execution_time'"):
            self._time_limit = "max_execution_time = {milliseconds}"

    async def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        cursor = self._connection.cursor()
        await cursor.execute(sql)
        return list(await cursor.fetchall() or ()) if cursor.description else []

    async def begin(self, database: str | None, time_limit_s: float, row_limit: int) -> None:
        """Start a read-only transaction in `database`, with the server's own limits set.

        Raises:
            QueryRejected: there is no such database, or it may not be used.
            SourceUnavailable: the connection is lost.
        """
        try:
            if database is not None and database != self._database:
                await self._connection.select_db(database)
                self._database = database
            # a statement with its own LIMIT keeps it; subqueries are not touched
            limits = [f"sql_select_limit = {row_limit}"]
            if self._time_limit:
                limits.append(
                    self._time_limit.format(
                        seconds=time_limit_s, milliseconds=max(1, int(time_limit_s * 1000))
                    )
                )
            await self._rows(f"SET SESSION {', '.join(limits)}")
            await self._rows("START TRANSACTION READ ONLY")
        except FAILURES as error:
            raise self._failed(error) from error

    def serves(self, database: str | None) -> bool:
        """Whether statements of this database can be run here; none cannot be chosen again."""
        return database is not None or self._database is None

    async def stream(
        self, statement: VettedStatement, *, text_bytes: int = 0
    ) -> tuple[list[Column], AsyncGenerator[tuple[Any, ...], None]]:
        """Send one statement; rows are read as they are asked for, never all at once.

        Args:
            statement: what the policy allowed.
            text_bytes: unused: values come whole and are cut here.

        Raises (also while iterating):
            QueryRejected: the server refuses it.
            SourceUnavailable: the connection is lost.
            TimeoutError: the server's time limit is reached.
        """
        self.busy = True
        try:
            cursor = self._connection.cursor(SSCursor)
            await cursor.execute(statement.sql)
        except FAILURES as error:
            raise self._failed(error) from error
        # the description of DB-API leaves out charset and flags
        fields = cursor._result.fields if cursor.description else []  # noqa: SLF001 - see above
        labels = unique_labels([(field.table_name, field.name) for field in fields])
        columns = [
            Column(label, field.type_code, field.flags, field.charsetnr)
            for label, field in zip(labels, fields, strict=True)
        ]
        return columns, self._read(cursor)

    async def _read(self, cursor: Any) -> AsyncGenerator[tuple[Any, ...], None]:
        try:
            while cursor.description:
                row = await cursor.fetchone()
                if row is None:
                    break
                yield row
        except FAILURES as error:
            raise self._failed(error) from error
        self.busy = False

    async def end(self) -> None:
        """End the transaction, so that the session can serve the next call."""
        try:
            await self._rows("ROLLBACK")
        except FAILURES:
            self.lost = True

    def _failed(self, error: Exception) -> Exception:
        translated = translate(error)
        if isinstance(translated, SourceUnavailable):
            self.lost = True
        else:
            # an error packet ends the statement: the connection is in step and idle
            self.busy = False
        return translated

    def close(self) -> None:
        """Cut the connection at once, whatever it is doing."""
        self.lost = True
        self._connection.close()

    async def stop(self, address: ServerAddress, timeout_s: float) -> None:
        """Stop this connection's statement from a second connection of the same account.

        The whole connection, not only its query: KILL QUERY that arrives before the statement has
        begun is forgotten, and this connection is never used again.

        Raises:
            CONNECT_FAILURES: the server cannot be reached or refuses.
        """
        connection = await connect_raw(address, timeout_s)
        try:
            await connection.cursor().execute(f"KILL {self.server_id}")
        except MySQLError as error:
            if error_number(error) != _UNKNOWN_THREAD:
                raise
        finally:
            connection.close()

    async def quit(self) -> None:
        """Say goodbye and close an idle connection."""
        self.lost = True
        try:
            await self._connection.ensure_closed()
        except FAILURES:
            self._connection.close()
