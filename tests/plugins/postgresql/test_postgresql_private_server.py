"""A private server: one that goes away, hangs, is full, asks for a password, or wants TLS."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import socket
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from pydantic import SecretStr

from diagnosis.errors import SourceError, SourceUnavailable
from diagnosis_postgresql.request import QueryPostgresqlRequest
from diagnosis_postgresql.settings import PostgresqlSettings
from diagnosis_postgresql.tool import PostgresqlTool

BINARIES = next(
    iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), Path("/none")
)
OPENSSL = shutil.which("openssl")
# the server refuses to run as root
USER = "postgres" if os.geteuid() == 0 else None


def known(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


pytestmark = pytest.mark.skipif(
    not (BINARIES / "initdb").exists() or (USER is not None and not known(USER)),
    reason="no initdb on this machine, or no user it may run as",
)


class PrivateServer:
    """A PostgreSQL of the test's own, started and stopped by its process."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self._process: asyncio.subprocess.Process | None = None

    async def command(self, *words: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *words,
            user=USER,
            group=USER,
            extra_groups=[] if USER else None,
            cwd=self.folder,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )

    async def install(self) -> None:
        (self.folder / "password").write_text("pw-admin")
        if USER:
            for path in (self.folder, self.folder / "password"):
                shutil.chown(path, USER, USER)
        done = await self.command(
            str(BINARIES / "initdb"),
            *("-D", "data", "-U", "admin", "-A", "scram-sha-256", "--pwfile", "password"),
            *("-E", "UTF8", "--no-sync"),
        )
        assert await done.wait() == 0

    async def start(self, *further: str) -> None:
        self._process = await self.command(
            str(BINARIES / "postgres"),
            *("-D", "data", "-p", str(self.port), "-k", str(self.folder), "-h", "127.0.0.1"),
            *("-c", "fsync=off", "-c", "max_connections=12"),
            *further,
        )
        for _ in range(400):
            try:
                await (await self.admin()).close()
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.05)
            else:
                return
        raise AssertionError("the private server did not start")

    async def admin(self) -> asyncpg.Connection:
        return await asyncpg.connect(
            f"postgresql://admin:pw-admin@127.0.0.1:{self.port}/postgres", ssl=False
        )

    def send(self, what: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(what)

    async def stop(self) -> None:
        if self._process and self._process.returncode is None:
            self._process.send_signal(signal.SIGCONT)
            # immediate shut-down: the other processes of the server end too
            self._process.send_signal(signal.SIGQUIT)
            await self._process.wait()

    def tool(self, user: str = "admin", password: str = "pw-admin", **settings: object):
        name = settings.pop("database", "postgres")
        host = settings.pop("host", "127.0.0.1")
        url = SecretStr(f"postgresql://{user}:{password}@{host}:{self.port}/{name}")
        return PostgresqlTool(
            PostgresqlSettings.model_validate({"url": url, "connect_timeout_s": 2, **settings})
        )


@pytest.fixture
async def private() -> AsyncIterator[PrivateServer]:
    # not pytest's folder: its parents belong to whoever runs the tests
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="dpg"))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    server = PrivateServer(folder, port)
    try:
        await server.install()
        await server.start()
        yield server
    finally:
        await server.stop()
        await asyncio.to_thread(shutil.rmtree, folder)


async def answer(tool: PostgresqlTool, context) -> list[object]:
    request = QueryPostgresqlRequest(sql="SELECT 1 AS one")
    return [item.fields for item in (await tool.collect(request, context)).items]


async def refused(tool: PostgresqlTool) -> SourceError:
    with pytest.raises(SourceError) as error:
        await tool.open()
    assert "pw-" not in str(error.value)
    for sentence in (error.value.problem, error.value.mend):
        assert "\n" not in sentence
        assert sentence[0].isupper()
        assert sentence.endswith(".")
    return error.value


async def test_a_restarted_server_is_used_again(private: PrivateServer, context) -> None:
    tool = private.tool()
    await tool.open()
    assert await answer(tool, context) == [{"one": 1}]
    await private.stop()
    for _ in range(2):
        with pytest.raises(SourceUnavailable) as error:
            await answer(tool, context)
        assert "pw-" not in str(error.value)
    await private.start()
    assert await answer(tool, context) == [{"one": 1}]
    await tool.close()


async def test_a_server_that_hangs_is_unavailable_and_used_again_when_it_goes_on(
    private: PrivateServer, context
) -> None:
    tool = private.tool(connect_timeout_s=0.5)
    await tool.open()
    [pid] = [item["pid"] for item in await pids(tool, context)]
    os.kill(pid, signal.SIGSTOP)
    private.send(signal.SIGSTOP)
    with pytest.raises(SourceUnavailable):
        await answer(tool, context)
    error = await refused(private.tool(connect_timeout_s=0.5))
    assert "does not answer" in error.problem
    private.send(signal.SIGCONT)
    os.kill(pid, signal.SIGCONT)
    assert await answer(tool, context) == [{"one": 1}]
    await tool.close()


async def pids(tool: PostgresqlTool, context) -> list[dict[str, int]]:
    request = QueryPostgresqlRequest(sql="SELECT pg_backend_pid() AS pid")
    return [dict(item.fields) for item in (await tool.collect(request, context)).items]  # type: ignore[arg-type]


async def test_a_full_server_is_told_and_used_again(private: PrivateServer, context) -> None:
    admin = await private.admin()
    await admin.execute("CREATE ROLE app LOGIN PASSWORD 'pw-app' CONNECTION LIMIT 1")
    tool = private.tool("app", "pw-app")
    await tool.open()
    assert "(error 53300)" in (await refused(private.tool("app", "pw-app"))).problem
    assert await answer(tool, context) == [{"one": 1}]
    other = private.tool("app", "pw-app", connections=2)
    with pytest.raises(SourceUnavailable):
        await answer(other, context)
    await tool.close()
    for _ in range(100):
        if not await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'"):
            break
        await asyncio.sleep(0.02)
    assert await answer(other, context) == [{"one": 1}]
    await other.close()
    await admin.close()


async def test_wrong_accounts_and_databases_are_told_at_the_start(private: PrivateServer) -> None:
    for user, password in (("admin", "pw-wrong"), ("nobody_here", "pw-x"), ("admin", "")):
        error = await refused(private.tool(user, password))
        assert f"refuses the user {user!r} or the password" in error.problem
        assert f"127.0.0.1:{private.port}" in error.problem
    error = await refused(private.tool(database="missing"))
    assert "has no database 'missing'" in error.problem


@pytest.mark.skipif(not OPENSSL, reason="no openssl on this machine")
async def test_tls_is_used_and_verified_and_never_silently_left_out(
    private: PrivateServer, context
) -> None:
    key, certificate = private.folder / "key.pem", private.folder / "certificate.pem"
    done = await private.command(
        str(OPENSSL),
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)),
    )
    assert await done.wait() == 0
    certificate.chmod(0o644)
    await refused(private.tool(host="localhost", tls_ca=certificate))

    await private.stop()
    rules = private.folder / "data" / "pg_hba.conf"
    rules.write_text(
        "hostssl all app 127.0.0.1/32 scram-sha-256\nhost all admin 127.0.0.1/32 scram-sha-256\n"
    )
    await private.start(
        "-c", "ssl=on", "-c", f"ssl_cert_file={certificate}", "-c", f"ssl_key_file={key}"
    )
    admin = await private.admin()
    await admin.execute("CREATE ROLE app LOGIN PASSWORD 'pw-app'")
    await admin.close()
    error = await refused(private.tool("app", "pw-app"))
    assert "over TLS only" in error.problem
    tool = private.tool("app", "pw-app", host="localhost", tls_ca=certificate)
    await tool.open()
    request = QueryPostgresqlRequest(sql="SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    assert [item.fields for item in (await tool.collect(request, context)).items] == [{"ssl": True}]
    await tool.close()
    await refused(private.tool("app", "pw-app", host="127.0.0.1", tls_ca=certificate))
    await refused(private.tool("app", "pw-app", host="localhost", tls=True))


async def test_a_server_that_is_not_there_is_told_at_the_start(private: PrivateServer) -> None:
    await private.stop()
    error = await refused(private.tool())
    assert f"127.0.0.1:{private.port} cannot be used" in error.problem
