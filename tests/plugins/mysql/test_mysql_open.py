"""Opening the tool: whatever is wrong with the server is two clear lines, never a password."""

from __future__ import annotations

import asyncio
import importlib.util
import random
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from diagnosis.errors import SourceError
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.tool import MysqlTool


async def opening(url: str, **settings: float) -> SourceError:
    tool = MysqlTool(MysqlSettings(url=SecretStr(url), **settings))  # type: ignore[arg-type] # checked at run time
    with pytest.raises(SourceError) as error:
        await tool.open()
    assert "s3cr3t" not in str(error.value)
    assert "\n" not in error.value.problem + error.value.mend
    return error.value


@pytest.mark.service("mysql")
async def test_a_wrong_password_is_told_at_the_start(server) -> None:
    error = await opening(server.url(user="nobody_here", password="s3cr3t").get_secret_value())
    assert f"{server.address.host}:{server.address.port}" in error.problem
    assert "refuses the user 'nobody_here' or the password" in error.problem


@pytest.mark.service("mysql")
async def test_an_unknown_database_is_told_at_the_start(mysql_url: str) -> None:
    error = await opening(mysql_url.rsplit("/", 1)[0] + "/diagnosis_test_missing")
    assert "has no database 'diagnosis_test_missing'" in error.problem


async def test_a_server_that_is_not_there_is_told_at_the_start() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    error = await opening(f"mysql://root:s3cr3t@127.0.0.1:{port}/x")
    assert f"127.0.0.1:{port} cannot be used" in error.problem


async def test_a_host_name_that_does_not_exist_is_told_at_the_start() -> None:
    error = await opening("mysql://root:s3cr3t@no-such-host.invalid/x")
    assert "no-such-host.invalid:3306" in error.problem


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(talk: Talk) -> AsyncIterator[str]:
    """A server that talks as told and then waits for the other side to hang up; yields its URL."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
            await writer.drain()
            await reader.read()
        except ConnectionError:
            pass  # the other side was quicker
        finally:
            writer.close()
            ended.set()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        port = listener.sockets[0].getsockname()[1]
        yield f"mysql://root:s3cr3t@127.0.0.1:{port}/x"
        await asyncio.wait_for(ended.wait(), 5)
    finally:
        listener.close()


def packet(number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number]) + body


async def test_a_server_that_says_nothing_is_told_in_time() -> None:
    async def silent(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        pass

    async with listening(silent) as url:
        started = time.monotonic()
        error = await opening(url, connect_timeout_s=0.3)
        assert time.monotonic() - started < 2
    assert "does not answer" in error.problem


async def test_something_that_is_no_mysql_server_is_told_at_the_start() -> None:
    async def http(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.write_eof()

    async with listening(http) as url:
        error = await opening(url, connect_timeout_s=1)
    assert "127.0.0.1" in error.problem


@pytest.mark.parametrize("seed", range(10))
async def test_any_bytes_at_all_are_told_at_the_start(seed: int) -> None:
    async def noise(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(packet(0, b"\x0a" + random.Random(seed).randbytes(60)))
        writer.write_eof()

    async with listening(noise) as url:
        error = await opening(url, connect_timeout_s=0.5)
    assert "127.0.0.1" in error.problem


@pytest.mark.skipif(bool(importlib.util.find_spec("nacl")), reason="pynacl is installed")
async def test_a_login_that_needs_a_further_package_names_it() -> None:
    async def ed25519(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # protocol 10: version, thread, scramble, capabilities with pluggable logins and without TLS
        greeting = b"\x0a8.0.0-test\0" + b"\7\0\0\0" + b"12345678\0" + b"\xff\xf7\x2d\2\0\x08\0"
        greeting += b"\x15" + b"\0" * 10 + b"123456789012\0mysql_native_password\0"
        writer.write(packet(0, greeting))
        size = int.from_bytes((await reader.readexactly(4))[:3], "little")
        await reader.readexactly(size)
        writer.write(packet(2, b"\xfeclient_ed25519\0" + b"n" * 32))

    async with listening(ed25519) as url:
        error = await opening(url, connect_timeout_s=2)
    assert "needs a further package" in error.problem
    assert "pynacl" in error.mend
