"""`query_logs` beside ripgrep on one day of log: 1 GiB, 7 million lines, measured in one run."""

import asyncio
import random
import statistics
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import diagnosis_logs
from diagnosis.plugin import EvidenceContext, PluginServices
from diagnosis_logs import ripgrep
from diagnosis_logs.settings import LogsSettings

LINES = 7_000_000
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
            f"trace_id={chance.getrandbits(64):016x}"
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
    yield path
    path.unlink()


def median_ms(action, turns):
    times = []
    for _ in range(turns):
        began = time.perf_counter()
        action()
        times.append((time.perf_counter() - began) * 1_000)
    return statistics.median(times)


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


@pytest.mark.parametrize("text", [RARE, "connection refused by 10.0.3.4", "库存同步完成 批次 0.99"])
def test_a_window_of_ten_minutes_with_a_text(day, query, text):
    pattern = WINDOW_PATTERN + text.replace(".", "\\.")
    theirs = median_ms(lambda: rg(day, pattern), 7)
    ours = median_ms(lambda: query(**WINDOW, contains=text), 7)
    print(f"\n10 minutes, {text!r}: rg {theirs:.1f} ms, query_logs {ours:.1f} ms")
    print(f"{theirs / ours:.1f} times as fast (at least 8)")
    assert theirs / ours >= 8


def test_a_full_scan_for_a_literal(day, query):
    theirs = median_ms(lambda: rg(day, RARE), 7)
    ours = median_ms(lambda: query(**DAY, contains=RARE), 7)
    print(f"\nwhole day, {RARE!r}: rg {theirs:.0f} ms, query_logs {ours:.0f} ms")
    print(f"{ours / theirs:.2f} times rg (at most 2)")
    assert ours / theirs <= 2


@pytest.mark.parametrize("text", ["HikariPool-1", "库存同步"])
def test_a_full_scan_for_a_text_with_some_100000_matches_is_told(day, query, text):
    theirs = median_ms(lambda: rg(day, text), 3)
    began = time.perf_counter()
    found = query(**DAY, contains=text)
    ours = (time.perf_counter() - began) * 1_000
    print(f"\nwhole day, {text!r}, {found.matched:,} records: rg {theirs:.0f}, ours {ours:.0f} ms")
    assert found.matched > 50_000


def test_templates_of_ten_minutes_and_memory(query):
    before = private_mib()
    ours = median_ms(lambda: query(**WINDOW, mode="templates"), 3)
    query(**DAY, contains="needle")
    grown = private_mib() - before
    print(f"\ntemplates of 10 minutes: {ours:.0f} ms (at most 3000); memory +{grown:.0f} MiB")
    assert ours <= 3_000
    assert grown < 300
