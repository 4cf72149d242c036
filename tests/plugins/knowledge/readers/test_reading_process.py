"""Hostile documents end with a reason, in bounded time and memory, and take nothing with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from diagnosis_knowledge.readers.kinds import Kind
from diagnosis_knowledge.readers.process import ReadingProcess
from diagnosis_knowledge.readers.sections import DocumentUnreadable


@pytest.fixture
def process() -> Iterator[ReadingProcess]:
    with ReadingProcess() as started:
        yield started


def text_of(process: ReadingProcess, kind: Kind, content: bytes) -> str:
    extract = process.read(kind, content)
    return "\n".join(block.text for section in extract.sections for block in section.blocks)


def test_documents_are_read_one_after_the_other(process: ReadingProcess, pdf: Any) -> None:
    for _ in range(2):
        assert text_of(process, Kind.HTML, "<p>磁盘</p>".encode()) == "磁盘"
        assert text_of(process, Kind.RST, b"*a*") == "a"
        assert text_of(process, Kind.PDF, bytes(pdf([["page"]]))) == "page"


def stream_pdf(stream: bytes, filters: str = "/FlateDecode") -> bytes:
    """A page whose content is this stream."""
    return (
        b"%%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
        b"2 0 obj\n<< /Type /Pages /Count 1 /Kids [3 0 R] >>\nendobj\n"
        b"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
        b" >> >> >>\nendobj\n"
        b"4 0 obj\n<< /Length %d /Filter %s >>\nstream\n%s\nendstream\nendobj\n"
        b"trailer << /Root 1 0 R >>\n%%%%EOF\n" % (len(stream), filters.encode(), stream)
    )


def bomb() -> bytes:
    """A gibibyte in a few kilobytes: packed zeroes, packed again."""
    packer = zlib.compressobj(9)
    once = b"".join(packer.compress(b"\0" * 2**20) for _ in range(1024)) + packer.flush()
    return stream_pdf(zlib.compress(once, 9), "[/FlateDecode /FlateDecode]")


HOSTILE: dict[str, tuple[Kind, Callable[[], bytes], str]] = {
    "a bomb": (Kind.PDF, bomb, ""),
    "pages that are their own parents": (
        Kind.PDF,
        lambda: stream_pdf(b"").replace(b"/Kids [3 0 R]", b"/Kids [2 0 R]"),
        "",
    ),
    "arrays in each other": (
        Kind.PDF,
        lambda: stream_pdf(b"").replace(b"/MediaBox [0 0 9 9]", b"/X " + b"[" * 50_000),
        "",
    ),
    "only a beginning": (Kind.PDF, lambda: b"%PDF-1.7\n", "damaged PDF"),
    "noise": (Kind.PDF, lambda: b"%PDF-1.7\n" + os.urandom(4096), ""),
    "lists in each other": (
        Kind.RST,
        lambda: "\n\n".join(f"{'  ' * n}* x" for n in range(400)).encode(),
        "nested too deeply",
    ),
    "binary": (Kind.RST, lambda: b"a\0b", "binary"),
    "too much text": (Kind.HTML, lambda: b"<p>" + b"word " * 900_000, "more than 4 MiB of text"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_refused_and_the_next_one_read(
    process: ReadingProcess, name: str
) -> None:
    kind, content, reason = HOSTILE[name]
    with pytest.raises(DocumentUnreadable, match=reason or None):
        process.read(kind, content())
    assert text_of(process, Kind.HTML, b"<p>next</p>") == "next"


def with_limits(limits: str, kind: Kind, content: bytes) -> str:
    """The status and answer of a reader that has other limits."""
    code = f"from diagnosis_knowledge.readers import worker\n{limits}\nworker.main()\n"
    request = b'{"kind": "%s", "size": %d}\n%s' % (kind.encode(), len(content), content)
    done = subprocess.run(
        [sys.executable, "-c", code], input=request, capture_output=True, check=False
    )
    assert done.stderr == b""
    return f"{done.returncode} {done.stdout.decode()}"


SLOW = b"<p>" + b"<b>x</b>" * 400_000


def test_the_clock_ends_a_document_of_ten_thousand_pages(pdf: Any) -> None:
    content = bytes(pdf([[f"page {number}"] for number in range(10_000)]))
    ended = with_limits("worker.READING_S = 0.5", Kind.PDF, content)
    assert ended == f"{-signal.SIGALRM} "


def test_its_memory_ends_it() -> None:
    limit = "worker.READING_BYTES = 256 * 1024 * 1024"
    assert with_limits(limit, Kind.HTML, b"<p>" + b"x" * 150 * 2**20) == "75 "


def test_closing_ends_a_read_at_once(process: ReadingProcess) -> None:
    process.read(Kind.HTML, b"<p>warm</p>")
    child = process._process
    assert child is not None
    ended: list[str] = []

    def read() -> None:
        with pytest.raises(DocumentUnreadable) as caught:
            process.read(Kind.HTML, SLOW)
        ended.append(caught.value.reason)

    reading = threading.Thread(target=read)
    reading.start()
    time.sleep(0.3)
    process.close()
    reading.join(timeout=10)
    assert ended == ["was not read: reading has ended"]
    assert child.poll() is not None
    with pytest.raises(DocumentUnreadable, match="has ended"):
        process.read(Kind.HTML, b"<p>x</p>")


def test_a_reader_that_is_killed_is_replaced(process: ReadingProcess) -> None:
    process.read(Kind.HTML, b"<p>x</p>")
    assert process._process is not None
    process._process.kill()
    with pytest.raises(DocumentUnreadable, match="memory"):
        process.read(Kind.HTML, b"<p>x</p>")
    assert text_of(process, Kind.HTML, b"<p>y</p>") == "y"


def test_it_ends_with_its_parent() -> None:
    code = (
        "from diagnosis_knowledge.readers.process import *\n"
        "p = ReadingProcess(); p.read(Kind.HTML, b'<p>x'); print(p._process.pid, flush=True)\n"
        "import os; os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{int(done.stdout)}/exe").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{int(done.stdout)}/exe").exists()
