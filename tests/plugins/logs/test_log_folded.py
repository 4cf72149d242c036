"""Files that hold several records a line: each is one of its own, from the first to the last."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from diagnosis.plugin import EvidenceItem, EvidenceResult
from diagnosis_logs.folded import Unfolded, folding_of

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

FIRST = datetime(2026, 11, 30, 6, tzinfo=UTC)
RECORDS = 900
WHOLE: dict[str, Any] = {
    "start": FIRST.isoformat(),
    "end": (FIRST + timedelta(hours=1)).isoformat(),
    "context": {"byte_budget": 1 << 20},
}


def record(number: int) -> dict[str, Any]:
    return {
        "eventTime": (FIRST + timedelta(seconds=number)).isoformat(),
        "level": "ERROR" if number % 9 == 0 else "INFO",
        "service": f"s{number % 3}",
        "message": f'order {number}: "{{[,]}}" \\ 订单, [{{"a":1}},{{"b":2}}]',
        "tags": [{"k": "a"}, {"k": "b"}],
        "pad": "x" * 200,
    }


RECORDS_OF_ALL = [record(number) for number in range(RECORDS)]


def dumped(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)


def batch(records: list[dict[str, Any]]) -> dict[str, Any]:
    """As OpenTelemetry writes them: those of one service together, three arrays deep."""
    services = sorted({each["service"] for each in records})
    return {
        "resourceLogs": [
            {
                "resource": {
                    "attributes": [{"key": "service.name", "value": {"stringValue": service}}]
                },
                "scopeLogs": [
                    {
                        "scope": {"name": "x"},
                        "logRecords": [
                            {
                                "timeUnixNano": str(
                                    int(datetime.fromisoformat(each["eventTime"]).timestamp())
                                    * 10**9
                                ),
                                "severityText": each["level"],
                                "body": {"stringValue": each["message"]},
                                "attributes": [
                                    {"key": "a", "value": {"stringValue": "1"}},
                                    {"key": "b", "value": {"stringValue": "2"}},
                                ],
                            }
                            for each in records
                            if each["service"] == service
                        ],
                    }
                ],
            }
            for service in services
        ]
    }


def in_batches(of: Callable[[list[dict[str, Any]]], Any]) -> str:
    return "".join(
        dumped(of(RECORDS_OF_ALL[begin : begin + 60])) + "\n" for begin in range(0, RECORDS, 60)
    )


TEXTS = {
    "one object": dumped({"Records": RECORDS_OF_ALL}),
    "compact": json.dumps({"records": RECORDS_OF_ALL}, separators=(",", ":")) + "\n",
    "an array": dumped(RECORDS_OF_ALL) + "\n",
    "deep": dumped({"took": 3, "hits": {"total": {"value": 9}, "hits": RECORDS_OF_ALL}}),
    "more behind": dumped({"events": RECORDS_OF_ALL, "nextToken": "x", "count": RECORDS}),
    "a batch a line": in_batches(lambda records: {"records": records}),
    "OpenTelemetry": in_batches(batch),
    "OpenTelemetry in one line": dumped(batch(RECORDS_OF_ALL)),
}


def moments(items: list[EvidenceItem]) -> list[str]:
    return [str(item.fields["timestamp"]) for item in items]


async def all_pages(ask: Ask, log: Path, **request: Any) -> list[EvidenceItem]:
    items: list[EvidenceItem] = []
    cursor: str | None = None
    while True:
        found = await ask(log, limit=70, cursor=cursor, **{**WHOLE, **request})
        items += found.items
        cursor = found.scope.get("next_cursor")  # type: ignore[assignment]
        if cursor is None:
            return items


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", TEXTS)
async def test_each_record_of_a_folded_file_is_found_once(
    write: Write, ask: Ask, name: str, suffix: str
) -> None:
    log = write(f"trail.json{suffix}", TEXTS[name], FIRST + timedelta(hours=2))
    items = await all_pages(ask, log)
    assert moments(items) == [each["eventTime"] for each in RECORDS_OF_ALL]
    assert [item.fields["level"] for item in items] == [each["level"] for each in RECORDS_OF_ALL]
    assert [item.fields["service"] for item in items] == [
        each["service"] for each in RECORDS_OF_ALL
    ]
    assert len({item.identity for item in items}) == RECORDS
    for each, item in zip(RECORDS_OF_ALL, items, strict=True):
        assert json.dumps(each["message"], ensure_ascii=False) in str(item.fields["text"]) or (
            json.dumps(each["message"]) in str(item.fields["text"])
        )
    told = await ask(log, mode="histogram", **WHOLE)
    assert sum(int(str(item.fields["count"])) for item in told.items) == RECORDS
    assert sum(int(str(item.fields.get("ERROR", 0))) for item in told.items) == RECORDS // 9
    one = await ask(log, contains="order 777:", **WHOLE)
    assert moments(list(one.items)) == [RECORDS_OF_ALL[777]["eventTime"]]


@pytest.mark.parametrize("encoding", ["utf-16", "gb18030"])
async def test_a_folded_file_of_another_encoding(write: Write, ask: Ask, encoding: str) -> None:
    log = write("trail.json", TEXTS["one object"].encode(encoding), FIRST + timedelta(hours=2))
    items = await all_pages(ask, log)
    assert moments(items) == [each["eventTime"] for each in RECORDS_OF_ALL]
    assert "订单" in str(items[5].fields["text"])


async def test_the_neighbours_of_a_record_are_records(write: Write, ask: Ask) -> None:
    log = write("trail.json", TEXTS["one object"], FIRST + timedelta(hours=2))
    [item] = (await ask(log, contains="order 500:", context_lines=1, **WHOLE)).items
    [before], [after] = item.fields["before"], item.fields["after"]  # type: ignore[misc]
    assert ("order 499:" in str(before), "order 501:" in str(after)) == (True, True)


async def test_a_file_that_is_torn_keeps_its_whole_records(write: Write, ask: Ask) -> None:
    text = TEXTS["one object"]
    log = write("trail.json", text[: len(text) // 2], FIRST + timedelta(hours=2))
    items = await all_pages(ask, log)
    assert 400 < len(items) < 460
    assert moments(items) == [each["eventTime"] for each in RECORDS_OF_ALL[: len(items)]]


@pytest.mark.parametrize(
    "line",
    [
        dumped({"time": "2026-11-30T06:00:00Z", "steps": [record(1), record(2)]}),
        dumped({"tags": [{"a": 1}, {"a": 2}]}),
        dumped([[1, 2], [3, 4]]),
        dumped({"Records": [record(1)]}),
        "[main] started [{" + "x" * 99,
        "[" * 100_000 + "{",
        '{"a":' * 10_000,
        '{"Records":[{"eventTime":"2026-11-30T06:00:00Z"',
        "",
    ],
)
def test_what_tells_one_time_is_not_unfolded(line: str) -> None:
    assert folding_of(line) is None


class _Pieces:
    """Gives bytes in pieces of one size, however many are asked for."""

    def __init__(self, raw: bytes, size: int) -> None:
        self._raw = raw
        self._size = size

    def read(self, size: int, /) -> bytes:
        del size
        piece, self._raw = self._raw[: self._size], self._raw[self._size :]
        return piece


def all_of(stream: Unfolded) -> bytes:
    pieces = []
    while piece := stream.read(1):
        pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.parametrize("size", [1, 2, 7, 64, 4_096])
@pytest.mark.parametrize("name", ["one object", "a batch a line", "OpenTelemetry"])
def test_where_a_reading_ends_makes_no_difference(name: str, size: int) -> None:
    text = TEXTS[name][:30_000]
    folding = folding_of(text)
    assert folding is not None
    whole = all_of(Unfolded(_Pieces(text.encode(), 1 << 20), folding))
    assert all_of(Unfolded(_Pieces(text.encode(), size), folding)) == whole
    assert whole.count(b"\n") > 20
    if name != "OpenTelemetry":
        assert whole.replace(b"\n", b"") == text.encode().replace(b"\n", b"")


def event(number: int) -> str:
    at = FIRST + timedelta(seconds=number)
    return (
        f"<Event xmlns='u'><System><Provider Name='pay'/><EventID>7</EventID><Level>"
        f"{2 if number % 9 == 0 else 4}</Level><TimeCreated SystemTime='{at:%FT%TZ}'/></System>"
        f"<EventData><Data>order {number} &lt;Event&gt;</Data><Data>x</Data></EventData></Event>"
    )


EVENTS = [event(number) for number in range(RECORDS)]


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    "text",
    [
        "".join(EVENTS),
        " ".join(EVENTS) + "\n",
        "<Events>" + "".join(EVENTS) + "</Events>\n",
        '<?xml version="1.0"?>\n<Events>' + "".join(EVENTS) + "</Events>",
    ],
)
async def test_events_of_one_line_are_found_each(
    write: Write, ask: Ask, text: str, suffix: str
) -> None:
    log = write(f"system.xml{suffix}", text, FIRST + timedelta(hours=2))
    items = await all_pages(ask, log)
    assert moments(items) == [each["eventTime"] for each in RECORDS_OF_ALL]
    assert [item.fields["level"] for item in items] == [each["level"] for each in RECORDS_OF_ALL]
    assert {item.fields["service"] for item in items} == {"pay"}


@pytest.mark.parametrize("size", [1, 3, 50, 4_096])
def test_where_a_reading_of_events_ends_makes_no_difference(size: int) -> None:
    text = "<Events>" + "".join(EVENTS[:40]) + "</Events>"
    folding = folding_of(text)
    assert folding is not None
    lines = all_of(Unfolded(_Pieces(text.encode(), size), folding)).decode().split("\n")
    assert lines == ["<Events>", *EVENTS[:39], EVENTS[39] + "</Events>"]


@pytest.mark.parametrize(
    "line", [EVENTS[0], "<a><b/><b/></a>", "<34>1 2026-11-30T06:00:00Z h app - - - x", "<html><p>"]
)
def test_one_element_is_not_unfolded(line: str) -> None:
    assert folding_of(line) is None
