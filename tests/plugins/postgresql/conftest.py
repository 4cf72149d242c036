"""A schema of its own for each test on the real server, and a way to look at the server itself."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from pydantic import SecretStr

from diagnosis.plugin import EvidenceContext, EvidenceResult
from diagnosis_postgresql.request import QueryPostgresqlRequest
from diagnosis_postgresql.settings import SERVER_SCHEMAS, PostgresqlSettings
from diagnosis_postgresql.tool import PostgresqlTool


class Server:
    """The tests' own, unrestricted connection, and a schema that is dropped afterwards."""

    def __init__(self, connection: Any, url: str, schema: str) -> None:
        self.connection = connection
        self.text = url
        self.schema = schema

    @property
    def url(self) -> SecretStr:
        return SecretStr(self.text)

    def as_user(self, user: str, password: str) -> SecretStr:
        return SecretStr(f"postgresql://{user}:{password}@{self.text.rsplit('@')[-1]}")

    async def run(self, *statements: str) -> None:
        for statement in statements:
            await self.connection.execute(statement)

    async def value(self, sql: str, *arguments: object) -> Any:
        return await self.connection.fetchval(sql, *arguments)

    async def running(self, marker: str) -> list[int]:
        """Processes whose statement holds the marker and is not over."""
        rows = await self.connection.fetch(
            "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND state = 'active' AND query LIKE '%' || $1 || '%'",
            marker,
        )
        return [row["pid"] for row in rows]

    async def connections(self, user: str) -> int:
        return int(
            await self.value("SELECT count(*) FROM pg_stat_activity WHERE usename = $1", user)
        )


@pytest.fixture
async def server(postgresql_url: str) -> AsyncIterator[Server]:
    schema = f"diagnosis_test_{secrets.token_hex(6)}"
    connection = await asyncpg.connect(postgresql_url)
    server = Server(connection, postgresql_url, schema)
    await server.run(
        f"CREATE SCHEMA {schema}",
        f"SET search_path = {schema}",
        "CREATE TABLE numbers (n INT PRIMARY KEY)",
        "INSERT INTO numbers SELECT generate_series(0, 999)",
        "ANALYZE numbers",
    )
    yield server
    await server.run(f"DROP SCHEMA {schema} CASCADE")
    await connection.close()


@pytest.fixture
async def reader(server: Server) -> AsyncIterator[str]:
    """A role that may only read the test's schema; its password is `s3cr3t`."""
    role = f"dt_{secrets.token_hex(4)}"
    await server.run(
        f"CREATE ROLE {role} LOGIN PASSWORD 's3cr3t'",
        f"GRANT USAGE ON SCHEMA {server.schema} TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {server.schema} TO {role}",
    )
    yield role
    await server.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def evidence_context(*, remaining_s: float = 20, byte_budget: int = 16_384) -> EvidenceContext:
    return EvidenceContext(
        run_id="run",
        tool_call_id="call",
        reference_time=datetime(2026, 1, 1, tzinfo=UTC),
        zone=UTC,
        remaining_s=remaining_s,
        byte_budget=byte_budget,
    )


@pytest.fixture
def context() -> EvidenceContext:
    return evidence_context()


class Asker:
    """An open tool, asked in one line."""

    def __init__(self, tool: PostgresqlTool) -> None:
        self.tool = tool

    async def __call__(
        self,
        sql: str,
        database: str | None = None,
        *,
        remaining_s: float = 20,
        byte_budget: int = 16_384,
    ) -> EvidenceResult:
        request = QueryPostgresqlRequest(sql=sql, database=database)
        context = evidence_context(remaining_s=remaining_s, byte_budget=byte_budget)
        return await self.tool.collect(request, context)

    async def fields(self, sql: str) -> list[dict[str, Any]]:
        return [item.fields for item in (await self(sql)).items]


@pytest.fixture
async def open_tool(server: Server) -> AsyncIterator[Callable[..., Any]]:
    tools: list[PostgresqlTool] = []

    async def make(url: SecretStr | None = None, **settings: Any) -> Asker:
        given = {"schemas": (server.schema, *SERVER_SCHEMAS)} | settings
        tool = PostgresqlTool(PostgresqlSettings(url=url or server.url, **given))
        await tool.open()
        tools.append(tool)
        return Asker(tool)

    yield make
    for tool in tools:
        await tool.close()


@pytest.fixture
async def ask(open_tool: Callable[..., Any]) -> Asker:
    asker: Asker = await open_tool()
    return asker
