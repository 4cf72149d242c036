"""A schema of its own for each test on the real server, and a way to look at the server itself."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from diagnosis.plugin import EvidenceContext, EvidenceResult
from diagnosis_mysql.request import QueryMysqlRequest
from diagnosis_mysql.session import connect_raw
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.tool import MysqlTool
from diagnosis_mysql.url import parse_url
from diagnosis_sql.url import ServerAddress


class Server:
    """The tests' own, unrestricted connection, and a schema that is dropped afterwards."""

    def __init__(self, connection: Any, address: ServerAddress, schema: str) -> None:
        self._connection = connection
        self.address = address
        self.schema = schema

    async def rows(self, sql: str) -> list[tuple[str | None, ...]]:
        cursor = self._connection.cursor()
        await cursor.execute(sql)
        if not cursor.description:
            return []
        return [
            tuple(None if value is None else value.decode() for value in row)
            for row in await cursor.fetchall()
        ]

    async def raw(self, sql: str) -> list[tuple[bytes | None, ...]]:
        """The server's bytes, undecoded."""
        cursor = self._connection.cursor()
        await cursor.execute(sql)
        return list(await cursor.fetchall())

    async def value(self, sql: str) -> str | None:
        return (await self.rows(sql))[0][0]

    async def running(self, marker: str) -> list[str]:
        """Ids of the server's connections whose statement holds the marker."""
        found = await self.rows(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() "
            f"AND INFO LIKE '%{marker}%'"
        )
        return [row[0] or "" for row in found]

    async def connections(self) -> list[str]:
        """Ids of other connections that use the test's schema."""
        found = await self.rows(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() "
            f"AND DB = '{self.schema}'"
        )
        return [row[0] or "" for row in found]

    def url(self, *, user: str | None = None, password: str | None = None) -> SecretStr:
        name = user or self.address.user
        secret = self.address.password.get_secret_value() if password is None else password
        where = f"{self.address.host}:{self.address.port}/{self.schema}"
        return SecretStr(f"mysql://{quote(name, safe='')}:{quote(secret, safe='')}@{where}")


@pytest.fixture
async def server(mysql_url: str) -> AsyncIterator[Server]:
    address = parse_url(SecretStr(mysql_url))
    schema = f"diagnosis_test_{secrets.token_hex(6)}"
    connection = await connect_raw(address, 5)
    server = Server(connection, address, schema)
    await server.rows(f"CREATE DATABASE {schema} CHARACTER SET utf8mb4")
    await server.rows(f"USE {schema}")
    await server.rows("CREATE TABLE numbers (n INT PRIMARY KEY)")
    digits = "(SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4)"
    digits = digits[:-1] + " UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8)"
    digits = digits[:-1] + " UNION SELECT 9)"
    await server.rows(
        f"INSERT INTO numbers SELECT a.d + 10 * b.d + 100 * c.d FROM {digits} a, {digits} b, "
        f"{digits} c"
    )
    await server.rows("COMMIT")
    yield server
    await server.rows(f"DROP DATABASE {schema}")
    await connection.ensure_closed()


@pytest.fixture
def context() -> EvidenceContext:
    return evidence_context()


def evidence_context(*, remaining_s: float = 20, byte_budget: int = 16_384) -> EvidenceContext:
    return EvidenceContext(
        run_id="run",
        tool_call_id="call",
        reference_time=datetime(2026, 1, 1, tzinfo=UTC),
        zone=UTC,
        remaining_s=remaining_s,
        byte_budget=byte_budget,
    )


class Asker:
    """An open tool, asked in one line."""

    def __init__(self, tool: MysqlTool) -> None:
        self.tool = tool

    async def __call__(
        self,
        sql: str,
        database: str | None = None,
        *,
        remaining_s: float = 20,
        byte_budget: int = 16_384,
    ) -> EvidenceResult:
        request = QueryMysqlRequest(sql=sql, database=database)
        context = evidence_context(remaining_s=remaining_s, byte_budget=byte_budget)
        return await self.tool.collect(request, context)

    async def fields(self, sql: str) -> list[dict[str, Any]]:
        return [item.fields for item in (await self(sql)).items]


@pytest.fixture
async def open_tool(server: Server) -> AsyncIterator[Callable[..., Any]]:
    tools: list[MysqlTool] = []

    async def make(url: SecretStr | None = None, **settings: Any) -> Asker:
        tool = MysqlTool(MysqlSettings(url=url or server.url(), **settings))
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
