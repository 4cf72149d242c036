"""Every shape of timestamp is understood as the instant it means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.plugin import EvidenceResult
from diagnosis_logs.shapes import RecordStarts, learn_shape
from diagnosis_logs.timestamps import from_instant, instant_of_epoch, iso, to_instant

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

MODIFIED = to_instant(datetime(2024, 6, 1, tzinfo=UTC))
PLUS_8 = timezone(timedelta(hours=8))


def time_of(line: str, zone: timezone = UTC, modified: int = MODIFIED) -> str | None:
    starts = RecordStarts(learn_shape([line]), zone, modified)
    found = starts.start(line)
    return None if found is None or found[0] is None else iso(found[0], UTC)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2024-01-02T03:04:05Z boot", "2024-01-02T03:04:05+00:00"),
        ("2024-01-02T03:04:05.678Z boot", "2024-01-02T03:04:05.678000+00:00"),
        ("2024-01-02T03:04:05,678 boot", "2024-01-02T03:04:05.678000+00:00"),
        ("2024-01-02T03:04:05.123456789+02:00 boot", "2024-01-02T01:04:05.123456+00:00"),
        ("2024-01-02 03:04:05 boot", "2024-01-02T03:04:05+00:00"),
        ("2024-01-02 03:04:05 +0800 boot", "2024-01-01T19:04:05+00:00"),
        ("2024-01-02 03:04:05-0530 boot", "2024-01-02T08:34:05+00:00"),
        ("2024-01-02 03:04:05.000 UTC [7] LOG: boot", "2024-01-02T03:04:05+00:00"),
        ("[2024-01-02 03:04:05,5] boot", "2024-01-02T03:04:05.500000+00:00"),
        ("[Sun Dec 04 04:47:44 2005] [notice] boot", "2005-12-04T04:47:44+00:00"),
        ("[Fri Sep 09 10:42:29.902022 2011] [core:error] boot", "2011-09-09T10:42:29.902022+00:00"),
        ('::1 - bob [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200', "2000-10-10T20:55:36Z"),
        ("10-Oct-2000 13:55:36.250 INFO [main] boot", "2000-10-10T13:55:36.250000+00:00"),
        ("Jun 14 15:16:01 combo sshd[1]: boot", "2023-06-14T15:16:01+00:00"),
        ("<34>May  4 15:16:01 combo sshd[1]: boot", "2024-05-04T15:16:01+00:00"),
        ("<165>1 2003-10-11T22:14:15.003Z host app - - - boot", "2003-10-11T22:14:15.003000+00:00"),
        ("081109 203615 148 INFO dfs: boot", "2008-11-09T20:36:15+00:00"),
        ("130215 20:36:15 [Note] boot", "2013-02-15T20:36:15+00:00"),
        ("130215  8:36:15 [Note] boot", "2013-02-15T08:36:15+00:00"),
        ("17/06/09 20:10:40 INFO boot", "2017-06-09T20:10:40+00:00"),
        ("2015-07-29 17:41:44,747 - INFO boot", "2015-07-29T17:41:44.747000+00:00"),
        ("2024/01/02 03:04:05 [error] 1#1: boot", "2024-01-02T03:04:05+00:00"),
        ("E0102 03:04:05.678901   12345 file.go:123] boot", "2024-01-02T03:04:05.678901+00:00"),
        ("a.log.1.2017-05-16_13:53:08 2017-05-16 00:00:00.008 1 INFO", "2017-05-16T00:00:00.008Z"),
        ("INFO 2024-01-02 03:04:05 boot", "2024-01-02T03:04:05+00:00"),
        ("time=2024-01-02T03:04:05Z level=error msg=boot", "2024-01-02T03:04:05+00:00"),
        ('ts="2024-01-02 03:04:05" level=error msg=boot', "2024-01-02T03:04:05+00:00"),
        ("1704164645.5 boot", "2024-01-02T03:04:05.500000+00:00"),
        ('{"timestamp": "2024-01-02T03:04:05.678Z"}', "2024-01-02T03:04:05.678000+00:00"),
        ('{"@timestamp": "2024-01-02 03:04:05"}', "2024-01-02T03:04:05+00:00"),
        ('{"Time": "02/Jan/2024:03:04:05 +0000"}', "2024-01-02T03:04:05+00:00"),
        ('{"ts": 1704164645}', "2024-01-02T03:04:05+00:00"),
        ('{"ts": 1704164645.25}', "2024-01-02T03:04:05.250000+00:00"),
        ('{"time": 1704164645678}', "2024-01-02T03:04:05.678000+00:00"),
        ('{"time": "1704164645678"}', "2024-01-02T03:04:05.678000+00:00"),
        ('{"t": 1704164645678901}', "2024-01-02T03:04:05.678901+00:00"),
        ("2016-12-31T23:59:60Z leap second", "2016-12-31T23:59:59+00:00"),
    ],
)  # fmt: skip
def test_a_line_begins_a_record_at_its_time(line: str, expected: str) -> None:
    found = time_of(line)
    assert found is not None
    assert datetime.fromisoformat(found) == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    "line",
    [
        "    at com.example.Order.pay(Order.java:42)",
        "Caused by: java.lang.IllegalStateException",
        "",
        "2024-13-45 03:04:05 no such day",
        "2024-02-30 03:04:05 no such day",
        "version 1.2.3.4",
        '{"message": "no time"}',
        '{"timestamp": true}',
        '{"timestamp": 5}',
        '{"timestamp": "yesterday"}',
        "[" * 5_000,
        '{"a":' * 50_000,
    ],
)
def test_a_line_without_a_possible_time_begins_no_record(line: str) -> None:
    assert time_of(line) is None


def test_a_time_without_a_zone_is_in_the_given_zone() -> None:
    assert time_of("2024-01-02 03:04:05 boot", PLUS_8) == "2024-01-01T19:04:05+00:00"
    assert time_of("2024-01-02 03:04:05Z boot", PLUS_8) == "2024-01-02T03:04:05+00:00"


async def test_the_configured_zone_of_the_logs_goes_before_the_run_s_zone(
    write: Write, ask: Ask
) -> None:
    log = write("app.log", "2024-05-01 20:15:00 INFO boot\n")
    found = await ask(log, settings={"zone": "Asia/Shanghai"})
    assert [item.fields["timestamp"] for item in found.items] == ["2024-05-01T12:15:00+00:00"]
    assert (await ask(log)).items == ()
    found = await ask(log, context={"hours": 8})
    assert [item.fields["timestamp"] for item in found.items] == ["2024-05-01T20:15:00+08:00"]


def years(lines: list[str], modified: datetime) -> list[str]:
    starts = RecordStarts(learn_shape(lines), UTC, to_instant(modified))
    found = [starts.start(line) for line in lines]
    return [from_instant(one[0], UTC).strftime("%Y-%m-%d") for one in found if one is not None]


def test_the_year_comes_from_the_file_s_time() -> None:
    lines = ["Jun 14 15:16:01 a b: c", "Jul 27 14:42:00 a b: c"]
    assert years(lines, datetime(2020, 7, 27, 15, tzinfo=UTC)) == ["2020-06-14", "2020-07-27"]
    assert years(lines, datetime(2021, 3, 1, tzinfo=UTC)) == ["2020-06-14", "2020-07-27"]


def test_the_year_turns_with_the_order_of_lines() -> None:
    lines = [
        "Dec 30 23:00:00 a b: c",
        "Jan  1 00:10:00 a b: c",
        "Dec 31 23:59:59 a b: late by a little",
        "Jan  2 00:00:00 a b: c",
    ]
    assert years(lines, datetime(2024, 1, 2, 1, tzinfo=UTC)) == [
        "2023-12-30",
        "2024-01-01",
        "2023-12-31",
        "2024-01-02",
    ]


def test_the_29th_of_february_is_of_a_leap_year() -> None:
    assert years(["Feb 29 10:00:00 a b: c"], datetime(2023, 5, 1, tzinfo=UTC)) == ["2020-02-29"]


def test_a_clock_slightly_ahead_of_the_file_s_time_is_not_a_year_ago() -> None:
    assert years(["Jun 14 15:16:01 a b: c"], datetime(2024, 6, 14, 9, tzinfo=UTC)) == ["2024-06-14"]


@pytest.mark.parametrize("number", [0, 5, 99_999_999, 1e23, float("inf")])
def test_a_number_of_no_plausible_size_is_no_time(number: float) -> None:
    with pytest.raises((ValueError, OverflowError)):
        instant_of_epoch(number)


def test_one_file_may_mix_shapes() -> None:
    lines = [
        "2024-01-02 03:04:05,100 INFO a",
        "[Tue Jan 02 03:04:06 2024] [error] b",
        '{"ts": 1704164647, "level": "warn"}',
        "    at c",
    ]
    starts = RecordStarts(learn_shape(lines), UTC, MODIFIED)
    found = [starts.start(line) for line in lines]
    assert [one and iso(one[0], UTC)[17:19] for one in found] == ["05", "06", "07", None]


def test_a_time_inside_a_trace_does_not_begin_a_record() -> None:
    lines = ["2024-01-02 03:04:05 ERROR failed"] * 20
    lines.append("  token issued at 2020-01-01 00:00:00 has expired")
    starts = RecordStarts(learn_shape(lines), UTC, MODIFIED)
    assert starts.start(lines[-1]) is None


SHAPES = [
    "%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:60", "%Y-%m-%d %H:%M", "%s",
    "%Y/%m/%d %I:%M:%S %p", "%Y年%m月%d日 %H:%M:%S", "%Y年%m月%d日 %H:%M:7秒", "%b %d %H:%M:%S",
    "%d/%b/%Y:%H:%M:%S +0800", "%a %b %d %H:%M:%S %Y", "%y/%m/%d %H:%M:%S", "%H:%M:%S,%f",
    "%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S CEST", "%Y-%m-%d %H:%M:%S CET", "%Y%m%d %H:%M:%S",
]  # fmt: skip


@given(
    shape=st.sampled_from(SHAPES),
    other=st.sampled_from(SHAPES),
    zone=st.sampled_from([UTC, PLUS_8, ZoneInfo("Europe/Berlin")]),
    begin=st.sampled_from(["2023-10-29T00:58", "2024-03-31T00:58", "2024-05-31T23:58"]),
    steps=st.lists(st.tuples(st.integers(-70, 70), st.booleans()), min_size=2, max_size=12),
)
def test_what_a_time_means_does_not_depend_on_the_times_before_it(
    shape: str, other: str, zone: tzinfo, begin: str, steps: list[tuple[int, bool]]
) -> None:
    moment = datetime.fromisoformat(begin).replace(tzinfo=UTC)
    lines = []
    for seconds, same in steps:
        moment += timedelta(seconds=seconds)
        lines.append(f"{moment.astimezone(zone):{shape if same else other}} said")
    learnt = learn_shape(lines)
    alone = [RecordStarts(learnt, zone, MODIFIED).instant(line) for line in lines]
    if not learnt.in_order_only:
        starts = RecordStarts(learnt, zone, MODIFIED)
        assert [starts.instant(line) for line in lines] == alone
