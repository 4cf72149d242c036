"""Read-only, layer by layer: with the policy taken away, the session and the account still hold."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from diagnosis.errors import QueryRejected
from diagnosis_mysql.session import Session, connect_raw
from diagnosis_sql.policy import VettedStatement
from diagnosis_sql.secret_columns import SecretOutput

pytestmark = pytest.mark.service("mysql")


@pytest.fixture
async def session(server) -> AsyncIterator[Session]:
    session = await Session.open(replace(server.address, database=server.schema), 5)
    await session.begin(server.schema, 5, 100)
    yield session
    session.close()


async def drain(session: Session, sql: str) -> list[tuple[bytes | None, ...]]:
    _, rows = await session.stream(VettedStatement(sql, describes=False, secrets=SecretOutput()))
    return [row async for row in rows]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO numbers VALUES (5000)",
        "UPDATE numbers SET n = n + 10000",
        "DELETE FROM numbers",
        "REPLACE INTO numbers VALUES (5000)",
        "TRUNCATE TABLE numbers",
        "DROP TABLE numbers",
        "ALTER TABLE numbers ADD x INT",
        "CREATE TABLE made (n INT)",
        "SELECT n FROM numbers FOR UPDATE; DELETE FROM numbers",
    ],
)
async def test_a_session_writes_nothing_even_past_the_policy(server, session, sql: str) -> None:
    with pytest.raises(QueryRejected):
        await drain(session, sql)
    assert await server.value("SELECT CONCAT(COUNT(*), '/', MAX(n)) FROM numbers") == "1000/999"
    assert await server.rows("SHOW TABLES") == [("numbers",)]


async def test_a_session_outside_its_transaction_is_still_read_only(server, session) -> None:
    await session.end()
    with pytest.raises(QueryRejected):
        await drain(session, "INSERT INTO numbers VALUES (5000)")
    assert await server.value("SELECT COUNT(*) FROM numbers") == "1000"


async def test_the_server_refuses_a_second_statement(session) -> None:
    with pytest.raises(QueryRejected) as rejected:
        await drain(session, "SELECT 1; SELECT 2")
    assert rejected.value.reason == "SYNTAX_ERROR"
    assert await drain(session, "SELECT 3") == [(b"3",)]


async def test_a_plain_connection_would_have_taken_both(server) -> None:
    """What the switch is for: the driver itself asks for several statements in one text."""
    connection = await connect_raw(server.address, 5)
    cursor = connection.cursor()
    await cursor.execute("SELECT 1; SELECT 2")
    assert await cursor.nextset()
    await cursor.close()
    await connection.ensure_closed()


async def test_the_connection_speaks_utf8mb4_and_leaves_the_sql_mode_alone(server, session) -> None:
    [(charset, mode)] = await drain(
        session, "SELECT @@character_set_connection, @@session.sql_mode = @@global.sql_mode"
    )
    assert (charset, mode) == (b"utf8mb4", b"1")


async def test_what_the_account_may_not_read_is_a_refusal(open_tool, server) -> None:
    user = f"dt_{secrets.token_hex(4)}"
    await server.rows("CREATE TABLE hidden (n INT)")
    await server.rows(f"CREATE USER '{user}'@'%' IDENTIFIED BY 'pä/ss@w0rd'")
    try:
        await server.rows(f"GRANT SELECT ON {server.schema}.numbers TO '{user}'@'%'")
        url = server.url(user=user, password="pä/ss@w0rd")
        ask = await open_tool(url, schemas=(server.schema, "test"))
        assert await ask.fields("SELECT MAX(n) AS m FROM numbers") == [{"m": 999}]
        with pytest.raises(QueryRejected) as table:
            await ask("SELECT * FROM hidden")
        assert table.value.reason == "SCHEMA_NOT_ALLOWED"
        with pytest.raises(QueryRejected) as engine:
            await ask("SHOW ENGINE INNODB STATUS")
        assert engine.value.reason == "QUERY_FAILED"
    finally:
        await server.rows(f"DROP USER '{user}'@'%'")
