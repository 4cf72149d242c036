"""Years and dates that lines do not say, clocks that are turned, lines made to break a reader."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnosis_logs.fields import RecordFields
from diagnosis_logs.records import Record
from diagnosis_logs.shapes import RecordStarts, learn_shape
from diagnosis_logs.timestamps import from_instant, to_instant

MODIFIED = to_instant(datetime(2026, 12, 1, tzinfo=UTC))


def days(lines: list[str], modified: datetime, *, rehearse: bool) -> list[str]:
    starts = RecordStarts(learn_shape(lines), UTC, to_instant(modified))
    if rehearse:
        starts.rehearse([lines])
    found = [starts.start(line) for line in lines]
    return [
        from_instant(one[0], UTC).strftime("%Y-%m-%dT%H")
        for one in found
        if one is not None and one[0] is not None
    ]


def test_a_year_less_line_needs_no_other_line() -> None:
    lines = [
        f"{datetime(2025, 12, 20, tzinfo=UTC) + timedelta(days=day):%b %d} 10:00:00 h a: {day}"
        for day in range(40)
    ]
    shape = learn_shape(lines)
    assert not shape.in_order_only
    modified = to_instant(datetime(2026, 1, 29, tzinfo=UTC))
    starts = RecordStarts(shape, UTC, modified)
    in_order = [starts.start(line) for line in lines]
    for number in (39, 0, 20, 11, 12):
        alone = RecordStarts(shape, UTC, modified).instant(lines[number])
        assert alone is not None
        assert alone == (in_order[number] or (None,))[0]
    assert from_instant(alone, UTC) == datetime(2026, 1, 1, 10, tzinfo=UTC)


def test_a_year_less_file_of_three_years_is_read_in_order() -> None:
    first = datetime(2023, 10, 1, 10, tzinfo=UTC)
    moments = [first + timedelta(days=9 * number) for number in range(120)]
    lines = [f"{moment:%b %d %H:%M:%S} h a: x" for moment in moments]
    assert learn_shape(lines).in_order_only
    assert days(lines, moments[-1] + timedelta(hours=1), rehearse=True) == [
        f"{moment:%Y-%m-%dT%H}" for moment in moments
    ]


def test_clocks_without_a_date_end_on_the_file_s_day() -> None:
    moments = [datetime(2026, 11, 28, 20, tzinfo=UTC) + timedelta(hours=5 * n) for n in range(10)]
    lines = [f"{moment:%H:%M:%S}.123 [main] INFO x" for moment in moments]
    assert learn_shape(lines).in_order_only
    assert days(lines, moments[-1] + timedelta(seconds=2), rehearse=True) == [
        f"{moment:%Y-%m-%dT%H}" for moment in moments
    ]


@pytest.mark.parametrize("clock", ["02:30:00", "03:30:00"])
@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_a_clock_that_is_turned_breaks_nothing(day: str, clock: str) -> None:
    line = f"{day} {clock} x"
    starts = RecordStarts(learn_shape([line]), ZoneInfo("Europe/Berlin"), MODIFIED)
    assert starts.instant(line) is not None


@pytest.mark.parametrize(
    ("zone", "text", "hour"),
    [
        ("Asia/Shanghai", "CST", 2),
        ("America/Chicago", "CST", 16),
        ("UTC", "CST", 10),
        ("Asia/Shanghai", "MSK", 7),
        ("Asia/Shanghai", "UTC", 10),
        ("Europe/Berlin", "EST", 15),
        ("Asia/Kolkata", "IST", 4),
        ("UTC", "+08", 2),
    ],
)
def test_a_zone_s_name_is_the_configured_one_s_or_its_only_meaning(
    zone: str, text: str, hour: int
) -> None:
    space = "" if text.startswith("+") else " "
    line = f"2026-11-30 10:00:00{space}{text} [1] x"
    starts = RecordStarts(learn_shape([line]), ZoneInfo(zone), MODIFIED)
    instant = starts.instant(line)
    assert instant is not None
    assert from_instant(instant, UTC).hour == hour


def test_a_numeric_date_is_read_so_that_all_are_possible_and_near_each_other() -> None:
    def months(lines: list[str]) -> list[int]:
        starts = RecordStarts(learn_shape(lines), UTC, MODIFIED)
        found = [starts.instant(line) for line in lines]
        return [from_instant(instant, UTC).month for instant in found if instant is not None]

    assert months([f"0{day}/11/2026 10:00:00 x" for day in range(1, 6)]) == [11] * 5
    assert months([f"11/0{day}/2026 10:00:00 x" for day in range(1, 6)]) == [11] * 5
    assert months(["25/11/26 10:00:00 x", "05/11/26 10:00:00 x"]) == [11, 11]


def test_a_beginning_unlike_the_rest_does_not_hide_it() -> None:
    banner = [f"  ____ banner {number}" for number in range(280)]
    rest = [f"2026-11-30 10:00:{second:02d} INFO x" for second in range(60)] * 40
    shape = learn_shape([*banner, *rest])
    starts = RecordStarts(shape, UTC, MODIFIED)
    assert starts.instant(rest[0]) is not None
    assert starts.start(banner[0]) is None


def test_a_quoted_time_of_another_shape_in_a_trace_begins_no_record() -> None:
    lines = [
        line
        for number in range(60)
        for line in (
            f"2026-11-30 10:00:{number:02d},123 ERROR [main] failed",
            "com.example.X: failed",
            "\tat 2020-01-01 00:00:00",
        )
    ]
    lines.insert(31, "30/Nov/2020:10:00:00 +0000 is what the server said")
    starts = RecordStarts(learn_shape(lines), UTC, MODIFIED)
    assert starts.start(lines[31]) is None
    assert sum(starts.start(line) is not None for line in lines) == 60


LEARNED = (
    "2026-11-30 10:00:00,123 [main] ERROR x",
    '{"ts":"2026-11-30T10:00:00Z","level":"info","msg":"x"}',
    "time=2026-11-30T10:00:00Z level=info msg=x",
    "Nov 30 10:00:00 host app[1]: x",
    '::1 - - [30/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5',
    "a b c 2026-11-30 10:00:00 UTC LOG:  x",
    "2026-11-30T10:00:00Z stdout F x",
    "# Time: 2026-11-30T10:00:00Z",
    "no time",
)
UNITS = (
    " ", "1", "[", "(", '"', "=", "a=", 'a="', "\\", "{", '{"a":', "a ", "- ", "1 ", "/", ":",
    "<1>", "\x1b[1m", "[a] ", "12:", "2026-", "A", "错", "0/0/0/0/0 ", '" 2', "a: ", "\t", ".",
    "2026-11-30 ", '"ts":', "|", "2026-11-30T10:00:00Z stdout P ", "}", "error ", "0 errors ",
)  # fmt: skip


def read_all(learned: tuple[str, ...], line: str) -> None:
    for sample in ([*learned, line], [line], *([one] for one in learned)):
        shape = learn_shape(sample)
        starts = RecordStarts(shape, UTC, MODIFIED)
        start = starts.start(line)
        starts.instant(line)
        starts.offset(line)
        fields = RecordFields(shape, "file")
        record = Record(1, 0, line, start[1] if start else 0, start[2] if start else None)
        level = fields.level(record)
        fields.severity(record, level)
        assert fields.service(record).encode()
        fields.message(record)
        fields.more(record)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(st.sampled_from(LEARNED), st.sampled_from(UNITS), st.text(max_size=20)),
        max_size=12,
    )
)
def test_no_line_breaks_a_reader(parts: list[str]) -> None:
    read_all(LEARNED, "".join(parts).replace("\n", " "))
