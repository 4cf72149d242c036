"""Lines are put together to whole records, whatever the bytes are."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnosis.plugin import EvidenceResult, Truncation
from diagnosis_logs.opening import LogText, open_log
from diagnosis_logs.reading import BLOCK_BYTES, LINE_BYTES, Halt

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

TRACE = """\
2024-05-01 12:15:00,100 ERROR [http-1] c.e.Checkout - payment failed
java.lang.IllegalStateException: pool exhausted
    at com.example.Pool.take(Pool.java:42)

Caused by: java.net.ConnectException: Connection refused
    ... 12 more
2024-05-01 12:15:01,000 INFO [http-1] c.e.Checkout - next
"""


def lines_of(path: Path) -> list[str]:
    with open_log(path) as file:
        return [line for block in LogText(file).blocks(Halt()) for line in block]


def texts(result: EvidenceResult) -> list[object]:
    return [item.fields["text"] for item in result.items]


async def test_a_stack_trace_is_one_record_with_its_first_line(write: Write, ask: Ask) -> None:
    found = await ask(write("app.log", TRACE), contains="connection refused")
    [item] = found.items
    assert item.fields["text"] == TRACE.rsplit("\n2024", 1)[0]
    assert (item.fields["line"], item.fields["level"]) == (1, "ERROR")
    assert found.matched == 1
    assert (await ask(write("app.log", TRACE), contains="next")).items[0].fields["line"] == 7


async def test_the_text_is_the_line_as_it_stands_in_the_file(write: Write, ask: Ask) -> None:
    line = '{"timestamp":"2024-05-01T12:15:00Z","level":"error","message":"支付 \\"失败\\"\\t"}'
    found = await ask(write("app.log", f"{line}\r\n"))
    assert texts(found) == [line]
    assert "message" not in found.items[0].fields


async def test_chinese_text_is_found_and_kept(write: Write, ask: Ask) -> None:
    log = write("服务.log", "2024-05-01 12:15:00 ERROR 数据库连接池已耗尽，等待超时\n")
    found = await ask(log, contains="连接池已耗尽", regex="等待.时")
    assert texts(found) == ["2024-05-01 12:15:00 ERROR 数据库连接池已耗尽，等待超时"]
    assert found.items[0].fields["source"] == "服务.log"


async def test_bytes_that_are_no_utf8_are_replaced(write: Write, ask: Ask) -> None:
    log = write("app.log", b"2024-05-01 12:15:00 ERROR caf\xe9 \xff down\n")
    found = await ask(log, contains="down")
    assert texts(found) == ["2024-05-01 12:15:00 ERROR caf\ufffd \ufffd down"]
    json.dumps(found.model_dump(mode="json")).encode()


async def test_a_byte_order_mark_does_not_hide_the_first_record(write: Write, ask: Ask) -> None:
    found = await ask(write("app.log", b"\xef\xbb\xbf2024-05-01 12:15:00 INFO first\n"))
    assert texts(found) == ["2024-05-01 12:15:00 INFO first"]


async def test_a_very_long_line_is_cut_and_says_so(write: Write, ask: Ask) -> None:
    long = "2024-05-01 12:15:00 INFO begin " + "x" * 3_000_000
    log = write("app.log", f"{long}\n2024-05-01 12:15:01 INFO after\n")
    cut, after = lines_of(log)
    assert cut.startswith("2024-05-01 12:15:00 INFO begin xxx")
    assert cut.endswith(f" [line cut: {len(long) - LINE_BYTES:,} more bytes]")
    assert after == "2024-05-01 12:15:01 INFO after"
    found = await ask(log)
    assert [item.fields["line"] for item in found.items] == [1, 2]
    assert len(str(found.items[0].fields["text"])) < 5_000


async def test_every_line_of_an_endless_record_is_searched(write: Write, ask: Ask) -> None:
    frames = "".join(f"    at frame {number}\n" for number in range(9_000))
    log = write("app.log", f"2024-05-01 12:15:00 ERROR deep\n{frames}")
    [item] = (await ask(log, contains="at frame 8765\n")).items or (None,)
    assert item is not None
    assert str(item.fields["timestamp"]).startswith("2024-05-01T12:15:00")
    assert int(str(item.fields["line"])) <= 8_767


async def test_nul_bytes_far_inside_a_log_are_replaced(write: Write, ask: Ask) -> None:
    filler = "2024-05-01 12:15:00 INFO filler\n" * 20_000
    log = write("app.log", filler.encode() + b"2024-05-01 12:15:01 INFO torn\0\0page\n")
    assert texts(await ask(log, contains="torn")) == [
        "2024-05-01 12:15:01 INFO torn\ufffd\ufffdpage"
    ]


async def test_a_log_without_times_is_searched_whole_and_the_scope_says_so(
    write: Write, ask: Ask
) -> None:
    found = await ask(
        write("trace.txt", "Segmentation fault\nerror: core dumped\n"), contains="core"
    )
    [item] = found.items
    assert (item.fields["timestamp"], item.fields["line"]) == (None, 2)
    assert found.scope["sources"] == [
        {
            "source": "trace.txt",
            "first": None,
            "last": None,
            "searched": "whole: its lines carry no time",
        }
    ]


async def test_an_empty_log_is_no_evidence(write: Write, ask: Ask) -> None:
    found = await ask(write("app.log", ""))
    assert (found.items, found.matched, found.truncated) == ((), 0, None)


async def test_a_packed_log_reads_like_a_plain_one(write: Write, ask: Ask) -> None:
    found = await ask(write("app.log.1.gz", TRACE), contains="pool")
    assert [item.fields["line"] for item in found.items] == [1]
    assert found.items[0].fields["service"] == "app"


async def test_a_damaged_packed_log_brings_what_was_read_and_says_so(
    write: Write, ask: Ask
) -> None:
    lines = "".join(f"2024-05-01 12:15:00 INFO {number**7}\n" for number in range(90_000))
    log = write("app.log.gz", lines)
    log.write_bytes(log.read_bytes()[:-20_000])
    found = await ask(log)
    assert found.items
    assert (found.matched, found.truncated) == (None, Truncation.SCAN)
    assert "in part" in str(found.scope["sources"])


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(
        st.text(
            st.characters(exclude_characters="\n\r\0", exclude_categories=("Cs",)), max_size=40
        ),
        max_size=30,
    ),
    padding=st.integers(min_value=0, max_value=BLOCK_BYTES + 5),
)
def test_blocks_give_back_exactly_the_lines(
    tmp_path_factory: object, lines: list[str], padding: int
) -> None:
    folder = tmp_path_factory.mktemp("blocks")  # type: ignore[attr-defined] # pytest's own fixture
    path = folder / "app.log"
    content = ["x" * padding, *lines]
    path.write_bytes("".join(f"{line}\n" for line in content).encode())
    first, *rest = lines_of(path)
    assert rest == lines
    assert first.startswith("x" * min(padding, LINE_BYTES))


_BYTES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"2024-05-01 12:15:00 ERROR ",
            b"[Wed May 01 12:15:00 2024] [error] ",
            b"May  1 12:15:00 host app[1]: ",
            b'{"time":1714565700,"level":"error","service":"\\ud800","msg":"\\udfff"}',
            b'{"time":1e999,"level":[],"service":{}}',
            b"9999-12-31T23:59:59-23:59 far",
            b"0001-01-01T00:00:00Z zero",
            b"0000-00-00T00:00:00Z nothing",
            b"\n",
            b"\r\n",
            b"'\"[{(<|",
        ]
    ),
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    parts=st.lists(_BYTES, max_size=20), mode=st.sampled_from(["lines", "templates", "histogram"])
)
async def test_no_bytes_break_a_search(
    write: Write, ask: Ask, parts: list[bytes], mode: str
) -> None:
    content = b"2024-05-01 12:15:00 INFO begin\n" + b"".join(parts).replace(b"\0", b"")
    found = await ask(write("app.log", content), mode=mode, context_lines=2)
    assert found.items
    assert found.truncated is None
    assert len(json.dumps(found.model_dump(mode="json"), ensure_ascii=False).encode()) < 16_384
