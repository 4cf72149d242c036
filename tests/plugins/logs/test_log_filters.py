"""Each filter keeps what it says and nothing else; a bad one is refused with its reason."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from diagnosis.plugin import EvidenceResult, QueryRejected, QueryRejection, SourceNotFound
from diagnosis_logs.request import LogQuery

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

MODIFIED = datetime(2024, 5, 2, tzinfo=UTC)

PLAIN = """\
2024-05-01 12:10:00 DEBUG cache warm id=req-1
2024-05-01 12:11:00 INFO Listening on 8080
2024-05-01 12:12:00 WARN slow answer trace=4bf92f35 took 900 ms
2024-05-01 12:13:00 ERROR Timeout from inventory trace=4bf92f35
2024-05-01 12:14:00 FATAL out of memory trace=4bf92f3577
2024-05-01 12:15:00 payment failed without a level
2024-05-01 12:16:00 a plain remark
"""
JSON = """\
{"timestamp":"2024-05-01T12:17:00Z","level":"error","service":"Checkout","message":"declined"}
{"timestamp":"2024-05-01T12:18:00Z","level":30,"service":{"name":"cart"},"message":"added"}
"""


def lines(result: EvidenceResult) -> list[object]:
    return [item.fields["line"] for item in result.items]


@pytest.mark.parametrize(
    ("request_fields", "expected"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7]),
        ({"contains": "TIMEOUT from"}, [4]),
        ({"contains": "trace=4bf92f35"}, [3, 4, 5]),
        ({"contains": "1.2"}, []),
        ({"trace_id": "4bf92f35"}, [3, 4]),
        ({"trace_id": "4BF92F3577"}, [5]),
        ({"trace_id": "req"}, [1]),
        ({"exclude": "TRACE="}, [1, 2, 6, 7]),
        ({"regex": "took [0-9]+ ms"}, [3]),
        ({"regex": "timeout"}, []),
        ({"regex": "(?i)timeout"}, [4]),
        ({"regex": "^2024.*remark$"}, [7]),
        ({"min_level": "TRACE"}, [1, 2, 3, 4, 5, 6]),
        ({"min_level": "INFO"}, [2, 3, 4, 5, 6]),
        ({"min_level": "warning"}, [3, 4, 5, 6]),
        ({"min_level": "ERROR"}, [4, 5, 6]),
        ({"min_level": "critical"}, [5]),
        ({"contains": "trace", "exclude": "memory", "min_level": "ERROR"}, [4]),
        ({"service": "APP"}, [1, 2, 3, 4, 5, 6, 7]),
        ({"service": "ap"}, []),
        ({"contains": "", "regex": " ", "min_level": "", "start": ""}, [1, 2, 3, 4, 5, 6, 7]),
    ],
)  # fmt: skip
async def test_filters(
    write: Write, ask: Ask, request_fields: dict[str, Any], expected: list[int]
) -> None:
    found = await ask(write("app.log", PLAIN), **request_fields)
    assert lines(found) == expected
    assert found.matched == len(expected)
    assert found.truncated is None


async def test_level_and_service_come_from_json(write: Write, ask: Ask) -> None:
    log = write("app.log", JSON)
    found = await ask(log)
    assert [(i.fields["level"], i.fields["service"]) for i in found.items] == [
        ("ERROR", "Checkout"),
        ("INFO", "cart"),
    ]
    assert lines(await ask(log, service="checkout")) == [1]
    assert lines(await ask(log, min_level="ERROR")) == [1]


@pytest.mark.parametrize(
    ("line", "level", "service"),
    [
        ("[Wed May 01 12:15:00 2024] [notice] up", "INFO", "app"),
        ("[Wed May 01 12:15:00.123456 2024] [core:crit] [pid 1] up", "FATAL", "app"),
        ("2024/05/01 12:15:00 [emerg] 1#1: bind() failed", "FATAL", "app"),
        ("2024-05-01 12:15:00,100 [main] WARN  c.e.A - x", "WARN", "app"),
        ("2024-05-01 12:15:00,100 - ERROR [x:Y@1] - x", "ERROR", "app"),
        ("2024-05-01T12:15:00Z 7 [Warning] [MY-010068] [Server] x", "WARN", "app"),
        ("2024-05-01 12:15:00.000 UTC [77] FATAL:  the database is starting up", "FATAL", "app"),
        ("E0501 12:15:00.678901   12345 file.go:123] x", "ERROR", "app"),
        ("<11>May  1 12:15:00 host nginx[3]: x", "ERROR", "nginx"),
        ("May  1 12:15:00 host sshd(pam_unix)[3]: check pass", None, "sshd"),
        ("time=2024-05-01T12:15:00Z level=warning service=cart msg=x", "WARN", "cart"),
        ("INFO 2024-05-01 12:15:00 x", "INFO", "app"),
        ("2024-05-01 12:15:00 the error budget is fine", None, "app"),
        ("2024-05-01 12:15:00 /var/ERROR/x INFORMATION", "INFO", "app"),
        ("api.log.1 2024-05-01 12:15:00 1 INFO x", "INFO", "api"),
        ('{"time":1714565700,"severity":"WARNING","app":"pay","msg":"x"}', "WARN", "pay"),
        ('{"time":1714565700,"log":{"level":"Error"},"msg":"x"}', "ERROR", "app"),
        ('{"time":"2024-05-01T12:15:00Z","log":"ERROR no stock\\n"}', "ERROR", "app"),
        ('{"time":1714565700,"level":50,"msg":"x"}', "ERROR", "app"),
    ],
)  # fmt: skip
async def test_level_and_service_of_one_line(
    write: Write, ask: Ask, line: str, level: str | None, service: str
) -> None:
    [item] = (await ask(write("app.log.1", f"{line}\n", MODIFIED))).items
    assert (item.fields["level"], item.fields["service"]) == (level, service)


async def test_http_status_5xx_counts_as_an_error(write: Write, ask: Ask) -> None:
    log = write(
        "access.log",
        '10.0.0.1 - - [01/May/2024:12:15:00 +0000] "GET /pay HTTP/1.1" 200 5\n'
        '10.0.0.1 - - [01/May/2024:12:16:00 +0000] "GET /pay HTTP/1.1" 503 5\n',
    )
    assert lines(await ask(log, min_level="ERROR")) == [2]


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?=x)", r"(a)\1", "[z-a]", "*"])
async def test_a_pattern_that_is_none_is_refused(write: Write, ask: Ask, pattern: str) -> None:
    with pytest.raises(QueryRejected) as refused:
        await ask(write("app.log", PLAIN), regex=pattern)
    assert refused.value.reason is QueryRejection.PATTERN_INVALID


async def test_a_pattern_too_large_is_refused(write: Write, ask: Ask) -> None:
    with pytest.raises(QueryRejected) as refused:
        await ask(write("app.log", PLAIN), regex=r"((\pL{100}){100}){10}")
    assert refused.value.reason in {
        QueryRejection.PATTERN_TOO_EXPENSIVE,
        QueryRejection.PATTERN_INVALID,
    }


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}b", "(x+x+)+y"])
async def test_a_pattern_that_blows_up_elsewhere_is_quick_here(
    write: Write, ask: Ask, pattern: str
) -> None:
    log = write("app.log", "2024-05-01 12:15:00 INFO " + "a" * 20_000 + "x" * 20_000 + "!\n")
    began = time.monotonic()
    assert (await ask(log, regex=pattern)).matched == 0
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    "request_fields",
    [
        {"limit": 0},
        {"limit": 201},
        {"context_lines": 11},
        {"context_lines": -1},
        {"mode": "tail"},
        {"min_level": "LOUD"},
        {"contains": "x" * 501},
        {"path": "/etc/passwd"},
    ],
)
def test_a_request_out_of_bounds_is_no_request(request_fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LogQuery.model_validate(request_fields)


@pytest.mark.parametrize("name", ["/etc/passwd", "../app.log", "other.log", "app", "app.log/x"])
async def test_only_configured_sources_can_be_named(write: Write, ask: Ask, name: str) -> None:
    write("other.log", PLAIN)
    with pytest.raises(SourceNotFound):
        await ask(write("app.log", PLAIN), source=name)


def test_every_field_of_the_request_is_documented() -> None:
    properties = LogQuery.model_json_schema()["properties"]
    assert all(schema.get("description") for schema in properties.values())
