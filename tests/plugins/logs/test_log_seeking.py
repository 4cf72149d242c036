"""Seeking and searching bytes find what reading every record finds."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnosis.plugin import EvidenceResult, Truncation
from diagnosis_logs.filters import text_filter
from diagnosis_logs.request import LogQuery
from diagnosis_logs.tool import QueryLogs

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

BEGIN = datetime(2024, 5, 1, 10, tzinfo=UTC)
WORDS = ["pool timed out", "Pool TIMED out", "库存不足", "ok", "Straße", "\x00torn", "tail\r"]


@st.composite
def logs(draw: st.DrawFn) -> tuple[bytes, list[tuple[datetime, str]]]:
    """A log above the size that is read whole, and its records."""
    chance = random.Random(draw(st.integers(0, 1_000_000)))
    stamp = draw(st.sampled_from(["%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%SZ", "%b %d %H:%M:%S"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    count = draw(st.integers(900, 1_400))
    disorder = draw(st.sampled_from([0, 0, 4]))
    records = []
    at = BEGIN
    for number in range(count):
        at += timedelta(seconds=chance.choice([0, 0, 1, 3, 20]))
        shown = at - timedelta(seconds=chance.randrange(disorder + 1))
        text = f"INFO {chance.choice(WORDS)} {number} {'x' * chance.randrange(300)}"
        more = [f"\tat frame {chance.choice(WORDS)}" for _ in range(chance.choice([0, 0, 0, 9]))]
        records.append((shown.replace(microsecond=0), end.join([text, *more])))
    whole = end.join(f"{shown:{stamp}} {text}" for shown, text in records)
    whole += draw(st.sampled_from(["", end]))
    return whole.encode(), records


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    log=logs(),
    start=st.integers(-600, 12_000),
    length=st.integers(1, 9_000),
    request_filter=st.sampled_from(
        [
            {},
            {"contains": "pool timed OUT"},
            {"contains": "库存"},
            {"contains": "strasse"},
            {"contains": "STRAßE"},
            {"regex": r"out \d+7\b"},
            {"regex": r"^\S+.*ok"},
            {"regex": r"frame ok\s"},
            {"exclude": "ok", "contains": "frame"},
        ]
    ),
)
def test_a_window_holds_exactly_the_records_of_its_time_that_pass(
    tmp_path: Path,
    tool_of: Callable[..., QueryLogs],
    make_context: Callable[..., Any],
    log: tuple[bytes, list[tuple[datetime, str]]],
    start: int,
    length: int,
    request_filter: dict[str, str],
) -> None:
    raw, records = log
    path = tmp_path / "app.log"
    path.write_bytes(raw)
    moment = datetime(2024, 6, 1, tzinfo=UTC).timestamp()
    os.utime(path, (moment, moment))
    begin = BEGIN + timedelta(seconds=start)
    until = begin + timedelta(seconds=length)
    tool = tool_of(path)
    request = LogQuery(start=begin.isoformat(), end=until.isoformat(), **request_filter)  # type: ignore[arg-type] - texts only
    found = asyncio.run(tool.collect(request, make_context()))
    test = text_filter(request)
    expected = 0
    for shown, text in records:
        read = text.replace("\r\n", "\n").replace("\0", "\ufffd").rstrip("\r")
        if begin <= shown < until and (test is None or test.passes(f"{shown} {read}")):
            expected += 1
    assert found.matched == expected
    assert "searched" not in str(found.scope["sources"])


async def test_a_file_that_is_not_in_order_is_read_whole_and_the_scope_says_so(
    write: Write, ask: Ask
) -> None:
    half = [f"2024-05-01 12:{n // 60:02}:{n % 60:02} INFO {'x' * 80} {n}\n" for n in range(1_500)]
    log = write("app.log", "".join(half[700:] + half[:700]))
    found = await ask(log, start="2024-05-01T12:01:00Z", end="2024-05-01T12:02:00Z")
    assert found.matched == 60
    assert "not in order of time" in str(found.scope["sources"])


async def test_a_rotated_set_is_one_stream(
    tmp_path: Path, tool_of: Callable[..., QueryLogs], make_context: Callable[..., Any]
) -> None:
    from diagnosis_logs.parts import link, open_part
    from diagnosis_logs.sources import LogFile

    old, new = tmp_path / "app.log.1", tmp_path / "app.log"
    old.write_text("2024-05-01 12:00:00 INFO a\n2024-05-01 12:10:00 ERROR b\n\tat one\n")
    new.write_text("\tat two\n2024-05-01 12:20:00 INFO c\n")
    from contextlib import ExitStack

    with ExitStack() as opened:
        parts = [
            open_part(LogFile("app.log", path, "app", in_folder=False), order, UTC, opened)
            for order, path in enumerate((old, new))
        ]
        link(parts, UTC)
        assert parts[0].after == ["\tat two"]


_TRUNCATOR = "import os,sys,time; time.sleep(float(sys.argv[2])); os.truncate(sys.argv[1], 50_000)"


@pytest.mark.parametrize("pause", ["0.0", "0.05", "0.3"])
async def test_a_file_truncated_by_another_process_while_it_is_read(
    write: Write, ask: Ask, pause: str
) -> None:
    lines = "".join(f"2024-05-01 12:15:00 INFO {n} {'x' * 100}\n" for n in range(300_000))
    log = write("app.log", lines)
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", _TRUNCATOR, str(log), pause)
    try:
        for _ in range(3):
            found = await ask(log, contains="INFO 2")
            assert found.items
            if found.matched is None:
                assert found.truncated is Truncation.SCAN
                assert "in part" in str(found.scope["sources"])
    finally:
        await other.wait()


@pytest.mark.parametrize("late_s", [11, 3_000])
async def test_a_few_late_lines_at_an_end_of_a_file_are_noticed(
    write: Write, ask: Ask, late_s: int
) -> None:
    """Where the samples of the middle tell nothing, the ends are read anyway."""
    moments = [BEGIN + timedelta(seconds=3 * number) for number in range(6_000)]
    for number in (5_900, 5_950):
        moments[number] -= timedelta(seconds=late_s)
    text = "".join(f"{at:%Y-%m-%d %H:%M:%S} INFO line {'x' * 60}\n" for at in moments)
    start, end = moments[5_900] - timedelta(seconds=1), moments[5_900] + timedelta(seconds=1)
    found = await ask(
        write("app.log", text, moments[-1]), start=start.isoformat(), end=end.isoformat()
    )
    assert found.matched == sum(start <= at < end for at in moments)
