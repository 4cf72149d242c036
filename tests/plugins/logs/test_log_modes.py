"""Lines, templates and histogram: what each shows, in which order, and how it goes on."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from diagnosis.plugin import EvidenceItem, EvidenceResult, QueryRejected, QueryRejection, Truncation
from diagnosis_logs.templates import template_of

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]


def shown(result: EvidenceResult, field: str) -> list[Any]:
    return [item.fields[field] for item in result.items]


async def every_page(ask: Ask, *paths: Path, **request: Any) -> list[EvidenceItem]:
    items: list[EvidenceItem] = []
    cursor = None
    while True:
        page = await ask(*paths, cursor=cursor, **request)
        items += page.items
        cursor = page.scope.get("next_cursor")
        assert (cursor is None) == (page.truncated is None)
        if cursor is None:
            return items
        assert page.items


# --- lines -----------------------------------------------------------------------------------


@pytest.fixture
def two_logs(write: Write) -> tuple[Path, Path]:
    """240 lines in two logs, many at the same time, not in order."""
    chance = random.Random(7)
    logs = []
    for name in ("a.log", "b.log"):
        seconds = sorted(chance.randrange(600) for _ in range(120))
        seconds[10], seconds[100] = seconds[100], seconds[10]
        lines = [
            f"2024-05-01 12:{10 + s // 60}:{s % 60:02} INFO {n}\n" for n, s in enumerate(seconds)
        ]
        logs.append(write(name, "".join(lines)))
    return logs[0], logs[1]


async def test_lines_of_all_sources_come_in_order_of_time(
    two_logs: tuple[Path, Path], ask: Ask
) -> None:
    found = await ask(*two_logs, limit=200)
    times = shown(found, "timestamp")
    assert times == sorted(times)
    assert {"a.log", "b.log"} == set(shown(found, "source"))
    assert found.matched == 240


@pytest.mark.parametrize(("limit", "byte_budget"), [(7, 16_384), (200, 4_000), (1, 16_384)])
async def test_the_cursor_covers_everything_exactly_once(
    two_logs: tuple[Path, Path], ask: Ask, limit: int, byte_budget: int
) -> None:
    items = await every_page(ask, *two_logs, limit=limit, context={"byte_budget": byte_budget})
    assert len(items) == 240
    assert len({item.identity for item in items}) == 240
    times = [item.fields["timestamp"] for item in items]
    assert times == sorted(times, key=str)


async def test_a_page_stays_within_the_byte_budget_and_says_bytes(
    two_logs: tuple[Path, Path], ask: Ask
) -> None:
    found = await ask(*two_logs, limit=200, context={"byte_budget": 4_000})
    assert found.truncated is Truncation.BYTES
    assert len(found.model_dump_json().encode()) < 6_000
    assert (await ask(*two_logs, limit=5)).truncated is Truncation.ITEMS


async def test_the_same_question_has_the_same_answer(two_logs: tuple[Path, Path], ask: Ask) -> None:
    for mode in ("lines", "templates", "histogram"):
        first = await ask(*two_logs, mode=mode, limit=9)
        second = await ask(*reversed(two_logs), mode=mode, limit=9)
        assert first == second


@pytest.mark.parametrize("cursor", ["x", "!!!", "WzFd", "bnVsbA", "e30", "A" * 400])
@pytest.mark.parametrize("mode", ["lines", "templates"])
async def test_a_bad_cursor_is_refused(write: Write, ask: Ask, mode: str, cursor: str) -> None:
    with pytest.raises(QueryRejected) as refused:
        await ask(write("app.log", "2024-05-01 12:10:00 INFO a\n"), mode=mode, cursor=cursor)
    assert refused.value.reason is QueryRejection.CURSOR_INVALID


async def test_a_cursor_belongs_to_its_request(two_logs: tuple[Path, Path], ask: Ask) -> None:
    cursor = (await ask(*two_logs, limit=3)).scope["next_cursor"]
    assert isinstance(cursor, str)
    assert len((await ask(*two_logs, limit=5, cursor=cursor)).items) == 5
    other: dict[str, Any]
    for other in ({"contains": "1"}, {"mode": "templates"}, {"start": "2024-05-01T12:12:00Z"}):
        with pytest.raises(QueryRejected) as refused:
            await ask(*two_logs, cursor=cursor, **other)
        assert refused.value.reason is QueryRejection.CURSOR_INVALID
    body = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    body[1] = str(body[1])
    forged = base64.urlsafe_b64encode(json.dumps(body).encode()).decode()
    with pytest.raises(QueryRejected):
        await ask(*two_logs, cursor=forged)


async def test_context_lines_stand_around_each_match(write: Write, ask: Ask) -> None:
    log = write(
        "app.log",
        "".join(f"2024-05-01 12:10:0{n} INFO line {n}\n  detail {n}\n" for n in range(6)),
    )
    found = await ask(log, regex="line [03]", context_lines=3)
    first, second = (item.fields for item in found.items)
    assert "before" not in first
    assert first["after"] == [
        "2024-05-01 12:10:01 INFO line 1",
        "  detail 1",
        "2024-05-01 12:10:02 INFO line 2",
    ]
    assert second["before"] == ["  detail 1", "2024-05-01 12:10:02 INFO line 2", "  detail 2"]
    assert found.matched == 2
    assert "after" not in (await ask(log, contains="line 5", context_lines=1)).items[0].fields


async def test_context_does_not_cross_from_one_file_into_the_next(write: Write, ask: Ask) -> None:
    a = write("a.log", "2024-05-01 12:10:00 INFO last of a\n")
    b = write("b.log", "2024-05-01 12:10:01 INFO first of b\n")
    for item in (await ask(a, b, context_lines=5)).items:
        assert "before" not in item.fields
        assert "after" not in item.fields


# --- templates -------------------------------------------------------------------------------

EARLIER = "2024-05-01 11:45:00 ERROR db pool exhausted after 10 ms\n"
WINDOW = """\
2024-05-01 12:05:00 INFO served /orders/1 to 10.0.0.1:8080
2024-05-01 12:06:00 INFO served /orders/22 to 10.0.0.2:9090
2024-05-01 12:07:00 ERROR db pool exhausted after 31 ms
2024-05-01 12:08:00 ERROR db pool exhausted after 35 ms
2024-05-01 12:09:00 ERROR no route to "inventory-7"
2024-05-01 12:10:00 WARN deploy 7f3a9c21b0 started
2024-05-01 12:11:00 INFO served /orders/333 to 10.0.0.3:80
"""


async def test_templates_come_worst_first_then_new_then_most_frequent(
    write: Write, ask: Ask
) -> None:
    found = await ask(write("app.log", EARLIER + WINDOW), mode="templates")
    assert [
        (i.fields["level"], i.fields["new_in_window"], i.fields["count"]) for i in found.items
    ] == [("ERROR", True, 1), ("ERROR", False, 2), ("WARN", True, 1), ("INFO", True, 3)]
    assert found.matched == 4
    assert found.scope["matched_lines"] == 7
    assert found.items[1].fields == {
        "count": 2,
        "level": "ERROR",
        "service": "app",
        "first": "2024-05-01T12:07:00+00:00",
        "last": "2024-05-01T12:08:00+00:00",
        "new_in_window": False,
        "example": "2024-05-01 12:07:00 ERROR db pool exhausted after 31 ms",
        "source": "app.log",
        "line": 4,
    }


async def test_a_template_has_one_identity_in_every_call_and_source(write: Write, ask: Ask) -> None:
    first = await ask(write("app.log", WINDOW), mode="templates", contains="pool")
    moved = await ask(write("app.log.1", EARLIER + WINDOW), mode="templates", min_level="ERROR")
    assert first.items[0].identity in {item.identity for item in moved.items}


async def test_the_template_cursor_covers_everything_exactly_once(write: Write, ask: Ask) -> None:
    words = ["ash", "birch", "cedar", "elm", "fir", "oak", "pine", "yew"]
    lines = [
        f"2024-05-01 12:05:00 INFO {a} {b}\n" * (n + 1) for a in words for n, b in enumerate(words)
    ]
    log = write("app.log", "".join(lines))
    items = await every_page(ask, log, mode="templates", limit=10)
    assert len({item.identity for item in items}) == len(items) == 64
    counts = [item.fields["count"] for item in items]
    assert counts == sorted(counts, key=lambda count: -int(str(count)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 5 ms", "took 1,234.5 ms"),
        ("user 7 from 10.0.0.1", "user 8 from 10.20.30.40"),
        ("to 10.0.0.1:80 ok", "to 10.0.0.9:8080 ok"),
        ("of 123e4567-e89b-12d3-a456-426614174000", "of 00000000-1111-2222-3333-444444444444"),
        ("req-38101a0b-2096-447d-96ea-a692162415ae", "req-c101a0b3-2096-447d-96ea-a692162415ae"),
        ("at 0x7ffe01", "at 0x1"),
        ("commit 7f3a9c21b0", "commit 00aa11bb22cc"),
        ("size 5", "size 67108864"),
        ('no file "a.txt"', 'no file "b c.txt"'),
        ("key 'alpha' missing", "key 'beta' missing"),
        ("blk_-123 moved", "blk_456 moved"),
        ("at Sun Jul 10 03:55:15 2005", "at Fri Jun 17 07:07:00 2005"),
    ],
)  # fmt: skip
def test_what_varies_is_masked(one: str, other: str) -> None:
    assert template_of(one, []) == template_of(other, [])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("VM Started", "VM Paused"),
        ('"GET /a/1 HTTP/1.1" 200', '"GET /a/2 HTTP/1.1" 500'),
        ("status: 200 len 5", "status: 503 len 5"),
        ("can't open the user's file", "can't read the user's file"),
        ("连接超时", "连接被拒绝"),
    ],
)
def test_what_tells_events_apart_is_kept(one: str, other: str) -> None:
    assert template_of(one, []) != template_of(other, [])


def test_records_with_other_exceptions_are_other_templates() -> None:
    one = template_of("request failed", ["java.io.IOException: closed", "  at a.B"])
    other = template_of(
        "request failed", ["x.PoolException: 5", "Caused by: java.io.IOException: y"]
    )
    assert one != other
    assert one == template_of("request failed", ["java.io.IOException: other", "  at c.D"])


# --- histogram -------------------------------------------------------------------------------


async def test_a_histogram_counts_by_bucket_and_level(write: Write, ask: Ask) -> None:
    found = await ask(write("app.log", EARLIER + WINDOW), mode="histogram", limit=6)
    assert [item.fields for item in found.items] == [
        {"bucket": "2024-05-01T12:05:00+00:00", "count": 5, "ERROR": 3, "INFO": 2},
        {"bucket": "2024-05-01T12:10:00+00:00", "count": 2, "WARN": 1, "INFO": 1},
    ]
    assert (found.scope["bucket_s"], found.scope["matched_lines"]) == (300, 7)
    assert (found.matched, found.truncated) == (2, None)


@pytest.mark.parametrize("limit", [1, 2, 13, 50, 200])
@pytest.mark.parametrize("start", ["2024-05-01T12:29:59.5Z", "2024-05-01T12:00Z", "1999-01-01"])
async def test_a_histogram_never_has_more_buckets_than_the_limit(
    write: Write, ask: Ask, limit: int, start: str
) -> None:
    lines = [f"2024-05-01 12:{n // 60:02}:{n % 60:02} x\n" for n in range(1_800)]
    found = await ask(write("app.log", "".join(lines)), mode="histogram", limit=limit, start=start)
    assert len(found.items) <= limit
    total = sum(int(str(item.fields["count"])) for item in found.items)
    assert total == found.scope["matched_lines"]
    assert all(item.fields["no_level"] == item.fields["count"] for item in found.items)


async def test_a_histogram_has_no_cursor(write: Write, ask: Ask) -> None:
    with pytest.raises(QueryRejected) as refused:
        await ask(write("app.log", WINDOW), mode="histogram", cursor="abc")
    assert refused.value.reason is QueryRejection.COMBINATION_NOT_ALLOWED
