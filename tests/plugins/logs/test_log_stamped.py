"""Many lines read at once tell what each of them tells by itself, or nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis_logs.shapes import learn_shape
from diagnosis_logs.starts import RecordStarts

BERLIN = ZoneInfo("Europe/Berlin")
SHAPES = {
    "iso": "{:%Y-%m-%d %H:%M:%S.%f} INFO [app] said",
    "zulu": "{:%Y-%m-%dT%H:%M:%S}Z INFO said",
    "offset": "{:%Y-%m-%dT%H:%M:%S}+08:00 INFO said",
    "access": '10.0.0.1 - - [{:%d/%b/%Y:%H:%M:%S} +0000] "GET / HTTP/1.1" 200 5',
    "bracketed": "[{:%Y/%m/%d %H:%M:%S}] 错误 said",
}
OTHERS = [
    "",
    "\tat com.shop.Db.query(Db.java:42)",
    "2024-13-45 12:00:00.000 INFO impossible",
    "2024-05-01 12:00:60.000 INFO a leap second",
    "2024-05-01 12:00:61.000 INFO no second",
    "12:2024-05-01 12:00:00.000 INFO a colon before",
    "2024-05-01 12:00",
    "nul \0 2024-05-01",
    "x" * 70_000,
]


def starts_of(shape: str) -> RecordStarts:
    sample = [SHAPES[shape].format(datetime(2024, 5, 1, 12, n, tzinfo=UTC)) for n in range(50)]
    return RecordStarts(learn_shape(sample), BERLIN, 1 << 51)


def told_of(lines: list[str]) -> bytes:
    return b"\n".join(f"{at}:{line}".encode() for at, line in enumerate(lines))


@given(
    shape=st.sampled_from(sorted(SHAPES)),
    seconds=st.lists(st.integers(0, 40_000_000), min_size=1, max_size=40),
    others=st.lists(st.tuples(st.integers(0, 40), st.sampled_from(OTHERS)), max_size=2),
    said=st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\n\r")),
)
def test_lines_are_told_together_only_as_each_is_told(
    shape: str, seconds: list[int], others: list[tuple[int, str]], said: str
) -> None:
    starts = starts_of(shape)
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    lines = [
        SHAPES[shape].format(begin + timedelta(seconds=second, microseconds=second)) + said
        for second in seconds
    ]
    for at, other in others:
        lines.insert(at, other)
    assert starts.stamped is not None
    told = starts.stamped.told(told_of(lines))
    alone = [starts.start(line) for line in lines]
    if told is None:
        plain = not others and "\0" not in said
        assert not plain or any(len(line.encode()) > 65_000 for line in lines)
        return
    instants = [each[0] for each in alone if each is not None and each[0] is not None]
    assert told.lines == len(lines) == len(instants)
    assert told.earliest <= min(instants)
    assert max(instants) <= told.latest
    assert told.latest - told.earliest < max(instants) - min(instants) + 120_000_000


@pytest.mark.parametrize(
    "sample",
    [
        '{"ts":"2024-05-01T12:00:00Z","level":"info","msg":"x"}',
        "time=2024-05-01T12:00:00Z level=info msg=x",
        "May  1 12:00:00 host app[1]: no year",
        "12:00:00 INFO no date",
        "1714564800 INFO a count of seconds",
        "no time at all",
    ],
)
def test_where_more_than_a_stamp_decides_nothing_is_told_together(sample: str) -> None:
    assert RecordStarts(learn_shape([sample] * 50), UTC, 1 << 51).stamped is None
