"""Nothing runs on: time limits, cancellation and lost connections stop the work on the server."""

from __future__ import annotations

import asyncio
import secrets
import time

import pytest

from diagnosis.errors import QueryRejected, SourceUnavailable


def slow_query() -> tuple[str, str]:
    """A statement of many minutes, and a marker to find it by."""
    marker = f"slow_{secrets.token_hex(6)}"
    return (
        f"SELECT COUNT(*) AS {marker} FROM numbers a, numbers b, numbers c, numbers d "
        "WHERE a.n + b.n + c.n + d.n = -1",
        marker,
    )


async def until_running(server, marker: str, count: int = 1) -> list[str]:
    for _ in range(200):
        found = await server.running(marker)
        if len(found) >= count:
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("the statement never started")


async def until_gone(server, marker: str, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while await server.running(marker):
        assert time.monotonic() < deadline, "the statement still runs on the server"
        await asyncio.sleep(0.02)


@pytest.mark.service("mysql")
async def test_the_servers_time_limit_ends_a_statement_and_the_session_goes_on(
    open_tool, server
) -> None:
    ask = await open_tool(timeout_s=0.3)
    connections = await server.connections()
    sql, marker = slow_query()
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await ask(sql)
    assert time.monotonic() - started > 0.25
    assert await server.running(marker) == []
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]
    assert await server.connections() == connections


@pytest.mark.service("mysql")
async def test_a_call_ends_by_itself_when_its_time_runs_out(open_tool, server) -> None:
    ask = await open_tool(timeout_s=60)
    sql, marker = slow_query()
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await ask(sql, remaining_s=1)
    assert time.monotonic() - started < 20
    await until_gone(server, marker, 1)


@pytest.mark.service("mysql")
async def test_cancelling_a_call_stops_its_statement_within_a_second(ask, server) -> None:
    sql, marker = slow_query()
    call = asyncio.create_task(ask(sql))
    [server_id] = await until_running(server, marker)
    call.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until_gone(server, marker, 1 - (time.monotonic() - started))
    assert time.monotonic() - started < 1
    assert server_id not in await server.connections()
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.service("mysql")
async def test_an_account_without_privileges_can_stop_its_own_statement(open_tool, server) -> None:
    user = f"dt_{secrets.token_hex(4)}"
    await server.rows(f"CREATE USER '{user}'@'%' IDENTIFIED BY 'x'")
    try:
        await server.rows(f"GRANT SELECT ON {server.schema}.* TO '{user}'@'%'")
        ask = await open_tool(server.url(user=user, password="x"))
        sql, marker = slow_query()
        call = asyncio.create_task(ask(sql))
        await until_running(server, marker)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until_gone(server, marker, 1)
    finally:
        await server.rows(f"DROP USER '{user}'@'%'")


@pytest.mark.service("mysql")
async def test_cancelling_twice_still_stops_it(ask, server) -> None:
    sql, marker = slow_query()
    call = asyncio.create_task(ask(sql))
    await until_running(server, marker)
    call.cancel()
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until_gone(server, marker, 1)
    await ask.tool.close()


@pytest.mark.service("mysql")
async def test_cancelling_at_any_moment_leaves_nothing_running(ask, server) -> None:
    """The kill may reach the server before the statement has begun: it must not be forgotten."""
    sql, marker = slow_query()
    for step in range(60):
        call = asyncio.create_task(ask(sql))
        await asyncio.sleep(step * 0.00013)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    await until_gone(server, marker, 1)
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.service("mysql")
async def test_a_storm_of_cancelled_calls_leaves_nothing_behind(open_tool, server) -> None:
    """At every moment of a call, many at once: while it connects, begins, runs and reads."""
    ask = await open_tool(connections=3)
    sql, marker = slow_query()

    async def cancelled(step: int) -> None:
        call = asyncio.create_task(ask(sql))
        await asyncio.sleep(step * 0.0007)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    for start in range(0, 100, 10):
        await asyncio.gather(*(cancelled(step) for step in range(start, start + 10)))
    await until_gone(server, marker, 1)
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]
    for wanted in (3, 0):
        for _ in range(100):
            if len(await server.connections()) <= wanted:
                break
            await asyncio.sleep(0.02)
        assert len(await server.connections()) <= wanted
        await ask.tool.close()


@pytest.mark.service("mysql")
async def test_a_failed_statement_leaves_no_open_transaction(open_tool, server) -> None:
    ask = await open_tool(connections=1)
    with pytest.raises(QueryRejected):
        await ask("SELECT no_such_column FROM numbers")
    [server_id] = await server.connections()
    open_ones = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = "
    assert await server.value(open_ones + server_id) == "0"
    # an idle transaction would hold the table against changes of its shape
    await server.rows("ALTER TABLE numbers ADD COLUMN added INT")
    assert (await ask("SELECT added FROM numbers LIMIT 1")).items[0].fields == {"added": None}


@pytest.mark.service("mysql")
async def test_a_connection_killed_in_a_query_is_unavailable_and_the_next_call_works(
    ask, server
) -> None:
    sql, marker = slow_query()
    call = asyncio.create_task(ask(sql))
    [server_id] = await until_running(server, marker)
    await server.rows(f"KILL {server_id}")
    with pytest.raises(SourceUnavailable):
        await call
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.service("mysql")
async def test_idle_connections_that_died_are_replaced_unnoticed(open_tool, server) -> None:
    ask = await open_tool(connections=3)
    await asyncio.gather(*(ask("SELECT COUNT(*) FROM numbers a, numbers b") for _ in range(3)))
    before = await server.connections()
    assert len(before) == 3
    for server_id in before:
        await server.rows(f"KILL {server_id}")
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]
    assert not set(before) & set(await server.connections())


@pytest.mark.service("mysql")
async def test_ten_calls_at_once_share_a_bounded_number_of_connections(open_tool, server) -> None:
    ask = await open_tool(connections=2)
    most = 0

    async def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, len(await server.connections()))
            await asyncio.sleep(0.005)

    done = asyncio.Event()
    watcher = asyncio.create_task(watch())
    results = await asyncio.gather(
        *(ask(f"SELECT {k} AS k, COUNT(*) AS c FROM numbers a, numbers b") for k in range(10))
    )
    done.set()
    await watcher
    assert [result.items[0].fields for result in results] == [
        {"k": k, "c": 1_000_000} for k in range(10)
    ]
    assert most == 2


@pytest.mark.service("mysql")
async def test_waiting_for_a_connection_counts_against_the_time(open_tool, server) -> None:
    ask = await open_tool(connections=1, timeout_s=60)
    sql, marker = slow_query()
    busy = asyncio.create_task(ask(sql))
    await until_running(server, marker)
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await ask("SELECT 1", remaining_s=1)
    assert time.monotonic() - started < 20
    busy.cancel()
    with pytest.raises(asyncio.CancelledError):
        await busy


@pytest.mark.service("mysql")
async def test_closing_leaves_no_connection_behind(open_tool, server) -> None:
    ask = await open_tool()
    await ask("SELECT 1")
    assert await server.connections()
    await ask.tool.close()
    for _ in range(50):
        if not await server.connections():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("a connection is left")
