"""Shapes whose records are more than one line with a time: the same answers in long files."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from diagnosis.plugin import EvidenceResult
from diagnosis_logs.seeking import SMALL_BYTES

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

FIRST = datetime(2026, 11, 30, 6, tzinfo=UTC)
RECORDS = 4_000
STEP = timedelta(seconds=5)


def level(number: int) -> str:
    return "error" if number % 10 == 0 else "info"


def pretty(number: int, at: datetime) -> str:
    data = {
        "level": level(number),
        "service": "pay",
        "msg": f"order {number} {{odd}}",
        "detail": {"sku": "a-1", "when": "2020-01-01T00:00:00Z"},
        "time": at.isoformat(),
    }
    return json.dumps(data, indent=2)


def in_array(number: int, at: datetime) -> str:
    lines = pretty(number, at).split("\n")
    return "\n".join(f"  {line}" for line in lines) + ","


def export(number: int, at: datetime) -> str:
    return (
        f"__CURSOR=s=7;i={number}\n__REALTIME_TIMESTAMP={int(at.timestamp() * 1e6)}\n"
        f"PRIORITY={3 if level(number) == 'error' else 6}\nSYSLOG_IDENTIFIER=pay\n"
        f"MESSAGE=order {number}\n"
    )


def row(number: int, at: datetime) -> str:
    return f'{number},{at.isoformat()},{level(number)},pay,"order {number}\nsaid ""no"", {number}"'


def halves(number: int, at: datetime) -> str:
    return f"pay\t{at:%Y-%m-%d}\t{number}\t{at:%H:%M:%S}\t{level(number)}\torder {number}"


def kubectl(number: int, at: datetime) -> str:
    head = f"{at:%Y-%m-%dT%H:%M:%S}"
    first = f"{head}.000000001Z {at:%Y-%m-%d %H:%M:%S},000 {level(number).upper()} order {number}"
    if level(number) == "info":
        return first
    return f"{first}\n{head}.000010001Z java.lang.X: no\n{head}.000020001Z \tat a.B.c(B.java:1)"


def journal(number: int, at: datetime) -> str:
    head = f"{at:%b %d %H:%M:%S} web1 pay[7]:"
    first = f"{head} {level(number)}: order {number}"
    return first if level(number) == "info" else f"{first}\n{head}         at a.B.c(B.java:1)"


def otlp(number: int, at: datetime) -> str:
    record = {
        "timeUnixNano": str(int(at.timestamp()) * 10**9),
        "severityText": level(number).upper(),
        "body": {"stringValue": f"order {number}"},
    }
    service = {"key": "service.name", "value": {"stringValue": "pay"}}
    return json.dumps({
        "resourceLogs": [
            {"resource": {"attributes": [service]}, "scopeLogs": [{"logRecords": [record]}]}
        ]
    })  # fmt: skip


def element(number: int, at: datetime) -> str:
    data = {
        "time": at.isoformat(),
        "level": level(number),
        "service": "pay",
        "msg": f"order {number}",
    }
    return ("[" if number == 0 else "") + json.dumps(data) + ","


def event(number: int, at: datetime) -> str:
    return (
        f'<Event xmlns="urn:e"><System><Provider Name="pay"/><EventID>7</EventID><Level>'
        f"{2 if level(number) == 'error' else 4}</Level><TimeCreated SystemTime='{at:%FT%TZ}'/>"
        f"</System><EventData><Data Name='said'>order {number}</Data></EventData></Event>"
    )


def element_of_lines(number: int, at: datetime) -> str:
    return (
        f"  <record>\n    <date>{at:%FT%T.000Z}</date>\n"
        f"    <level>{level(number).upper()}</level>\n"
        f"    <message>order {number} &lt;record&gt;</message>\n  </record>"
    )


def section(number: int, at: datetime) -> str:
    kind = 3 if level(number) == "error" else 1
    return (
        f'<![LOG[order {number}\nof pay]LOG]!><time="{at:%H:%M:%S}.000+000" date="{at:%m-%d-%Y}" '
        f'component="pay" type="{kind}" thread="7">'
    )


def extension(number: int, at: datetime) -> str:
    severity = 8 if level(number) == "error" else 1
    return f"CEF:0|Shop|pay|1|7|order {number}|{severity}|rt={int(at.timestamp())}000 src=10.0.0.1"


def tai64n(number: int, at: datetime) -> str:
    return f"@{(1 << 62) + 10 + int(at.timestamp()):x}00000000 {level(number)}: order {number}"


def plain(number: int, at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S},000 {level(number).upper():5} [main] order {number}\n  of pay"


CASES = {
    "pretty JSON": ("", pretty),
    "an array of objects": ("[\n", in_array),
    "an array of lines": ("", element),
    "journald's export": ("", export),
    "CSV": ("id,at,severity,service,message\n", row),
    "TSV with date and clock": ("app\tdate\tid\ttime\tlevel\ttext\n", halves),
    "kubectl's times": ("", kubectl),
    "traces in the journal": ("", journal),
    "OpenTelemetry": ("", otlp),
    "TAI64N": ("", tai64n),
    "events of XML": ("", event),
    "elements of lines": ('<?xml version="1.0"?>\n<log>\n', element_of_lines),
    "sections": ("", section),
    "extensions": ("", extension),
    "a long banner": ("\n".join(f"banner {line}" for line in range(1_500)) + "\n", plain),
}


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", CASES)
async def test_a_window_of_a_long_file(write: Write, ask: Ask, name: str, suffix: str) -> None:
    head, record = CASES[name]
    moments = [FIRST + number * STEP for number in range(RECORDS)]
    text = head + "\n".join(record(number, at) for number, at in enumerate(moments)) + "\n"
    assert len(text) > SMALL_BYTES
    log = write(f"app.log{suffix}", text, moments[-1])
    begin, end = 1_234, 1_334
    window = {"start": moments[begin].isoformat(), "end": moments[end].isoformat(), "limit": 200}
    budget = {"byte_budget": 1 << 20}

    found = await ask(log, context=budget, **window)
    assert found.matched == end - begin
    assert [str(item.fields["timestamp"]) for item in found.items] == [
        moment.isoformat() for moment in moments[begin:end]
    ]
    for number, item in enumerate(found.items, begin):
        lines = str(item.fields["text"])
        assert lines.lstrip("[") == record(number, moments[number]).lstrip("[").rstrip("\n")
        assert str(item.fields["level"]).lower() == level(number)
    [source] = found.scope["sources"]  # type: ignore[union-attr,misc]
    assert (source["first"], source["last"]) == (moments[0].isoformat(), moments[-1].isoformat())  # type: ignore[index,call-overload]

    errors = await ask(log, context=budget, min_level="ERROR", **window)
    assert errors.matched == sum(level(number) == "error" for number in range(begin, end))
    one = await ask(log, context=budget, contains="order 1300", **window)
    assert [item.fields["timestamp"] for item in one.items] == [moments[1300].isoformat()]
