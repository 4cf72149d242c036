"""The evidence tool `query_mysql`: its words, its schemas, and the shared runner behind it."""

from __future__ import annotations

from pydantic import BaseModel, JsonValue

from diagnosis.errors import SourceError
from diagnosis.plugin import EvidenceContext, EvidenceResult
from diagnosis_mysql.language import LANGUAGE
from diagnosis_mysql.request import QueryMysqlRequest
from diagnosis_mysql.server import check_server, session_pool
from diagnosis_mysql.settings import NEVER_READABLE, SERVER_SCHEMAS, MysqlSettings
from diagnosis_mysql.url import server_address
from diagnosis_sql.policy import QueryPolicy
from diagnosis_sql.runner import Limits, StatementRunner
from diagnosis_sql.url import ServerAddress

_DESCRIPTION = """\
Runs one read-only SQL statement on the configured MySQL or MariaDB server and returns rows as \
objects. Use it for what the database itself knows: data that looks wrong, table sizes, indexes, \
locks, running statements, status counters, EXPLAIN. Discover with SHOW TABLES, DESCRIBE t, SHOW \
CREATE TABLE t or information_schema. No rows mean that nothing matches in that schema at that \
moment, not that nothing happened. Binary values are shown as their size and SHA-256; columns that \
hold secrets are masked and cannot be compared; times carry no zone and stand in the scope's \
time_zone."""


class MysqlTool:
    """`query_mysql` over one server. `open()` before the first call, `close()` after the last."""

    name = "query_mysql"
    description = _DESCRIPTION
    request: type[BaseModel] = QueryMysqlRequest
    reference = False

    def __init__(self, settings: MysqlSettings) -> None:
        self._settings = settings
        self._address = server_address(settings)
        self._schemas = _readable_schemas(settings, self._address)
        self._pool = session_pool(self._address, settings)
        self._runner = StatementRunner(
            QueryPolicy(LANGUAGE, self._schemas),
            self._pool,
            Limits(settings.row_limit, settings.text_bytes, settings.timeout_s),
        )

    def describe(self) -> str:
        """The database and the schemas that may be read; at most 1 KiB, no credentials."""
        default = self._address.database
        text = f"Default database: {default}." if default else "No default database: name one."
        text += f" Readable schemas: {', '.join(self._schemas)}."
        encoded = text.encode()
        return text if len(encoded) <= 1_024 else encoded[:1_000].decode("utf-8", "ignore") + "…"

    def normalise(self, request: QueryMysqlRequest) -> dict[str, JsonValue]:
        """The re-rendered SQL and its database, so that spacing and comments make no new query."""
        database = request.database or self._address.database
        return self._runner.normalise(request.sql, database, database)

    async def open(self) -> None:
        """Connect once.

        Raises:
            SourceError: the server cannot be reached, refuses the account or has no such database.
        """
        await check_server(self._pool, self._address)

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    async def collect(self, request: QueryMysqlRequest, context: EvidenceContext) -> EvidenceResult:
        """Run one statement.

        Raises:
            QueryRejected: the policy or the server refuses it.
            SourceUnavailable: the server does not answer.
            TimeoutError: the statement took longer than `timeout_s` or than the call has left.
        """
        database = request.database or self._address.database
        return await self._runner.run(request.sql, database, database, context)


def _readable_schemas(settings: MysqlSettings, address: ServerAddress) -> tuple[str, ...]:
    """What may be read; the URL's database must be among it.

    Raises:
        SourceError: it is not, so that no unqualified name could ever be read.
    """
    own = address.database
    schemas = settings.schemas
    if schemas is None:
        schemas = tuple(dict.fromkeys((*((own,) if own else ()), *SERVER_SCHEMAS)))
    if own and (own.casefold() in NEVER_READABLE or own not in schemas):
        raise SourceError(
            f"The database {own!r} of the MySQL URL may not be read.",
            "Name another database in the URL, or add it to schemas of [plugins.mysql]; "
            "mysql can never be read.",
        )
    return schemas
