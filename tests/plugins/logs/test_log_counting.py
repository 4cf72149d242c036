"""Matches that are only counted are exactly those that would be found by reading each record."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnosis.plugin import EvidenceResult
from diagnosis_logs import ripgrep
from diagnosis_logs.candidates import RIPGREP_BYTES
from diagnosis_logs.reading import LINE_BYTES
from diagnosis_logs.request import LogQuery
from diagnosis_logs.tool import QueryLogs

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

BEGIN = datetime(2024, 5, 1, 10, tzinfo=UTC)
SAID = [b"pool timed out", b"POOL Timed Out", "库存不足".encode(), b"ok", b"k \xff\xe5", b"\0 pool"]
TEXTS = ["pool", "out", "库存", "ok", "k", "at frame", "line cut", "2024-05"]


def stamped(shape: str, moment: datetime) -> bytes:
    if shape == "json":
        return f'{{"ts":"{moment:%Y-%m-%dT%H:%M:%S}.{moment:%f}Z","level":"info","msg":"'.encode()
    return f"{moment:{shape}} INFO ".encode()


def content(seed: int, shape: str, *, most_lines: int = 2_300) -> bytes:
    """A log above the size that is read whole; its records have one line or many, of any length."""
    chance = random.Random(seed)
    at = BEGIN
    lines: list[bytes] = [b"\tat frame pool"] if chance.random() < 0.3 else []
    size = 0
    while size < 140_000:
        at += timedelta(milliseconds=chance.choice([0, 3, 1_000, 20_000]))
        shown = at - timedelta(seconds=chance.choice([0, 0, 4]))
        said = chance.choice(SAID)
        if chance.random() < 0.01:  # of a line that is cut, what is behind the cut is not searched
            said = b"x" * chance.choice([LINE_BYTES - 40, LINE_BYTES, 3 * LINE_BYTES]) + said
        end = b'"}' if shape == "json" else b"y" * chance.randrange(200)
        lines.append(stamped(shape, shown) + said + end)
        more = chance.choice(
            [0] * 12 + [1, 2, 9, 9, min(most_lines, chance.choice([1, 999, 1_002, 2_300]))]
        )
        blank = chance.choice([b"", b"\tat frame "])
        lines += [b"\tat frame " + chance.choice([b"", b"", blank, said]) for _ in range(more)]
        size += sum(map(len, lines[-more - 1 :]))
    end = chance.choice([b"\n", b"\r\n"])
    return end.join(lines) + chance.choice([b"", end])


def shown(found: EvidenceResult) -> list[tuple[Any, ...]]:
    names = ("timestamp", "level", "text", "line")
    return [tuple(item.fields[name] for name in names) for item in found.items]


def seen_alike(tool_of: Callable[..., QueryLogs], context: Any, folder: Path, query: Any) -> int:
    """Ask a plain file, and the same as a packed one, of which each record is read."""
    results = []
    for name in ("app.log", "app.log.gz"):
        tool = tool_of(folder / name)
        request = LogQuery.model_validate(query)
        pages = [asyncio.run(tool.collect(request, context))]
        for _ in range(1):
            if (cursor := pages[-1].scope.get("next_cursor")) is None:
                break
            request = request.model_copy(update={"cursor": cursor})
            pages.append(asyncio.run(tool.collect(request, context)))
        results.append([(page.matched, page.truncated, shown(page)) for page in pages])
    assert results[0] == results[1]
    matched = results[0][0][0]
    assert matched is not None
    assert all(page[0] == matched for page in results[0])
    return matched


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    seed=st.integers(0, 1_000_000),
    shape=st.sampled_from(["%Y-%m-%d %H:%M:%S.%f", "%d/%b/%Y:%H:%M:%S", "%b %d %H:%M:%S", "json"]),
    start=st.integers(-600, 4_000),
    length=st.integers(1, 9_000),
    text=st.sampled_from(TEXTS),
    limit=st.sampled_from([1, 2, 7, 200]),
)
def test_what_is_counted_is_what_reading_every_record_finds(
    tmp_path: Path,
    tool_of: Callable[..., QueryLogs],
    make_context: Callable[..., Any],
    seed: int,
    shape: str,
    start: int,
    length: int,
    text: str,
    limit: int,
) -> None:
    raw = content(seed, shape)
    (tmp_path / "app.log").write_bytes(raw)
    (tmp_path / "app.log.gz").write_bytes(gzip.compress(raw, 1))
    moment = datetime(2024, 6, 1, tzinfo=UTC).timestamp()
    for name in ("app.log", "app.log.gz"):
        os.utime(tmp_path / name, (moment, moment))
    begin = BEGIN + timedelta(seconds=start)
    until = begin + timedelta(seconds=length)
    query = {"start": begin.isoformat(), "end": until.isoformat(), "contains": text, "limit": limit}
    seen_alike(tool_of, make_context(byte_budget=1_000_000), tmp_path, query)


@pytest.mark.skipif(ripgrep.program() is None, reason="ripgrep is not installed")
async def test_what_ripgrep_finds_is_counted_alike(tmp_path: Path, write: Write, ask: Ask) -> None:
    day = content(5, "%Y-%m-%d %H:%M:%S.%f", most_lines=30)
    assert day.startswith(b"2024-05-01")
    packed = write("day.log.gz", day)
    days = 0
    with (tmp_path / "app.log").open("wb") as file:
        while file.tell() < RIPGREP_BYTES + 1_000_000:
            date = f"{BEGIN + timedelta(days=days):%Y-%m-%d}".encode()
            file.write(day.replace(b"2024-05-01", date).rstrip() + b"\n")
            days += 1
    for text in ("pool", "库存", "at frame", "line cut"):
        query = {"start": "2024-05-01", "end": "2026-05-01", "contains": text, "limit": 5}
        read = await ask(packed, **query)
        found = await ask(tmp_path / "app.log", **query)
        assert read.matched is not None
        assert found.matched == days * read.matched
        assert shown(found) == shown(read)
        assert (read.matched == 0) == (text == "line cut")


async def test_the_mark_of_a_cut_line_is_no_text_of_the_log(write: Write, ask: Ask) -> None:
    long = "2024-05-01 12:15:00 INFO begin " + "错" * 40_000
    own = "2024-05-01 12:15:01 INFO their tool said [line cut: 5 more bytes]"
    log = write("app.log", f"{long}\n\tat {'x' * 90_000}\n{own}\n")
    [item] = (await ask(log, contains="line cut:")).items
    assert item.fields["text"] == own
    assert (await ask(log, regex=r"more bytes\]$")).matched == 1
    assert (await ask(log, exclude="[line cut")).matched == 1
