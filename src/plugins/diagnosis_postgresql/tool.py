"""The evidence tool `query_postgresql`: its words, and the shared runner behind it."""

from __future__ import annotations

from pydantic import BaseModel, JsonValue

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected
from diagnosis.plugin import EvidenceContext, EvidenceResult
from diagnosis_postgresql.language import LANGUAGE
from diagnosis_postgresql.request import QueryPostgresqlRequest
from diagnosis_postgresql.server import check_server, session_pool
from diagnosis_postgresql.settings import PostgresqlSettings
from diagnosis_postgresql.url import server_address
from diagnosis_sql.policy import QueryPolicy
from diagnosis_sql.runner import Limits, StatementRunner

_DESCRIPTION = """\
Runs one read-only SQL statement on the configured PostgreSQL server and returns rows as objects. \
Use it for what the database itself knows: data that looks wrong, table and index sizes, locks \
(pg_locks, pg_blocking_pids), running statements (pg_stat_activity), statement statistics \
(pg_stat_statements), replication (pg_stat_replication), settings (SHOW, pg_settings), EXPLAIN. \
Discover with information_schema.tables and columns, or pg_class. No rows mean that nothing \
matches in that database at that moment, not that nothing happened. Binary values are shown as \
their size and SHA-256; columns that hold secrets are masked and cannot be compared."""


class PostgresqlTool:
    """`query_postgresql` over one server. `open()` before the first call, `close()` at the end."""

    name = "query_postgresql"
    description = _DESCRIPTION
    request: type[BaseModel] = QueryPostgresqlRequest
    reference = False

    def __init__(self, settings: PostgresqlSettings) -> None:
        self._address = server_address(settings)
        # what the server takes where the URL names none
        self._database = self._address.database or self._address.user
        self._databases = dict.fromkeys((self._database, *(settings.databases or ())))
        self._schemas = settings.schemas
        self._pool = session_pool(self._address, settings)
        self._runner = StatementRunner(
            QueryPolicy(LANGUAGE, settings.schemas),
            self._pool,
            Limits(settings.row_limit, settings.text_bytes, settings.timeout_s),
        )

    def describe(self) -> str:
        """The databases and the schemas that may be read; at most 1 KiB, no credentials."""
        text = f"Default database: {self._database}."
        if len(self._databases) > 1:
            text += f" Databases: {', '.join(self._databases)}."
        text += f" Readable schemas: {', '.join(self._schemas)}."
        encoded = text.encode()
        return text if len(encoded) <= 1_024 else encoded[:1_000].decode("utf-8", "ignore") + "…"

    def normalise(self, request: QueryPostgresqlRequest) -> dict[str, JsonValue]:
        """The re-rendered SQL and its database, so that spacing and comments make no new query."""
        database = request.database or self._database
        return self._runner.normalise(request.sql, database, None)

    async def open(self) -> None:
        """Connect once.

        Raises:
            SourceError: the server cannot be reached, refuses the account or has no such database.
        """
        await check_server(self._pool, self._address)

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    async def collect(
        self, request: QueryPostgresqlRequest, context: EvidenceContext
    ) -> EvidenceResult:
        """Run one statement.

        Raises:
            QueryRejected: the policy or the server refuses it.
            SourceUnavailable: the server does not answer.
            TimeoutError: the statement took longer than `timeout_s` or than the call has left.
        """
        database = request.database or self._database
        if database not in self._databases:
            raise QueryRejected(QueryRejection.SCHEMA_NOT_ALLOWED)
        return await self._runner.run(request.sql, database, None, context)
