"""A real Prometheus and Alertmanager with the tests' own data, hostile servers, and open tools."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import SecretStr

from diagnosis.plugin import EvidenceContext, EvidenceResult
from diagnosis_prometheus.alerts_tool import AlertsTool
from diagnosis_prometheus.metrics_tool import MetricsTool
from diagnosis_prometheus.settings import PrometheusSettings

BACKFILL = Path(__file__).with_name("backfill.py")
REFERENCE = datetime(2026, 3, 1, 4, 0, tzinfo=UTC)
"""The end of the backfilled data."""

TARGET = """\
# HELP disk_free_ratio Free share of a disk.
# TYPE disk_free_ratio gauge
disk_free_ratio{mount="/数据",service="orders"} 0.02
disk_free_ratio{mount="/log",service="orders"} 0.04
disk_free_ratio{mount="/",service="mail"} 0.6
# HELP jobs_total Jobs done.
# TYPE jobs_total counter
jobs_total 7
"""

RULES = """\
groups:
- name: shop
  interval: 1s
  rules:
  - alert: DiskAlmostFull
    expr: disk_free_ratio < 0.1
    labels: {severity: critical}
    annotations:
      summary: 'Disk {{ $labels.mount }} is almost full'
      description: '{{ $value }} of it is free. 请清理磁盘。'
  - alert: Watchdog
    expr: vector(1)
    labels: {severity: info}
  - alert: SlowBurn
    expr: vector(42)
    for: 1h
    labels: {severity: warning, job: checkout}
"""

CONFIG = """\
global:
  scrape_interval: 1s
  evaluation_interval: 1s
  external_labels: {{cluster: test}}
rule_files: [rules.yml]
scrape_configs:
- job_name: node
  static_configs: [{{targets: ['127.0.0.1:{target}']}}]
alerting:
  alertmanagers:
  - static_configs: [{{targets: ['127.0.0.1:{manager}']}}]
"""

MANAGER_CONFIG = """\
route: {receiver: nobody, group_wait: 1s, group_by: ['...']}
receivers: [{name: nobody}]
inhibit_rules:
- source_matchers: [alertname = DiskAlmostFull]
  target_matchers: [alertname = Watchdog]
"""


@dataclass(frozen=True)
class Monitoring:
    """Where the two servers are."""

    prometheus: str
    alertmanager: str


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


class _Target(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = TARGET.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def scrape_target() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Target)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def answer(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=5) as response:
        text = response.read()
    return json.loads(text) if text[:1] in b"[{" else text


def wait_for(what: str, holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(OSError, urllib.error.URLError, KeyError):
            if holds():
                return
        time.sleep(0.1)
    raise RuntimeError(f"not within a minute: {what}")


@contextlib.contextmanager
def running(*command: str, log: Path, folder: Path, ready: Callable[[], bool]) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)

    def answers() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended: {log.read_text()[-500:]}")
        return ready()

    try:
        wait_for(command[0], answers)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


@contextlib.contextmanager
def alertmanager(binary: str, folder: Path) -> Iterator[str]:
    port = free_port()
    (folder / "alertmanager.yml").write_text(MANAGER_CONFIG, encoding="utf-8")
    url = f"http://127.0.0.1:{port}"
    # where .ci/run has unpacked it, it looks for its templates in the working directory
    templates = Path(binary).parents[1] / "share/prometheus/alertmanager"
    with running(
        binary,
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
        log=folder / "alertmanager.log",
        folder=templates if templates.is_dir() else folder,
        ready=lambda: isinstance(answer(f"{url}/api/v2/status"), dict),
    ):
        yield url


@contextlib.contextmanager
def prometheus(binary: str, promtool: str, folder: Path, manager: str) -> Iterator[str]:
    with (folder / "samples.txt").open("wb") as samples:
        subprocess.run([sys.executable, "-X", "utf8", str(BACKFILL)], check=True, stdout=samples)
    subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics",
         str(folder / "samples.txt"), str(folder / "data")],
        check=True, capture_output=True,
    )  # fmt: skip
    (folder / "rules.yml").write_text(RULES, encoding="utf-8")
    port = free_port()
    url = f"http://127.0.0.1:{port}/prometheus"
    with scrape_target() as target:
        config = CONFIG.format(target=target, manager=manager.rpartition(":")[2])
        (folder / "prometheus.yml").write_text(config, encoding="utf-8")
        with running(
            binary,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            "--storage.tsdb.retention.time=100y",
            f"--web.listen-address=127.0.0.1:{port}",
            "--web.route-prefix=/prometheus",
            "--query.max-samples=5000000",
            "--rules.alert.resend-delay=5s",
            log=folder / "prometheus.log",
            folder=folder,
            ready=lambda: answer(f"{url}/-/ready") != b"",
        ):
            yield url


def silence(manager: str, name: str, mount: str) -> None:
    now = datetime.now(UTC)
    answer(
        f"{manager}/api/v2/silences",
        {
            "matchers": [
                {"name": "alertname", "value": name, "isRegex": False},
                {"name": "mount", "value": mount, "isRegex": False},
            ],
            "startsAt": now.isoformat(),
            "endsAt": (now + timedelta(hours=1)).isoformat(),
            "createdBy": "tests",
            "comment": "known",
        },
    )


@pytest.fixture(scope="session")
def monitoring(
    find_program: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Monitoring]:
    """Both servers, once every alert is where the tests expect it."""
    folder = tmp_path_factory.mktemp("monitoring")
    with (
        alertmanager(find_program("prometheus-alertmanager", "alertmanager"), folder) as manager,
        prometheus(find_program("prometheus"), find_program("promtool"), folder, manager) as server,
    ):
        silence(manager, "DiskAlmostFull", "/log")

        def told() -> bool:
            states = [each["state"] for each in answer(f"{server}/api/v1/alerts")["data"]["alerts"]]
            known = answer(f"{server}/api/v1/metadata")["data"]
            return sorted(states) == ["firing"] * 3 + ["pending"] and "jobs_total" in known

        def managed() -> bool:
            statuses = [each["status"] for each in answer(f"{manager}/api/v2/alerts")]
            silenced = any(each["silencedBy"] for each in statuses)
            return len(statuses) == 3 and silenced and any(each["inhibitedBy"] for each in statuses)

        wait_for("alerts", lambda: told() and managed())
        yield Monitoring(server, manager)


# --- a server that does as it is told --------------------------------------------------------

Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]


def http(
    body: bytes | object, status: int = 200, *, headers: dict[str, str] | None = None
) -> Reply:
    """Answer with these bytes, or with a value as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def reply(writer: asyncio.StreamWriter) -> None:
        lines = {"Content-Length": str(len(data)), "Connection": "close", **(headers or {})}
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
        writer.write(head.encode() + b"\r\n" + data)
        await writer.drain()

    return reply


def success(data: object, **more: object) -> Reply:
    """Answer as Prometheus does."""
    return http({"status": "success", "data": data, **more})


@dataclass
class Scripted:
    """A server whose replies a test sets, by the end of the path.

    Attributes:
        replies: what is done for a path; for any other one, an empty success.
        requests: what was asked: the path, the parameters, the headers.
        busy: requests under way whose client is still there.
        connections: the tasks that serve them.
    """

    url: str
    replies: dict[str, Reply]
    requests: list[tuple[str, dict[str, list[str]], dict[str, str]]]
    busy: int = 0
    connections: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self.serve(reader, writer))
        self.connections.add(task)
        task.add_done_callback(self.connections.discard)

    async def end(self) -> None:
        """Cut every connection."""
        for task in self.connections:
            task.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            target = urlsplit(lines[0].split(" ")[1])
            headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
            self.requests.append((target.path, parse_qs(target.query), headers))
            found = [each for end, each in self.replies.items() if target.path.endswith(end)]
            reply = found[0] if found else success({"resultType": "vector", "result": []})
            self.busy += 1
            work = asyncio.ensure_future(reply(writer))
            gone = asyncio.ensure_future(reader.read())
            try:
                await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self.busy -= 1
                work.cancel()
                gone.cancel()
                await asyncio.gather(work, gone, return_exceptions=True)


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    """A server that does as it is told."""
    server = Scripted("", {}, [])
    listening = await asyncio.start_server(server.accept, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield server
    listening.close()
    await server.end()
    await asyncio.sleep(0)  # the transports close one turn later


@pytest.fixture
def replying() -> Any:
    """The two ways to write a reply."""
    return http, success


# --- open tools ------------------------------------------------------------------------------


def evidence_context(
    at: datetime = REFERENCE,
    *,
    zone: tzinfo = UTC,
    remaining_s: float = 20,
    byte_budget: int = 16_384,
) -> EvidenceContext:
    return EvidenceContext("run", "call", at, zone, remaining_s, byte_budget)


class Asker:
    """An open tool, asked in one line."""

    def __init__(self, tool: MetricsTool | AlertsTool) -> None:
        self.tool = tool

    async def __call__(
        self, *, context: EvidenceContext | None = None, **request: Any
    ) -> EvidenceResult:
        asked = self.tool.request(**request)
        return await self.tool.collect(asked, context or evidence_context())  # type: ignore[arg-type]


@pytest.fixture
async def open_tool() -> AsyncIterator[Callable[..., Awaitable[Asker]]]:
    """Opens `query_metrics`, or with `kind=AlertsTool` the other one, over any URL."""
    tools: list[MetricsTool | AlertsTool] = []

    async def make(
        url: str | None = None, manager: str | None = None, *, kind: Any = MetricsTool, **more: Any
    ) -> Asker:
        settings = PrometheusSettings(
            url=None if url is None else SecretStr(url),
            alertmanager_url=None if manager is None else SecretStr(manager),
            **more,
        )
        tool = kind(settings)
        await tool.open()
        tools.append(tool)
        return Asker(tool)

    yield make
    for tool in tools:
        await tool.close()


@pytest.fixture
def context_at() -> Callable[..., EvidenceContext]:
    """Makes the context of a call."""
    return evidence_context


@pytest.fixture
async def metrics(monitoring: Monitoring, open_tool: Callable[..., Awaitable[Asker]]) -> Asker:
    """`query_metrics` over the real server."""
    return await open_tool(monitoring.prometheus)


@pytest.fixture
async def alerts(monitoring: Monitoring, open_tool: Callable[..., Awaitable[Asker]]) -> Asker:
    """`list_alerts` over both real servers."""
    return await open_tool(monitoring.prometheus, monitoring.alertmanager, kind=AlertsTool)
