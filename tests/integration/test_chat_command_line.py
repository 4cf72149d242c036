"""The command line on a real model server: failures end as lines, signals stop the work itself."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import sys
import sysconfig
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from diagnosis.testing import answer, call, calls, draft_json
from diagnosis_mysql.session import connect_raw
from diagnosis_mysql.url import parse_url

COMMAND = Path(sysconfig.get_path("scripts")) / "diagnosis"
START_S = 60
"""A process on a busy machine has done its imports by then."""
STOP_S = 1.0
"""Work stops within this time after a signal."""
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
SIGNALS = sorted(STATUS)


@asynccontextmanager
async def started(
    *command: object, base_url: str, cwd: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that is told of the model server by its environment."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=cwd,
        env={
            **os.environ,
            "DIAGNOSIS_MODEL__BASE_URL": base_url,
            "DIAGNOSIS_MODEL__API_KEY": "sk-test-0000",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ended(process: asyncio.subprocess.Process) -> tuple[str, str]:
    """What it wrote on stdout and stderr; it never ends with a traceback."""
    async with asyncio.timeout(START_S):
        out, err = await process.communicate()
    assert b"Traceback" not in out + err
    return out.decode(), err.decode()


async def until(check, within_s: float, *, alive: asyncio.subprocess.Process | None = None) -> None:
    """Ask again and again until the answer is yes, as long as a process is alive."""
    deadline = time.monotonic() + within_s
    while not await check():
        assert time.monotonic() < deadline, f"not within {within_s} s"
        assert alive is None or alive.returncode is None, await alive.communicate()
        await asyncio.sleep(0.02)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log with one error a minute, E1 to E6."""
    path = tmp_path / "app.log"
    lines = [
        f"2026-03-01T12:0{n}:00Z ERROR orders: E{n} payment refused at node-7\n"
        f"2026-03-01T12:0{n}:30Z INFO orders: still alive\n"
        for n in range(1, 7)
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def ask(*more: object) -> list[object]:
    return [
        COMMAND,
        "ask",
        "why do orders fail?",
        "--model",
        "openai:test-model",
        "--at",
        "2026-03-01T12:10:00Z",
        *more,
    ]


def look_for(number: int):
    request = {"contains": f"E{number}", "mode": "lines"}
    return calls(call("query_logs", request, id=f"c{number}"))


# --- failures ------------------------------------------------------------------------------------


async def test_a_500_in_round_seven_ends_with_one_line_and_what_was_found(
    chat, logs, tmp_path
) -> None:
    rounds = [look_for(n) for n in range(1, 7)]
    chat.plays(*rounds, chat.reply(500, {"error": {"message": "do-not-show"}}))
    async with started(*ask("--logs", logs), base_url=chat.url, cwd=tmp_path) as process:
        out, err = await ended(process)
    assert process.returncode == 3
    assert len(chat.requests) == 7
    for n in range(1, 7):
        assert f"E{n} payment refused at node-7" in out
    lines = [line for line in (out + err).splitlines() if "HTTP 500" in line]
    assert len(lines) == 1
    assert "The model test-model answered HTTP 500." in lines[0]
    assert "do-not-show" not in out + err
    assert chat.requests[0].headers["authorization"] == "Bearer sk-test-0000"


async def test_the_same_as_json(chat, logs, tmp_path) -> None:
    rounds = [look_for(n) for n in range(1, 7)]
    chat.plays(*rounds, chat.reply(500))
    command = ask("--logs", logs, "--json", "--quiet")
    async with started(*command, base_url=chat.url, cwd=tmp_path) as process:
        out, err = await ended(process)
    assert process.returncode == 3
    assert err == ""
    document = json.loads(out)
    assert (document["status"], document["end_reason"]) == ("FALLBACK", "MODEL_UNAVAILABLE")
    assert document["detail"] == "The model test-model answered HTTP 500."
    assert document["progress"]["found"] == 6
    assert document["usage"]["model_calls"] == 7


async def test_a_server_that_is_not_there_is_two_lines(logs, tmp_path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound, not listening: nobody else takes the port
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        command = ask("--logs", logs, "--quiet")
        async with started(*command, base_url=url, cwd=tmp_path) as process:
            out, err = await ended(process)
    assert process.returncode == 1
    assert out == ""
    [first, second] = err.splitlines()
    assert first == "Error: the run failed (MODEL_UNAVAILABLE)."
    assert "could not be reached" in second


# --- signals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_signal_while_the_model_hangs_closes_the_connection(
    chat, logs, tmp_path, number
) -> None:
    chat.plays(look_for(1), chat.hang)
    async with started(*ask("--logs", logs), base_url=chat.url, cwd=tmp_path) as process:
        exchange = await chat.received(2, within_s=START_S)
        signalled_at = time.monotonic()
        process.send_signal(number)
        out, err = await ended(process)
    await asyncio.wait_for(exchange.gone.wait(), START_S)
    assert exchange.closed_at - signalled_at < STOP_S
    assert process.returncode == STATUS[number]
    assert out == ""
    assert "Cancelled; nothing was released." in err
    assert len(chat.requests) == 2


async def test_a_cancelled_run_is_told_as_json_too(chat, logs, tmp_path) -> None:
    chat.plays(chat.hang)
    command = ask("--logs", logs, "--json", "--quiet")
    async with started(*command, base_url=chat.url, cwd=tmp_path) as process:
        await chat.received(1, within_s=START_S)
        process.send_signal(signal.SIGINT)
        out, _ = await ended(process)
    assert process.returncode == 130
    document = json.loads(out)
    assert (document["status"], document["end_reason"]) == ("CANCELLED", "CANCELLED")
    assert document["release"] is None


TOOL_WITH_A_SUBPROCESS = """
import asyncio, os, sys
from diagnosis import DiagnosisInput
from diagnosis.bootstrap import resolve_model
from diagnosis.cli.running import run_command
from diagnosis.settings import load_settings
from diagnosis.testing import FakeTool, open_for_testing


async def look(request, context):
    process = await asyncio.create_subprocess_exec("sleep", "60")
    print(process.pid, flush=True)
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def main(cancellation):
    settings = load_settings(overrides={"model": {"name": "openai:test-model"}})
    async with open_for_testing(resolve_model(settings.model), FakeTool(look)) as diagnosis:
        outcome = await diagnosis.run(DiagnosisInput(query="why?"), cancellation=cancellation)
    print(outcome.status, flush=True)
    return 0


sys.exit(run_command(main))
"""


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_signal_while_a_tool_runs_ends_its_subprocess(chat, tmp_path, number) -> None:
    chat.plays(calls(call()), answer(draft_json()))
    program = tmp_path / "program.py"
    program.write_text(TOOL_WITH_A_SUBPROCESS, encoding="utf-8")
    async with started(sys.executable, program, base_url=chat.url, cwd=tmp_path) as process:
        async with asyncio.timeout(START_S):
            sleeping = int(await process.stdout.readline())
        os.kill(sleeping, 0)  # it runs
        process.send_signal(number)

        async def gone() -> bool:
            try:
                os.kill(sleeping, 0)
            except ProcessLookupError:
                return True
            return False

        await until(gone, STOP_S)
        out, _ = await ended(process)
    assert out == "CANCELLED\n"
    assert process.returncode == STATUS[number]
    assert len(chat.requests) == 1


STUBBORN_TOOLS = {
    "thread": "await asyncio.to_thread(time.sleep, 60)",
    "task": """
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue
""",
}


@pytest.mark.parametrize("kind", STUBBORN_TOOLS)
async def test_a_tool_that_cannot_be_stopped_does_not_keep_the_process(
    chat, tmp_path, kind
) -> None:
    chat.plays(calls(call()), answer(draft_json()))
    head, tail = TOOL_WITH_A_SUBPROCESS.split("async def look(request, context):")
    rest = tail[tail.index("async def main") :]
    look = (
        f"async def look(request, context):\n    print(0, flush=True)\n    {STUBBORN_TOOLS[kind]}"
    )
    program = tmp_path / "program.py"
    program.write_text(f"import time\n{head}{look}\n\n{rest}", encoding="utf-8")
    async with started(sys.executable, program, base_url=chat.url, cwd=tmp_path) as process:
        async with asyncio.timeout(START_S):
            await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(20):  # far less than what the tool still wants to do
            out, _ = await process.communicate()
    assert out == b"CANCELLED\n"
    assert process.returncode == 130


# --- queries -------------------------------------------------------------------------------------


class SlowQuery:
    """A statement that runs for many minutes on the real server, and a look at whether it does."""

    def __init__(self, connection, url: str) -> None:
        self._connection = connection
        self.url = url
        self._marker = f"slow_{secrets.token_hex(6)}"
        self.sql = (
            f"SELECT COUNT(*) AS {self._marker} FROM numbers a, numbers b, numbers c, numbers d "
            "WHERE a.n + b.n + c.n + d.n = -1"
        )

    async def rows(self, sql: str):
        cursor = self._connection.cursor()
        await cursor.execute(sql)
        return list(await cursor.fetchall()) if cursor.description else []

    async def runs(self) -> bool:
        found = await self.rows(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() "
            f"AND INFO LIKE '%{self._marker}%'"
        )
        return bool(found)

    async def is_gone(self) -> bool:
        return not await self.runs()


@pytest.fixture
async def slow_query(mysql_url: str) -> AsyncIterator[SlowQuery]:
    address = parse_url(SecretStr(mysql_url))
    schema = f"diagnosis_test_{secrets.token_hex(6)}"
    connection = await connect_raw(address, 10)
    query = SlowQuery(connection, f"{mysql_url.rsplit('/', 1)[0]}/{schema}")
    await query.rows(f"CREATE DATABASE {schema}")
    await query.rows(f"CREATE TABLE {schema}.numbers (n INT PRIMARY KEY)")
    values = ", ".join(f"({n})" for n in range(1_000))
    await query.rows(f"INSERT INTO {schema}.numbers VALUES {values}")
    await query.rows("COMMIT")
    yield query
    await query.rows(f"DROP DATABASE {schema}")
    await connection.ensure_closed()


@pytest.mark.service("mysql")
@pytest.mark.parametrize("number", SIGNALS)
async def test_a_signal_to_the_tool_command_stops_its_query_on_the_server(
    slow_query, tmp_path, number
) -> None:
    request = json.dumps({"sql": slow_query.sql})
    command = [COMMAND, "tool", "query_mysql", request, "--mysql", slow_query.url]
    async with started(*command, base_url="http://127.0.0.1:9", cwd=tmp_path) as process:
        await until(slow_query.runs, START_S, alive=process)
        process.send_signal(number)
        await until(slow_query.is_gone, STOP_S)
        out, _ = await ended(process)
    assert process.returncode == STATUS[number]
    assert out == ""


@pytest.mark.service("mysql")
async def test_a_signal_to_a_run_stops_its_query_on_the_server(chat, slow_query, tmp_path) -> None:
    chat.plays(calls(call("query_mysql", {"sql": slow_query.sql})), answer(draft_json()))
    command = ask("--mysql", slow_query.url)
    async with started(*command, base_url=chat.url, cwd=tmp_path) as process:
        await until(slow_query.runs, START_S, alive=process)
        process.send_signal(signal.SIGINT)
        await until(slow_query.is_gone, STOP_S)
        out, err = await ended(process)
    assert process.returncode == 130
    assert out == ""
    assert "Cancelled; nothing was released." in err
    assert len(chat.requests) == 1
