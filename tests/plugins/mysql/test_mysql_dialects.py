"""What is said to MySQL 8 where it differs from MariaDB, against a scripted server on the wire.

The other tests run on whatever server there is; this one speaks just enough of the protocol to
answer as MySQL does: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from diagnosis.errors import QueryRejected, SourceUnavailable
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.tool import MysqlTool

OK = b"\0\0\0\2\0\0\0"
EOF = b"\xfe\0\0\2\0"
QUERY, SET_OPTION, QUIT = 0x03, 0x1B, 0x01


def text(value: str) -> bytes:
    return bytes([len(value.encode())]) + value.encode()


def column(name: str) -> bytes:
    head = text("def") + text("") * 3 + text(name) + text("")
    return head + b"\x0c\x2d\0\xff\0\0\0\xfd\0\0\0\0\0"


def error(number: int) -> list[bytes]:
    return [b"\xff" + number.to_bytes(2, "little") + b"#HY000scripted"]


def result(names: list[str], rows: list[list[str]]) -> list[bytes]:
    shown = [b"".join(text(value) for value in row) for row in rows]
    return [bytes([len(names)]), *map(column, names), EOF, *shown, EOF]


class ScriptedServer:
    """Answers the set-up as MySQL would, and the statement with what the test chose."""

    def __init__(self, version: str, variables: list[list[str]], answer: list[bytes]) -> None:
        self._version = version
        self._variables = variables
        self._answer = answer
        self.heard: list[str] = []
        self.talks: asyncio.Queue[None] = asyncio.Queue()

    def _reply(self, command: int, body: str) -> list[bytes]:
        if command == SET_OPTION:
            return [EOF]
        self.heard.append(body)
        if body.startswith("SELECT CONNECTION_ID()"):
            return result(["a", "b", "c"], [["7", self._version, "CST"]])
        if body.startswith("SHOW SESSION VARIABLES LIKE"):
            return result(["Variable_name", "Value"], self._variables)
        return self._answer if body.startswith("SELECT") else [OK]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def send(first: int, bodies: list[bytes]) -> None:
            for number, body in enumerate(bodies, start=first):
                writer.write(len(body).to_bytes(3, "little") + bytes([number]) + body)

        async def receive() -> bytes:
            size = int.from_bytes((await reader.readexactly(4))[:3], "little")
            return await reader.readexactly(size)

        try:
            greeting = b"\x0a" + self._version.encode() + b"\0\7\0\0\0" + b"12345678\0"
            greeting += b"\xff\xf7\x2d\2\0\x08\0\x15" + b"\0" * 10
            send(0, [greeting + b"123456789012\0mysql_native_password\0"])
            await receive()
            send(2, [OK])
            while (command := await receive())[0] != QUIT:
                send(1, self._reply(command[0], command[1:].decode()))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client hung up
        finally:
            writer.close()
            self.talks.put_nowait(None)


@asynccontextmanager
async def tool_on(server: ScriptedServer) -> AsyncIterator[MysqlTool]:
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    settings = MysqlSettings.model_validate(
        {"url": f"mysql://root@127.0.0.1:{port}/shop", "timeout_s": 2.5, "row_limit": 10}
    )
    tool = MysqlTool(settings)
    await tool.open()
    try:
        yield tool
    finally:
        await tool.close()
        listener.close()
        await asyncio.wait_for(server.talks.get(), 5)


ONE = result(["x"], [["1"]])
LIMITED = [["max_execution_time", "0"]]


async def ask(tool: MysqlTool, context) -> list[object]:
    request = tool.request.model_validate({"sql": "SELECT x FROM t"})
    found = await tool.collect(request, context)
    assert found.scope["time_zone"] == "CST"
    return [item.fields for item in found.items]


async def test_mysql_gets_its_time_limit_in_milliseconds(context) -> None:
    server = ScriptedServer("8.0.36", LIMITED, ONE)
    async with tool_on(server) as tool:
        assert await ask(tool, context) == [{"x": "1"}]
    assert server.heard[0] == "SET SESSION TRANSACTION READ ONLY"
    assert server.heard[3:] == [
        "SET SESSION sql_select_limit = 11, max_execution_time = 2500",
        "START TRANSACTION READ ONLY",
        "SELECT `x` FROM `t`",
        "ROLLBACK",
    ]


async def test_mariadb_gets_its_time_limit_in_seconds(context) -> None:
    server = ScriptedServer("5.5.5-10.11.6-MariaDB", [], ONE)
    async with tool_on(server) as tool:
        assert await ask(tool, context) == [{"x": "1"}]
    assert "SET SESSION sql_select_limit = 11, max_statement_time = 2.500" in server.heard


async def test_a_server_without_a_time_limit_gets_none(context) -> None:
    server = ScriptedServer("5.6.51", [], ONE)
    async with tool_on(server) as tool:
        assert await ask(tool, context) == [{"x": "1"}]
    assert "SET SESSION sql_select_limit = 11" in server.heard


async def test_the_server_is_asked_only_once_what_it_is(context) -> None:
    server = ScriptedServer("8.0.36", LIMITED, ONE)
    async with tool_on(server) as tool:
        await ask(tool, context)
        await ask(tool, context)
    assert sum("VERSION()" in heard for heard in server.heard) == 1


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (3024, TimeoutError),
        (4031, SourceUnavailable),
        (1053, SourceUnavailable),
        (1146, QueryRejected),
        (1317, QueryRejected),
    ],
)
async def test_what_mysqls_errors_mean(context, number: int, expected: type[Exception]) -> None:
    server = ScriptedServer("8.0.36", LIMITED, error(number))
    async with tool_on(server) as tool:
        with pytest.raises(expected) as raised:
            await ask(tool, context)
    assert "scripted" not in str(raised.value)
