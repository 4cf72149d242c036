"""The time window: its edges, its defaults, and the scope that always names it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from diagnosis.plugin import EvidenceResult, QueryRejected, QueryRejection
from diagnosis_logs.tool import QueryLogs

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

LOG = """\
2024-05-01 11:59:59,999 INFO a
2024-05-01 12:00:00,000 INFO b
2024-05-01 12:15:00,000 INFO c
2024-05-01 12:29:59,999 INFO d
2024-05-01 12:30:00,000 INFO e
"""


def said(result: EvidenceResult) -> str:
    return "".join(str(item.fields["text"])[-1] for item in result.items)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, None, "bcd"),  # the 30 minutes before the reference time, 12:30
        ("2024-05-01T12:00:00Z", "2024-05-01T12:30:00Z", "bcd"),
        ("2024-05-01T12:00:00.001Z", "2024-05-01T12:30:00.001Z", "cde"),
        ("2024-05-01 12:15", None, "cd"),
        (None, "2024-05-01T12:15:00", "ab"),
        ("2024-05-01T20:15:00+08:00", "2024-05-01T20:20:00+08:00", "c"),
        ("2024-05-01", "2024-05-02", "abcde"),
        ("2024-05-02", "2024-05-03", ""),
        ("0001-01-01", "9999-12-31", "abcde"),
    ],
)
async def test_start_is_inclusive_and_end_exclusive(
    write: Write, ask: Ask, start: str | None, end: str | None, expected: str
) -> None:
    found = await ask(write("app.log", LOG), start=start, end=end)
    assert said(found) == expected
    assert found.matched == len(expected)


async def test_times_without_a_zone_are_in_the_run_s_zone(write: Write, ask: Ask) -> None:
    log = write("app.log", LOG.replace(" INFO", "Z INFO"))
    found = await ask(log, start="2024-05-01T20:15", context={"hours": 8})
    assert said(found) == "cd"
    assert found.scope["start"] == "2024-05-01T20:15:00+08:00"
    assert found.items[0].fields["timestamp"] == "2024-05-01T20:15:00+08:00"


@pytest.mark.parametrize("hours", [-12, 0, 8, 14])
@pytest.mark.parametrize("mode", ["lines", "templates", "histogram"])
async def test_all_of_time_is_a_window_in_every_zone(
    write: Write, ask: Ask, hours: int, mode: str
) -> None:
    log = write("app.log", LOG)
    window = {"start": "0001-01-01", "end": "9999-12-31T23:59:59"}
    found = await ask(log, mode=mode, context={"hours": hours}, **window)
    lines = found.scope.get("matched_lines", found.matched)
    assert lines == 5


@pytest.mark.parametrize(
    "text",
    ["now", "12:00", "2024-13-01", "17145657", "2024-05-01T25:00", "0001-01-01T00:00+14:00"],
)  # fmt: skip
@pytest.mark.parametrize("edge", ["start", "end"])
async def test_what_is_no_time_is_refused(write: Write, ask: Ask, edge: str, text: str) -> None:
    with pytest.raises(QueryRejected) as refused:
        await ask(write("app.log", LOG), **{edge: text})
    assert refused.value.reason is QueryRejection.TIME_INVALID


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"),
        ("2024-05-01T12:00:00Z", "2024-05-01T11:00:00Z"),
        ("2024-05-01T13:00:00Z", None),
    ],
)
async def test_a_window_that_ends_before_it_starts_is_refused(
    write: Write, ask: Ask, start: str, end: str | None
) -> None:
    with pytest.raises(QueryRejected) as refused:
        await ask(write("app.log", LOG), start=start, end=end)
    assert refused.value.reason is QueryRejection.WINDOW_INVALID


@pytest.mark.parametrize("mode", ["lines", "templates", "histogram"])
async def test_the_scope_names_window_filters_and_each_source_s_times(
    write: Write, ask: Ask, mode: str
) -> None:
    filters = {
        "service": "nobody",
        "min_level": "WARN",
        "contains": "X",
        "regex": "y",
        "exclude": "z",
        "trace_id": "t",
        "source": "app.log",
    }
    found = await ask(write("app.log", LOG), mode=mode, limit=7, **filters)
    assert found.items == ()
    assert (found.matched, found.truncated) == (0, None)
    expected: dict[str, Any] = {
        "start": "2024-05-01T12:00:00+00:00",
        "end": "2024-05-01T12:30:00+00:00",
        "mode": mode,
        "limit": 7,
        **filters,
        "sources": [
            {
                "source": "app.log",
                "first": "2024-05-01T11:59:59.999+00:00",
                "last": "2024-05-01T12:30:00+00:00",
            }
        ],
    }
    assert expected.items() <= found.scope.items()


async def test_many_sources_are_named_in_part_and_the_rest_counted(write: Write, ask: Ask) -> None:
    for number in range(30):
        day = "01" if number == 29 else "02"
        log = write(f"logs/{number:02}.log", f"2024-05-{day} 12:15:00 INFO x\n")
    found = await ask(log.parent)
    sources = found.scope["sources"]
    assert isinstance(sources, list)
    assert len(sources) == 20
    assert found.scope["more_sources"] == 10
    assert "logs/29.log" in str(sources)


def test_equal_requests_have_an_equal_normal_form(
    write: Write, tool_of: Callable[..., QueryLogs]
) -> None:
    tool = tool_of(write("app.log", LOG))

    def normal(**request: Any) -> object:
        return tool.normalise(tool.request.model_validate(request))

    assert normal(contains="Pool", limit=50) == normal(contains="pool", mode="lines")
    assert normal(start="2024-05-01T12:00:00Z") == normal(start="2024-05-01T20:00+08:00")
    assert normal(min_level="warning") == normal(min_level="WARN")
    assert normal(mode="templates", context_lines=3) == normal(mode="templates")
    assert normal(contains="pool") != normal(exclude="pool")
    assert normal(regex="A") != normal(regex="a")


async def test_the_last_time_of_all_logs(write: Write) -> None:
    from zoneinfo import ZoneInfo

    from diagnosis_logs import LogsSettings, latest_time

    plain = write("a.log", LOG + "Traceback\n  nothing with a time\n" * 20_000)
    packed = write("b.log.gz", "2024-05-01 12:30:00,001 INFO later\n")
    timeless = write("c.txt", "no time\n")
    assert latest_time(LogsSettings(paths=(plain,)), UTC) == datetime(
        2024, 5, 1, 12, 30, tzinfo=UTC
    )
    shanghai = ZoneInfo("Asia/Shanghai")
    latest = latest_time(LogsSettings(paths=(plain, packed, timeless)), shanghai)
    assert latest == datetime(2024, 5, 1, 12, 30, 0, 1_000, tzinfo=shanghai)
    assert latest is not None
    assert latest.utcoffset() == shanghai.utcoffset(latest)
    assert latest_time(LogsSettings(paths=(timeless,)), UTC) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2024-05-01T12:30:00+01:00 ERROR x", "2024-05-01T12:30:00+01:00"),
        ("2024-05-01 12:30:00,500 -0330 ERROR x", "2024-05-01T12:30:00.500000-03:30"),
        ("2024-05-01T12:30:00Z ERROR x", "2024-05-01T12:30:00+00:00"),
        ('10.0.0.1 - - [01/May/2024:12:30:00 +0200] "GET / HTTP/1.1"', "2024-05-01T12:30:00+02:00"),
        ('{"time": "2024-05-01T12:30:00+02:00", "msg": "x"}', "2024-05-01T12:30:00+02:00"),
        ("2024-05-01 12:30:00 ERROR x", "2024-05-01T12:30:00+08:00"),
        ('{"time": 1714537800, "msg": "x"}', "2024-05-01T12:30:00+08:00"),
    ],
)
def test_the_last_time_has_the_offset_that_its_line_shows(
    write: Write, line: str, expected: str
) -> None:
    from zoneinfo import ZoneInfo

    from diagnosis_logs import LogsSettings, latest_time

    log = write("a.log", f"{line}\n    at a.b.c\n")
    earlier = write("b.log", "2024-04-01T12:30:00-07:00 INFO before\n")
    latest = latest_time(LogsSettings(paths=(log, earlier)), ZoneInfo("Asia/Shanghai"))
    assert latest is not None
    assert latest.isoformat() == expected
