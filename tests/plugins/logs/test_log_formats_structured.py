"""JSON lines: keys learned from their values; containers' lines: payloads read like other logs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from diagnosis.plugin import EvidenceResult
from diagnosis_logs.fields import RecordFields
from diagnosis_logs.keys import KeyNames
from diagnosis_logs.records import Record, read_records
from diagnosis_logs.shapes import RecordStarts, learn_shape
from diagnosis_logs.timestamps import iso, to_instant

MODIFIED = to_instant(datetime(2026, 12, 1, tzinfo=UTC))
AT = "2026-11-30T10:00:00+00:00"
EPOCH = 1_796_032_800

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]
Told = tuple[str | None, str | None, str, str]


def read(lines: list[str], names: KeyNames | None = None) -> list[tuple[Told, Record]]:
    shape = learn_shape(lines, names or KeyNames())
    starts = RecordStarts(shape, UTC, MODIFIED)
    fields = RecordFields(shape, "file")
    found: list[tuple[Told, Record]] = []
    for record in read_records([lines], starts):
        level = fields.level(record)
        severity = fields.severity(record, level)
        shown = level.name if level is not None else f"~{severity.name}" if severity else None
        time = None if record.instant is None else iso(record.instant, UTC)
        found.append(((time, shown, fields.service(record), fields.message(record)), record))
    return found


@pytest.mark.parametrize(
    ("data", "level", "service", "message"),
    [
        ({"time": AT, "level": "error", "msg": "no stock", "service": "a"},
         "ERROR", "a", "no stock"),
        ({"when": AT, "sev": 4, "what": "the disk fills"}, "WARN", "file", "the disk fills"),
        ({"@timestamp": AT, "log": {"level": "WARN"}, "service": {"name": "a"}, "message": "m"},
         "WARN", "a", "m"),
        ({"@timestamp": AT, "log.level": "ERROR", "service.name": "a", "message": "m"},
         "ERROR", "a", "m"),
        ({"name": "a", "hostname": "h", "pid": 7, "level": 50, "msg": "m", "time": AT, "v": 0},
         "ERROR", "a", "m"),
        ({"level": 30, "time": EPOCH * 1000, "pid": 7, "hostname": "h", "msg": "m"},
         "INFO", "file", "m"),
        ({"level": "info", "ts": EPOCH + 0.0, "caller": "x.go:1", "msg": "m"}, "INFO", "file", "m"),
        ({"asctime": "2026-11-30 10:00:00,000", "levelno": 40, "message": "m"},
         "ERROR", "file", "m"),
        ({"@t": AT, "@mt": "m {x}", "@l": "Fatal", "x": 1}, "FATAL", "file", "m {x}"),
        ({"t": {"$date": AT}, "s": "E", "c": "NETWORK", "id": 1, "ctx": "c", "msg": "m"},
         "ERROR", "file", "m"),
        ({"__REALTIME_TIMESTAMP": str(EPOCH * 10**6), "PRIORITY": "3", "MESSAGE": "m",
          "SYSLOG_IDENTIFIER": "sshd"}, "ERROR", "sshd", "m"),
        ({"version": "1.1", "host": "h", "short_message": "m", "timestamp": EPOCH, "level": 3},
         "ERROR", "file", "m"),
        ({"severity": "CRITICAL", "timestamp": AT, "textPayload": "m"}, "FATAL", "file", "m"),
        ({"timestamp": "2026-11-30 10:00:00.000 UTC", "error_severity": "ERROR", "message": "m"},
         "ERROR", "file", "m"),
        ({"timeUnixNano": str(EPOCH * 10**9), "severityNumber": 17, "body": "m",
          "resource": {"service.name": "a"}}, "ERROR", "a", "m"),
        ({"instant": AT, "level": 200, "level_name": "INFO", "message": "m"}, "INFO", "file", "m"),
        ({"@timestamp": AT, "level_value": 40000, "message": "m", "app": "a"}, "ERROR", "a", "m"),
        ({"time": AT, "status": 502, "path": "/pay"}, "~ERROR", "file", ""),
        ({"start_time": AT, "response_code": 404, "path": "/pay"}, "~WARN", "file", ""),
        ({"time": AT, "http": {"response": {"status_code": 200}}, "msg": "error page"},
         "~INFO", "file", "error page"),
        ({"ts": AT, "msg": "m", "exception": "java.io.IOException: x\n\tat a.B"},
         "~ERROR", "file", "m"),
        ({"ts": AT, "msg": "0 errors", "error": None, "failed": []}, None, "file", "0 errors"),
        ({"zeit": "30/Nov/2026:10:00:00 +0000", "stufe": "warning", "text": "m"},
         "WARN", "file", "m"),
        ({"clock": EPOCH, "svc": "a", "lvl": "D", "m": "m"}, "DEBUG", "a", "m"),
    ],
)  # fmt: skip
def test_keys_of_json_lines(
    data: dict[str, Any], level: str | None, service: str, message: str
) -> None:
    line = json.dumps(data)
    found = read([line] * 3)
    assert len(found) == 3
    time, *rest = found[0][0]
    assert time == AT
    assert rest[:2] == [level, service]
    assert rest[2].startswith(message)


def test_among_times_the_one_that_rises_with_the_lines_is_the_time() -> None:
    lines = [
        json.dumps({
            "born": f"19{99 - number}-01-01T00:00:00Z",
            "seen": f"2026-11-30T10:00:0{number}Z",
            "order": EPOCH + 97 * (number % 3),
        })
        for number in range(9)
    ]  # fmt: skip
    assert [told[0] for told, _ in read(lines)][-1] == "2026-11-30T10:00:08+00:00"


def test_configured_keys_go_before_what_is_learned() -> None:
    line = json.dumps({"time": "2020-01-01T00:00:00Z", "at": AT, "level": "info", "rank": "error",
                       "msg": "no", "detail": "yes", "service": "no", "unit": "yes"})  # fmt: skip
    names = KeyNames(time=("at",), level=("rank",), message=("detail",), service=("unit",))
    [(told, _)] = read([line], names)
    assert told == (AT, "ERROR", "yes", "yes")


def test_a_time_key_that_also_stands_in_a_text_is_not_mistaken() -> None:
    lines = [
        json.dumps({"outer": {"ts": "2001-01-01T00:00:00Z"}, "msg": '{"ts":"x"}', "ts": AT}),
        json.dumps({"msg": '"ts": "2002-01-01T00:00:00Z"', "ts": AT}),
    ]
    assert [told[0] for told, _ in read(lines)] == [AT, AT]


def test_a_trace_in_a_field_is_told_as_further_lines() -> None:
    trace = "java.io.IOException: x\n\tat a.B\nCaused by: java.net.SocketException: y"
    line = json.dumps({"ts": AT, "level": "error", "msg": "m", "stack_trace": trace})
    shape = learn_shape([line])
    record = Record(1, 0, line, 0, None)
    assert RecordFields(shape, "file").more(record) == trace.split("\n")


def test_json_after_a_text_prefix() -> None:
    lines = [
        '2026-11-30T10:00:00+00:00\tapp.web\t{"level":"error","message":"m","service":"a"}',
        'web_1  | {"level":"warn","time":"2026-11-30T10:00:00Z","msg":"n"}',
    ]
    assert [told for told, _ in read(lines)] == [
        (AT, "ERROR", "a", "m"),
        (AT, "WARN", "web_1", "n"),
    ]


def test_a_cut_json_line_still_has_its_time() -> None:
    lines = [json.dumps({"ts": AT, "level": "info", "msg": "m"})] * 3
    lines.append('{"ts": "2026-11-30T10:00:07Z", "level": "error", "msg": "xxx [line cut: 5]')
    assert read(lines)[-1][0][0] == "2026-11-30T10:00:07+00:00"


CRI = "2026-11-30T10:00:0{}.123456789Z {} {} {}"


def test_container_lines_hold_json_and_are_joined() -> None:
    lines = [
        CRI.format(0, "stdout", "F", '{"level":"error","msg":"failed","service":"a"}'),
        CRI.format(1, "stdout", "P", '{"level":"warn","msg":"a long '),
        CRI.format(1, "stdout", "P", "and longer "),
        CRI.format(1, "stdout", "F", 'line","service":"b"}'),
        CRI.format(2, "stderr", "F", "panic: out of memory"),
        CRI.format(3, "stdout", "F", '{"level":"info","msg":"ok","service":"a"}'),
    ]
    found = read(lines)
    assert [told[1:] for told, _ in found] == [
        ("ERROR", "a", "failed"),
        ("WARN", "b", "a long and longer line"),
        ("FATAL", "file", "panic: out of memory"),
        ("INFO", "a", "ok"),
    ]
    assert found[1][1].text == "\n".join(lines[1:4])


def test_container_lines_hold_traces() -> None:
    payloads = [
        "2026-11-30 10:00:00,123 [main] ERROR c.e.Foo - failed",
        "java.lang.IllegalStateException: no stock",
        "\tat com.example.Foo.take(Foo.java:42)",
        "Caused by: java.io.IOException: x",
        "2026-11-30 10:00:00,124 [main] INFO  c.e.Foo - next",
    ]
    lines = [CRI.format(0, "stderr", "F", payload) for payload in payloads]
    found = read(lines)
    assert [told[1] for told, _ in found] == ["ERROR", "INFO"]
    assert found[0][1].lines == lines[:4]


def test_container_lines_hold_klog_and_plain_text() -> None:
    lines = [
        CRI.format(0, "stderr", "F", "E1130 10:00:00.123456       1 reflector.go:138] failed"),
        CRI.format(1, "stderr", "F", "I1130 10:00:01.123456       1 reflector.go:138] ok"),
    ]
    assert [told[1] for told, _ in read(lines)] == ["ERROR", "INFO"]
    plain = [CRI.format(number, "stdout", "F", "hello") for number in range(3)]
    assert len(read(plain)) == 3


def test_docker_s_file_holds_text_or_json() -> None:
    def wrapped(text: str, stream: str = "stdout") -> str:
        return json.dumps(
            {"log": text, "stream": stream, "time": "2026-11-30T10:00:00.5Z"}, separators=(",", ":")
        )

    lines = [
        wrapped("2026-11-30 10:00:00,123 ERROR failed\n"),
        wrapped("\tat com.example.Foo\n"),
        wrapped('{"level":"warn","msg":"slow","service":"a"}\n', "stderr"),
        wrapped("2026-11-30 10:00:00,124 INFO half "),
        wrapped("and half\n"),
    ]
    found = read(lines)
    assert [told[1:3] for told, _ in found] == [("ERROR", "file"), ("WARN", "a"), ("INFO", "file")]
    assert found[2][0][3].endswith("half and half")
    assert found[0][0][0] == "2026-11-30T10:00:00.500+00:00"


async def test_the_setting_keys_goes_before_what_is_learned(write: Write, ask: Ask) -> None:
    log = write(
        "app.log",
        '{"time":"2020-01-01T00:00:00Z","at":"2024-05-01T12:15:00Z","rank":"error","unit":"pay"}\n',
    )
    keys = {"time": ["at"], "level": ["rank"], "service": ["unit"]}
    [item] = (await ask(log, settings={"keys": keys})).items
    assert item.fields["timestamp"] == "2024-05-01T12:15:00+00:00"
    assert (item.fields["level"], item.fields["service"]) == ("ERROR", "pay")
    assert (await ask(log)).items == ()


def test_what_a_container_wrote_at_once_without_a_level_goes_on() -> None:
    lines = [
        f"2026-11-30T10:00:{number:02}.{micros:06}000Z stdout F {text}"
        for number in range(20)
        for micros, text in (
            (1, f"ERROR order {number} failed"),
            (2, "java.lang.IllegalStateException: no stock"),
            (3, "\tat a.B.c(B.java:1)"),
            (900_000, f"INFO order {number} paid"),
        )
    ]
    starts = RecordStarts(learn_shape(lines), UTC, 0)
    records = list(read_records([lines], starts))
    assert [len(record.lines) for record in records] == [3, 1] * 20


def test_a_service_may_be_named_in_chinese() -> None:
    line = "2026-11-30 10:00:00.000  INFO [订单,5f0,7a1] 9 --- [main] c.x.Order : paid"
    fields = RecordFields(learn_shape([line]), "file")
    [record] = read_records([[line]], RecordStarts(learn_shape([line]), UTC, 0))
    assert fields.service(record) == "订单"
