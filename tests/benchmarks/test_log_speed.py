"""`query_logs` beside ripgrep on one day of log: 1 GiB, 7 million lines, measured in one run."""

import asyncio
import random
import resource
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

import diagnosis_logs
from diagnosis.plugin import EvidenceContext, PluginServices
from diagnosis_logs import ripgrep
from diagnosis_logs.settings import LogsSettings

LINES = 7_000_000
GIB = 1 << 30
DAY_S = 86_400
SERVICES = ("checkout", "payment", "inventory", "gateway", "auth", "orders")
STACK = (
    "java.sql.SQLTransientConnectionException: HikariPool-1 - request timed out after 30000ms.",
    "\tat com.zaxxer.hikari.pool.HikariPool.createTimeoutException(HikariPool.java:696)",
    "\tat com.shop.Db.query(Db.java:42)",
)
RARE = "out of file handles 7f3a"
WINDOW = {"start": "2026-03-12T14:00:00Z", "end": "2026-03-12T14:10:00Z"}
WINDOW_PATTERN = "^2026-03-12T14:0\\d:.*"
DAY = {"start": "2026-03-12T00:00:00Z", "end": "2026-03-13T00:00:00Z"}

pytestmark = [
    pytest.mark.timeout(1_200),
    pytest.mark.skipif(ripgrep.program() is None, reason="ripgrep is not installed"),
]


def message(chance):
    service, kind = chance.choice(SERVICES), chance.random()
    if kind < 0.45:
        return (
            f"INFO  [{service}] [http-nio-8080-exec-{chance.randrange(40)}] c.s.{service}.Log - "
            f"POST /api/v1/{service}/{chance.randrange(10**6)} 200 in {chance.randrange(900)} ms "
            f"trace_id={chance.getrandbits(64):016x} user_agent=okhttp/4.12"
        )
    if kind < 0.7:
        return (
            f"INFO  [{service}] [worker-{chance.randrange(16)}] com.shop.{service}.OrderFlow - "
            f"order {chance.randrange(10**8)} moved from CREATED to PAID user={kind} amount=7.5"
        )
    if kind < 0.85:
        return (
            f"DEBUG [{service}] [pool-2-thread-{chance.randrange(9)}] com.shop.{service}.Cache - "
            f"key 'cart:{chance.randrange(10**7)}' hit=true size={chance.randrange(4096)} ttl=60s"
        )
    if kind < 0.95:
        return (
            f"WARN  [{service}] [scheduler-1] com.shop.{service}.Retry - attempt 1 of 3 for "
            f"10.{chance.randrange(256)}.0.{chance.randrange(256)}:3306 took {kind} ms"
        )
    if kind < 0.985:
        return (
            f"ERROR [{service}] [http-nio-8080-exec-7] com.shop.{service}.Db - connection refused "
            f"by 10.0.{chance.randrange(256)}.{chance.randrange(256)} after {kind} ms"
        )
    return f"INFO  [{service}] [main] com.shop.{service}.Sync - 库存同步完成 批次 {kind}"


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    chance = random.Random(11)
    block = [message(chance) for _ in range(50_000)]
    path = tmp_path_factory.mktemp("speed") / "day.log"
    written = 0
    with path.open("wb", buffering=1 << 20) as file:
        for second in range(DAY_S):
            stamp = f"2026-03-12T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}."
            wanted = LINES * (second + 1) // DAY_S - written
            at = chance.randrange(len(block) - wanted)
            lines = [
                f"{stamp}{n * 1000 // wanted:03}Z {block[at + n]}"
                for n in range(wanted - len(STACK))
            ]
            lines[40:40] = STACK
            if second == 50_000:
                lines[5] = f"{stamp}070Z FATAL [payment] [main] com.shop.payment.Core - {RARE}"
            file.write(("\n".join(lines) + "\n").encode())
            written += wanted
    assert path.stat().st_size >= GIB
    yield path
    path.unlink()


@dataclass(frozen=True)
class Cost:
    """The least of several turns, in ms: on the clock, and of processors."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} ms ({self.cpu:.1f} ms of processors)"


def processors_s():
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def costs(turns, *actions):
    """What actions cost, done in turn, so that a busy machine is as slow for each."""
    walls, cpus = ([[] for _ in actions] for _ in range(2))
    for _ in range(turns):
        for action, wall, cpu in zip(actions, walls, cpus, strict=True):
            began, spent = time.perf_counter(), processors_s()
            action()
            wall.append((time.perf_counter() - began) * 1_000)
            cpu.append((processors_s() - spent) * 1_000)
    return [Cost(min(wall), min(cpu)) for wall, cpu in zip(walls, cpus, strict=True)]


def private_mib():
    text = Path("/proc/self/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if "Private_" in line) / 1024


@pytest.fixture
def query(day):
    [tool] = diagnosis_logs.diagnosis_register_evidence_tools(
        LogsSettings(paths=(day,)), PluginServices()
    )

    def ask(**request):
        context = EvidenceContext(
            run_id="run",
            tool_call_id="call",
            reference_time=datetime(2026, 3, 13, tzinfo=UTC),
            zone=UTC,
            remaining_s=120,
            byte_budget=65_536,
        )
        return asyncio.run(tool.collect(tool.request.model_validate(request), context))

    ask()  # learns the shape
    return ask


def rg(day, *arguments):
    return subprocess.run(
        [ripgrep.program(), "--no-config", *arguments, str(day)], check=False, capture_output=True
    ).stdout


MANY = ["connection refused by 10.0.3.4", "库存同步完成 批次 0.99", "库存同步"]


@pytest.mark.parametrize("text", [RARE, *MANY])
def test_a_window_of_ten_minutes_with_a_text(day, query, text):
    pattern = WINDOW_PATTERN + text.replace(".", "\\.")
    matched = query(**WINDOW, contains=text).matched
    theirs, ours = costs(9, lambda: rg(day, pattern), lambda: query(**WINDOW, contains=text))
    print(f"\n10 minutes, {text!r}, {matched} records: rg {theirs}, query_logs {ours}")
    print(f"{theirs.wall / ours.wall:.1f} times as fast (at least 8)")
    assert theirs.wall / ours.wall >= 8


def test_a_window_of_ten_minutes_with_a_text_in_stack_traces_is_told(day, query):
    # ripgrep's expression finds none of them: their lines have no time
    text = "HikariPool-1"
    assert query(**WINDOW, contains=text).matched == 600
    theirs, ours = costs(9, lambda: rg(day, text), lambda: query(**WINDOW, contains=text))
    print(f"\n10 minutes, {text!r}, 600 records: query_logs {ours}; the text alone: rg {theirs}")


def test_a_full_scan_for_a_literal(day, query):
    theirs, ours = costs(7, lambda: rg(day, RARE), lambda: query(**DAY, contains=RARE))
    print(f"\nwhole day, {RARE!r}: rg {theirs}, query_logs {ours}")
    print(f"{ours.wall / theirs.wall:.2f} times rg (at most 2)")
    assert ours.wall / theirs.wall <= 2


@pytest.mark.parametrize("text", ["HikariPool-1", "库存同步"])
def test_a_full_scan_for_a_text_with_some_100000_matches_is_told(day, query, text):
    matched = query(**DAY, contains=text).matched
    theirs, ours = costs(3, lambda: rg(day, text), lambda: query(**DAY, contains=text))
    print(f"\nwhole day, {text!r}, {matched:,} records: rg {theirs}, query_logs {ours}")
    print(f"{ours.wall / theirs.wall:.2f} times rg (at most 2 where each line is a record)")
    assert matched == int(rg(day, "--count", text))
    assert text == "HikariPool-1" or ours.wall / theirs.wall <= 2


def test_templates_of_ten_minutes(query):
    [ours] = costs(3, lambda: query(**WINDOW, mode="templates"))
    print(f"\ntemplates of 10 minutes: {ours} (at most 3000)")
    assert ours.wall <= 3_000


def test_a_histogram_is_told(query):
    [minutes] = costs(3, lambda: query(**WINDOW, mode="histogram"))
    [day] = costs(1, lambda: query(**DAY, mode="histogram"))
    print(f"\nhistogram of 10 minutes: {minutes}, of the whole day: {day}")


def test_private_memory(query):
    before = private_mib()
    most = before
    for request in (
        {**WINDOW, "mode": "templates"},
        {**WINDOW, "contains": "needle"},
        {**DAY, "contains": "HikariPool-1", "context_lines": 10},
        {**DAY, "contains": "库存同步", "mode": "histogram"},
        {**DAY, "regex": "批次 0\\.99", "mode": "templates"},
    ):
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(query, **request)
            while not asked.done():
                most = max(most, private_mib())
                time.sleep(0.02)
            asked.result()
    print(f"\nprivate memory: {before:.0f} MiB before, at most {most:.0f} MiB (less than 300)")
    assert most < 300
