"""A private server: one that goes away and comes back, and one that proves its name by TLS."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from diagnosis.errors import SourceError, SourceUnavailable
from diagnosis.plugin import EvidenceContext
from diagnosis_mysql.request import QueryMysqlRequest
from diagnosis_mysql.session import connect_raw
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.tool import MysqlTool
from diagnosis_mysql.url import parse_url

INSTALL = shutil.which("mariadb-install-db")
MARIADBD = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
OPENSSL = shutil.which("openssl")

pytestmark = pytest.mark.skipif(
    not (INSTALL and MARIADBD), reason="no mariadb-install-db and mariadbd on this machine"
)


class PrivateServer:
    """A MariaDB of the test's own, started and stopped by its process."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self.port = port
        self._process: asyncio.subprocess.Process | None = None

    def _options(self) -> list[str]:
        options = ["--no-defaults", f"--datadir={self._folder}/data"]
        return [*options, "--user=root"] if os.geteuid() == 0 else options

    async def install(self) -> None:
        done = await asyncio.create_subprocess_exec(
            str(INSTALL),
            *self._options(),
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert await done.wait() == 0

    async def start(self, *further: str) -> None:
        self._process = await asyncio.create_subprocess_exec(
            str(MARIADBD),
            *self._options(),
            f"--socket={self._folder}/s",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            *further,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        for _ in range(300):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                await writer.wait_closed()
                return
        raise AssertionError("the private server did not start")

    def url(self, account: str = "root") -> SecretStr:
        return SecretStr(f"mysql://{account}@127.0.0.1:{self.port}/information_schema")

    def send(self, what: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(what)

    async def stop(self) -> None:
        if self._process and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
            await self._process.wait()


@pytest.fixture
async def private(tmp_path: Path) -> AsyncIterator[PrivateServer]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    server = PrivateServer(tmp_path, port)
    await server.install()
    await server.start()
    yield server
    await server.stop()


async def test_a_restarted_server_is_used_again(private: PrivateServer) -> None:
    url = private.url()
    tool = MysqlTool(MysqlSettings(url=url, connect_timeout_s=2))
    await tool.open()
    context = EvidenceContext("run", "call", datetime(2026, 1, 1, tzinfo=UTC), UTC, 20, 16_384)
    request = QueryMysqlRequest(sql="SELECT 1 AS one")

    async def answer() -> list[object]:
        return [item.fields for item in (await tool.collect(request, context)).items]

    assert await answer() == [{"one": 1}]
    await private.stop()
    for _ in range(2):
        with pytest.raises(SourceUnavailable):
            await answer()
    await private.start()
    assert await answer() == [{"one": 1}]
    await tool.close()


@pytest.fixture
def context() -> EvidenceContext:
    return EvidenceContext("run", "call", datetime(2026, 1, 1, tzinfo=UTC), UTC, 20, 16_384)


async def one(tool: MysqlTool, context: EvidenceContext) -> list[object]:
    request = QueryMysqlRequest(sql="SELECT 1 AS one")
    return [item.fields for item in (await tool.collect(request, context)).items]


async def test_a_server_that_hangs_is_unavailable_and_used_again_when_it_goes_on(
    private: PrivateServer, context: EvidenceContext
) -> None:
    url = private.url()
    tool = MysqlTool(MysqlSettings(url=url, connect_timeout_s=0.5))
    await tool.open()
    private.send(signal.SIGSTOP)
    try:
        with pytest.raises(SourceUnavailable):
            await one(tool, context)
        with pytest.raises(SourceError, match="does not answer"):
            await MysqlTool(MysqlSettings(url=url, connect_timeout_s=0.5)).open()
    finally:
        private.send(signal.SIGCONT)
    assert await one(tool, context) == [{"one": 1}]
    await tool.close()


async def test_a_server_that_hangs_in_a_statement_ends_the_call_in_time(
    private: PrivateServer, context: EvidenceContext
) -> None:
    url = private.url()
    tool = MysqlTool(MysqlSettings(url=url, timeout_s=0.5, connect_timeout_s=0.5))
    await tool.open()
    slow = "SELECT COUNT(*) FROM COLUMNS a, COLUMNS b, COLUMNS c WHERE a.EXTRA = b.EXTRA"
    call = asyncio.create_task(tool.collect(QueryMysqlRequest(sql=slow), context))
    await asyncio.sleep(0.2)
    private.send(signal.SIGSTOP)
    try:
        with pytest.raises((TimeoutError, SourceUnavailable)):
            await call
    finally:
        private.send(signal.SIGCONT)
    assert await one(tool, context) == [{"one": 1}]
    await tool.close()


async def test_a_full_server_is_told_and_used_again(
    private: PrivateServer, context: EvidenceContext
) -> None:
    admin = await connect_raw(parse_url(private.url()), 5)
    cursor = admin.cursor()
    await cursor.execute("CREATE USER 'app'@'%' IDENTIFIED BY 'pw-app' WITH MAX_USER_CONNECTIONS 1")

    def tool_for(**settings: int) -> MysqlTool:
        return MysqlTool(MysqlSettings(url=private.url("app:pw-app"), **settings))

    first, second = tool_for(), tool_for()
    await first.open()
    with pytest.raises(SourceError) as full:
        await second.open()
    assert "1226" in full.value.problem
    assert "pw-" not in str(full.value)
    with pytest.raises(SourceUnavailable) as unavailable:
        await one(second, context)
    assert "pw-" not in str(unavailable.value)
    await first.close()
    for _ in range(100):
        try:
            assert await one(second, context) == [{"one": 1}]
        except SourceUnavailable:
            await asyncio.sleep(0.02)
        else:
            break
    assert await one(second, context) == [{"one": 1}]
    await second.close()
    await admin.ensure_closed()


async def make_certificate(folder: Path) -> Path:
    """A self-signed certificate for `localhost` and its key; returns the certificate's path."""
    done = await asyncio.create_subprocess_exec(
        str(OPENSSL),
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost"),
        *("-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert await done.wait() == 0
    return folder / "certificate.pem"


@pytest.mark.skipif(not OPENSSL, reason="no openssl on this machine")
async def test_tls_is_used_and_verified_and_never_silently_left_out(
    private: PrivateServer, tmp_path: Path
) -> None:
    def tool_for(host: str, **settings: Path | bool) -> MysqlTool:
        url = f"mysql://root@{host}:{private.port}/information_schema"
        return MysqlTool(MysqlSettings.model_validate({"url": url, **settings}))

    certificate = await make_certificate(tmp_path)
    with pytest.raises(SourceError) as without:
        await tool_for("localhost", tls_ca=certificate).open()
    assert "certificate fits tls_ca" in without.value.mend

    await private.stop()
    await private.start(f"--ssl-cert={certificate}", f"--ssl-key={tmp_path / 'key.pem'}")
    tool = tool_for("localhost", tls_ca=certificate)
    await tool.open()
    context = EvidenceContext("run", "call", datetime(2026, 1, 1, tzinfo=UTC), UTC, 20, 16_384)
    request = QueryMysqlRequest(sql="SHOW SESSION STATUS LIKE 'Ssl_cipher'")
    [item] = (await tool.collect(request, context)).items
    assert item.fields["Value"]
    await tool.close()

    for unproven in (tool_for("127.0.0.1", tls_ca=certificate), tool_for("localhost", tls=True)):
        with pytest.raises(SourceError):
            await unproven.open()
