"""Rotated sets: which files are one log, in what order, and that their records are the log's."""

from __future__ import annotations

import bz2
import gzip
import lzma
import resource
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnosis.plugin import EvidenceContext, EvidenceResult, Truncation
from diagnosis_logs.request import LogQuery
from diagnosis_logs.rotation import rotated
from diagnosis_logs.tool import QueryLogs

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

DAY = {"start": "2024-05-01T00:00:00Z", "end": "2024-05-02T00:00:00Z"}
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda raw: raw,
    ".gz": gzip.compress,
    ".zst": lambda raw: zstandard.ZstdCompressor().compress(raw),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize(
    ("base", "oldest_first"),
    [
        ("app.log", ["app.log.3.zst", "app.log.2.gz", "app.log.1", "app.log"]),
        ("app.log", ["app.log.10", "app.log.9", "app.log.0", "app.log"]),
        ("app.log", ["app.log-20260101", "app.log-20260102.gz", "app.log"]),
        ("app.log", ["app.log.2026-01-01", "app.log.2026-01-02", "app.log"]),
        ("app.log", ["app.log.2026-01-01_23-59-59", "app.log.2026-01-02_00-00-00"]),
        ("app.log", ["app-2026-01-01.log", "app-2026-01-02.log.xz", "app.log"]),
        ("app.log", ["app-2026-01.log", "app-2026-02.log"]),
        ("app.log", ["app.2026-01-01.0.log.gz", "app.2026-01-01.1.log.gz", "app.log"]),
        ("app.log", ["app_20260101.log", "app_20260102.log"]),
        ("app.log", ["2026-01-01-app.log", "2026-01-02-app.log"]),
        ("DATE.log", ["2026-01-01.log", "2026-01-02.log.gz"]),
        ("app.log", ["app.2.log", "app.1.log", "app.log"]),
        ("app.log", ["app.log.old", "app.log"]),
        ("messages", ["messages.2.gz", "messages.1", "messages"]),
        ("0.log", ["0.log.20260101-110000.gz", "0.log.20260101-120000", "0.log"]),
        ("access_log.txt", ["access_log.2026-01-01.txt", "access_log.2026-01-02.txt"]),
        ("u_ex.log", ["u_ex260101.log", "u_ex260102.log"]),
        ("api.log.INFO", ["api.log.INFO.20260101-120000.77", "api.log.INFO.20260102-120000.8"]),
    ],
)
def test_names_of_one_log(base: str, oldest_first: list[str]) -> None:
    names = {name for name in oldest_first if "." in name} | {base}
    found = [rotated(name, names) for name in oldest_first]
    assert {each.base for each in found} == {base}
    assert sorted(found, key=lambda each: each.order) == found


@pytest.mark.parametrize(
    "name",
    ["worker-1.log", "server.2.log", "10.0.0.1", "10.0.0.1.log", "lib-1.2.3", "order-20261301.log"],
)
def test_a_number_alone_makes_no_set(name: str) -> None:
    assert rotated(name, {name, "worker-2.log", "10.0.0.2"}).base == name


def lines(*minutes: int) -> str:
    return "".join(f"2024-05-01 12:{minute:02}:00 INFO event {minute}\n" for minute in minutes)


def shown(result: EvidenceResult) -> list[tuple[Any, ...]]:
    return [
        (i.fields["source"], i.fields.get("file"), i.fields["line"], i.fields["text"])
        for i in result.items
    ]


async def test_a_set_is_one_source_with_one_span(write: Write, ask: Ask, tmp_path: Path) -> None:
    for name, minutes in (("", (4, 5)), (".1", (2, 3)), (".2.gz", (1,)), (".3", (0,))):
        write(f"logs/app.log{name}", lines(*minutes))
    write("logs/other.log", lines(3))
    found = await ask(tmp_path / "logs", source="logs/app.log")
    assert shown(found) == [
        ("logs/app.log", "logs/app.log.3", 1, "2024-05-01 12:00:00 INFO event 0"),
        ("logs/app.log", "logs/app.log.2.gz", 1, "2024-05-01 12:01:00 INFO event 1"),
        ("logs/app.log", "logs/app.log.1", 1, "2024-05-01 12:02:00 INFO event 2"),
        ("logs/app.log", "logs/app.log.1", 2, "2024-05-01 12:03:00 INFO event 3"),
        ("logs/app.log", None, 1, "2024-05-01 12:04:00 INFO event 4"),
        ("logs/app.log", None, 2, "2024-05-01 12:05:00 INFO event 5"),
    ]
    assert found.scope["sources"] == [
        {
            "source": "logs/app.log",
            "first": "2024-05-01T12:00:00+00:00",
            "last": "2024-05-01T12:05:00+00:00",
        }
    ]
    assert len((await ask(tmp_path / "logs", source="app.log.1")).items) == 2
    assert [i.fields["service"] for i in found.items] == ["app"] * 6


async def test_numbers_may_count_the_other_way(write: Write, ask: Ask, tmp_path: Path) -> None:
    write("logs/app.log.1", lines(0))
    write("logs/app.log.2", "\tgoes on\n" + lines(1))
    write("logs/app.log.3", "\tand on\n" + lines(2))
    found = await ask(tmp_path / "logs")
    assert [str(i.fields["text"]).split("\n\t")[1:] for i in found.items] == [
        ["goes on"],
        ["and on"],
        [],
    ]


async def test_an_empty_live_file_and_header_lines_change_nothing(
    write: Write, ask: Ask, tmp_path: Path
) -> None:
    write("logs/app.log.2.gz", lines(0, 1))
    write("logs/app.log.1", lines(2))
    write("logs/app.log", "")
    found = await ask(tmp_path / "logs")
    assert (found.matched, found.truncated) == (3, None)
    assert "no time" not in str(found.scope["sources"])


async def test_a_file_that_is_packed_or_copied_at_the_moment_is_read_once(
    write: Write, ask: Ask, tmp_path: Path
) -> None:
    text = lines(*range(30))
    write("logs/app.log", text)
    write("logs/app.log.1", text[:-100])
    packed = gzip.compress(text.encode())
    (tmp_path / "logs/app.log.1.gz").write_bytes(packed[:-20])
    found = await ask(tmp_path / "logs")
    assert found.matched == 30
    assert found.truncated is None


async def test_two_logs_that_begin_alike_are_both_read(
    write: Write, ask: Ask, tmp_path: Path
) -> None:
    write("logs/app.log", lines(1, 2))
    write("logs/app.log.1", lines(1, 3))
    assert (await ask(tmp_path / "logs")).matched == 4


async def test_cursors_and_identities_outlive_a_rotation(
    write: Write,
    tool_of: Callable[..., QueryLogs],
    make_context: Callable[..., EvidenceContext],
    tmp_path: Path,
) -> None:
    """Also where the oldest file goes, and where all lines have one time."""
    same = "2024-05-01 12:10:00 INFO "
    write("logs/app.log.2", "2024-05-01 12:00:00 INFO oldest\n")
    write(
        "logs/app.log.1",
        "2024-05-01 12:09:00 INFO x\n" + "".join(f"{same}{n}\n" for n in (0, 1, 2)),
    )
    live = write("logs/app.log", "".join(f"{same}{n}\n" for n in (3, 4, 5)))
    tool = tool_of(tmp_path / "logs")

    async def page(cursor: object = None) -> EvidenceResult:
        request = LogQuery.model_validate({**DAY, "contains": same, "limit": 2, "cursor": cursor})
        return await tool.collect(request, make_context())

    first = await page()
    before = {i.identity for i in (await tool.collect(LogQuery(), make_context())).items}
    (tmp_path / "logs/app.log.1").rename(tmp_path / "logs/app.log.2")
    live.rename(tmp_path / "logs/app.log.1")
    write("logs/app.log", f"{same}6\n")
    after = {i.identity for i in (await tool.collect(LogQuery(), make_context())).items}
    assert len(before - after) == 1  # that of the line that is gone
    seen = [i.fields["text"] for i in first.items]
    cursor = first.scope.get("next_cursor")
    while cursor is not None:
        result = await page(cursor)
        seen += [i.fields["text"] for i in result.items]
        cursor = result.scope.get("next_cursor")
    assert seen == [f"{same}{n}" for n in range(7)]


RECORD = st.builds(
    lambda second, level, text, more: (second, f"{level} {text}", more),
    st.integers(0, 40_000),
    st.sampled_from(["INFO", "WARN", "ERROR", "DEBUG"]),
    st.sampled_from(["order 17 paid", "连接超时", "pool exhausted", "retry in 5 s", "naïve café"]),
    st.lists(st.sampled_from(["    at a.b.C(D.java:1)", "Caused by: x", "", "  详情"]), max_size=2),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    records=st.lists(RECORD, min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    endings=st.lists(st.sampled_from(sorted(PACK)), min_size=5, max_size=5),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "gb18030"]),
    mode=st.sampled_from(["lines", "templates", "histogram"]),
    filters=st.sampled_from([{}, {"contains": "超时"}, {"regex": "p[ao]"}, {"min_level": "WARN"}]),
)
async def test_a_set_split_anywhere_between_records_holds_the_records_of_the_whole(
    tmp_path: Path,
    ask: Ask,
    records: list[tuple[int, str, list[str]]],
    cuts: list[int],
    endings: list[str],
    encoding: str,
    mode: str,
    filters: dict[str, Any],
) -> None:
    start = datetime(2024, 5, 1, tzinfo=UTC)
    written = [
        f"{start + timedelta(seconds=second):%Y-%m-%d %H:%M:%S} {text}\n"
        + "".join(f"{line}\n" for line in more)
        for second, text, more in sorted(records)
    ]
    whole, split = tmp_path / "whole", tmp_path / "split"
    for folder in (whole, split):
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
    configured = {"encoding": "gb18030"} if encoding == "gb18030" else {}
    (whole / "app.log").write_bytes("".join(written).encode(encoding))
    edges = [0, *sorted({min(cut, len(written)) for cut in cuts} - {0, len(written)}), len(written)]
    parts = ["".join(written[a:b]) for a, b in pairwise(edges)]
    for number, (part, ending) in enumerate(zip(reversed(parts), endings, strict=False)):
        name = f"app.log.{number}{ending}" if number else f"app.log{ending}"
        (split / name).write_bytes(PACK[ending](part.encode(encoding)))
    answers = []
    for folder in (whole, split):
        found = await ask(
            settings={"sources": {"s": {"path": folder, **configured}}},
            mode=mode,
            limit=200,
            **DAY,
            **filters,
        )
        assert found.truncated is None
        answers.append(
            (
                found.matched,
                [
                    {k: v for k, v in i.fields.items() if k not in ("line", "file")}
                    for i in found.items
                ],
            )
        )
    assert answers[0] == answers[1]


async def test_a_set_of_more_files_than_may_be_open_is_said(
    write: Write, ask: Ask, tmp_path: Path
) -> None:
    for number in range(40):
        write(f"logs/app.log.{number}", lines(number))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (78, hard))
    try:
        found = await ask(tmp_path / "logs", **DAY)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (len(found.items), found.matched, found.truncated) == (39, None, Truncation.SCAN)
    assert "1 older files" in str(found.scope["files_left_out"])
