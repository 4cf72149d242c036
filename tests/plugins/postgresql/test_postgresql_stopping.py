"""Nothing runs on: limits, cancellation and lost connections stop the work on the server."""

from __future__ import annotations

import asyncio
import secrets
import time

import pytest

from diagnosis.errors import QueryRejected, SourceUnavailable
from diagnosis_postgresql.session import Session
from diagnosis_postgresql.settings import PostgresqlSettings
from diagnosis_postgresql.url import server_address
from diagnosis_sql.policy import VettedStatement
from diagnosis_sql.secret_columns import SecretOutput

pytestmark = pytest.mark.service("postgresql")


def slow_query() -> tuple[str, str]:
    """A statement of many minutes, and a marker to find it by."""
    marker = f"slow_{secrets.token_hex(6)}"
    return (
        f"SELECT count(*) AS {marker} FROM numbers a, numbers b, numbers c, numbers d "
        "WHERE a.n + b.n + c.n + d.n = -1",
        marker,
    )


async def until_running(server, marker: str) -> list[int]:
    for _ in range(500):
        if found := await server.running(marker):
            return found
        await asyncio.sleep(0.01)
    raise AssertionError("the statement never started")


async def until_gone(server, marker: str, within_s: float = 1) -> None:
    deadline = time.monotonic() + within_s
    while await server.running(marker):
        assert time.monotonic() < deadline, "the statement still runs on the server"
        await asyncio.sleep(0.01)


async def test_the_servers_time_limit_ends_a_statement_and_the_session_goes_on(
    open_tool, server
) -> None:
    ask = await open_tool(timeout_s=0.3, connections=1)
    [before] = await ask.fields("SELECT pg_backend_pid() AS pid")
    sql, marker = slow_query()
    with pytest.raises(TimeoutError):
        await ask(sql)
    assert await server.running(marker) == []
    assert await ask.fields("SELECT pg_backend_pid() AS pid") == [before]


async def test_a_call_ends_by_itself_when_its_time_runs_out(open_tool, server) -> None:
    ask = await open_tool(timeout_s=60)
    sql, marker = slow_query()
    with pytest.raises(TimeoutError):
        await ask(sql, remaining_s=1)
    await until_gone(server, marker)


async def test_cancelling_a_call_stops_its_statement_within_a_second(ask, server) -> None:
    sql, marker = slow_query()
    call = asyncio.create_task(ask(sql))
    await until_running(server, marker)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until_gone(server, marker, 1)
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]


async def test_an_account_without_privileges_can_stop_its_own_statement(
    open_tool, server, reader
) -> None:
    ask = await open_tool(server.as_user(reader, "s3cr3t"))
    sql, marker = slow_query()
    call = asyncio.create_task(ask(sql))
    await until_running(server, marker)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until_gone(server, marker)


async def test_a_storm_of_cancelled_calls_leaves_nothing_behind(open_tool, server, reader) -> None:
    """At every moment of a call: while it connects, begins, prepares, runs and reads."""
    ask = await open_tool(server.as_user(reader, "s3cr3t"), connections=3)
    sql, marker = slow_query()

    async def cancelled(step: int) -> None:
        call = asyncio.create_task(ask(sql))
        await asyncio.sleep(step * 0.0007)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    for start in range(0, 100, 10):
        await asyncio.gather(*(cancelled(step) for step in range(start, start + 10)))
    await until_gone(server, marker)
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]
    for _ in range(100):
        if await server.connections(reader) <= 3:
            break
        await asyncio.sleep(0.02)
    assert await server.connections(reader) <= 3
    await ask.tool.close()
    for _ in range(100):
        if await server.connections(reader) == 0:
            break
        await asyncio.sleep(0.02)
    assert await server.connections(reader) == 0


async def test_a_connection_killed_in_a_query_is_unavailable_and_the_next_call_works(
    ask, server
) -> None:
    sql, marker = slow_query()
    call = asyncio.create_task(ask(sql))
    [pid] = await until_running(server, marker)
    await server.value("SELECT pg_terminate_backend($1)", pid)
    with pytest.raises(SourceUnavailable):
        await call
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]


async def test_a_statement_cancelled_by_somebody_else_is_a_failed_query(ask, server) -> None:
    sql, marker = slow_query()
    call = asyncio.create_task(ask(sql))
    [pid] = await until_running(server, marker)
    while not call.done():
        # one that comes while the statement is only being prepared is forgotten
        await server.value("SELECT pg_cancel_backend($1)", pid)
        await asyncio.sleep(0.05)
    with pytest.raises(QueryRejected) as rejected:
        await call
    assert rejected.value.reason == "QUERY_FAILED"


async def test_idle_connections_that_died_are_replaced_unnoticed(ask, server) -> None:
    [row] = await ask.fields("SELECT pg_backend_pid() AS pid")
    await server.value("SELECT pg_terminate_backend($1)", row["pid"])
    await asyncio.sleep(0.05)
    [after] = await ask.fields("SELECT pg_backend_pid() AS pid")
    assert after != row


async def test_a_locked_table_ends_in_a_timeout_and_not_in_a_queue(open_tool, server) -> None:
    ask = await open_tool(timeout_s=0.3)
    async with server.connection.transaction():
        await server.run("LOCK TABLE numbers IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(TimeoutError):
            await ask("SELECT n FROM numbers")
    assert len((await ask("SELECT n FROM numbers LIMIT 3")).items) == 3


async def test_calls_at_once_share_a_bounded_number_of_connections(
    open_tool, server, reader
) -> None:
    ask = await open_tool(server.as_user(reader, "s3cr3t"), connections=2)
    results = await asyncio.gather(
        *(ask(f"SELECT {k} AS k, count(*) AS c FROM numbers a, numbers b") for k in range(8))
    )
    assert [result.items[0].fields for result in results] == [
        {"k": k, "c": 1_000_000} for k in range(8)
    ]
    assert await server.connections(reader) <= 2


async def drain(session: Session, statement: VettedStatement) -> None:
    _, rows = await session.stream(statement, text_bytes=100)
    async for _ in rows:
        pass


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO numbers VALUES (5000)",
        "UPDATE numbers SET n = n + 10000",
        "DELETE FROM numbers",
        "TRUNCATE numbers",
        "DROP TABLE numbers",
        "CREATE TABLE made (n int)",
        "WITH x AS (INSERT INTO numbers VALUES (5000) RETURNING n) SELECT * FROM x",
        "SELECT * FROM numbers FOR UPDATE",
        "SELECT nextval('counter')",
        "SELECT 1; DELETE FROM numbers",
        "SELECT set_config('transaction_read_only', 'off', true)",
    ],
)
async def test_a_session_writes_nothing_even_past_the_policy(server, sql: str) -> None:
    await server.run("CREATE SEQUENCE counter")
    address = server_address(PostgresqlSettings(url=server.url))
    session = await Session.open(address, None, [server.schema], 5)
    hole = VettedStatement(sql, describes=True, secrets=SecretOutput())
    for _ in range(2):
        await session.begin(None, 5, 100)
        with pytest.raises(QueryRejected):
            await drain(session, hole)
        await session.end()
    await session.quit()
    found = await server.value("SELECT count(*) || '/' || max(n) FROM numbers")
    assert found == "1000/999"
    assert await server.value("SELECT is_called FROM counter") is False
    tables = await server.value(
        "SELECT count(*) FROM pg_tables WHERE schemaname = $1", server.schema
    )
    assert tables == 1
