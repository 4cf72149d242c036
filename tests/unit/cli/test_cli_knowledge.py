"""`diagnosis knowledge`: what adding, listing and removing documents tells."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.fixture
def runbooks(place: Path) -> Path:
    folder = place / "runbooks"
    (folder / "网络").mkdir(parents=True)
    (folder / "pool.md").write_text("# Pool\n\nRaise its size.\n")
    (folder / "网络" / "证书过期.html").write_text("<h1>证书过期</h1><p>重新签发证书。</p>")
    (folder / "disk.rst").write_text("Disk\n====\n\nRotate the logs.\n")
    for name in ("a.png", "b.png", "c.docx"):
        (folder / name).write_bytes(b"\0")
    return folder


def lines(done: Any) -> list[str]:
    assert done.err == ""
    return [" ".join(line.split()) for line in done.out.splitlines()]


def test_each_file_has_a_line_and_the_last_line_sums_up(command: Command, runbooks: Path) -> None:
    done = command("knowledge", "add", runbooks)
    assert done.status == 0
    assert lines(done) == [
        "ADDED disk.rst 1 passage",
        "ADDED pool.md 1 passage",
        "ADDED 网络/证书过期.html 1 passage",
        "3 added, 3 skipped (a.png: unknown kind .png; c.docx: a word processor's document: "
        "Export it as PDF or HTML, and add that.)",
    ]


def test_adding_again_tells_what_changed_and_what_has_gone(
    command: Command, runbooks: Path
) -> None:
    command("knowledge", "add", runbooks)
    listed = json.loads(command("knowledge", "list", "--json").out)
    ids = {each["source"]: each["document_id"] for each in listed}
    (runbooks / "pool.md").write_text("# Pool\n\nNever mind.\n")
    (runbooks / "disk.rst").unlink()
    (runbooks / "new.txt").write_bytes(b"\xff\xff\xff")
    done = command("knowledge", "add", runbooks, "--quiet")
    assert done.status == 1
    assert lines(done)[:2] == [
        "FAILED new.txt 0 passages (is neither UTF-8 nor GB18030 text. "
        "Save the document as UTF-8.)",
        "MISSING disk.rst 1 passage (no longer there; remove it with "
        f"`diagnosis knowledge remove {ids['disk.rst']}`)",
    ]
    assert lines(done)[2].startswith("1 replaced, 1 unchanged, 1 failed, 1 missing, 3 skipped (")
    assert command("knowledge", "remove", ids["disk.rst"]).status == 0
    told = json.loads(command("knowledge", "add", runbooks, "--json").out)
    assert {(file["source"], file["status"]) for file in told} == {
        ("pool.md", "UNCHANGED"),
        ("网络/证书过期.html", "UNCHANGED"),
        ("new.txt", "FAILED"),
        ("a.png", "SKIPPED"),
        ("b.png", "SKIPPED"),
        ("c.docx", "SKIPPED"),
    }
    assert {each["document_id"] for each in told if each["status"] == "SKIPPED"} == {None}


def test_another_folder_does_not_miss_the_files_of_the_first(
    command: Command, runbooks: Path, place: Path
) -> None:
    command("knowledge", "add", runbooks)
    other = place / "other"
    other.mkdir()
    (other / "x.md").write_text("other")
    assert lines(command("knowledge", "add", other)) == ["ADDED x.md 1 passage", "1 added"]
    (runbooks / "pool.md").rename(other / "pool.md")
    for folders in ([other, runbooks], [runbooks]):
        assert "MISSING" not in command("knowledge", "add", *folders).out, "it has only moved"


def test_removing_goes_by_id_source_or_the_end_of_a_source(
    command: Command, runbooks: Path, refused: Any
) -> None:
    (runbooks / "db").mkdir()
    (runbooks / "db" / "pool.md").write_text("# Other pool\n\ntext\n")
    (runbooks / "网络" / "pool.md").write_text("# Third pool\n\ntext\n")
    command("knowledge", "add", runbooks)
    assert command("knowledge", "remove", "证书过期.html").out.endswith("  网络/证书过期.html\n")
    assert command("knowledge", "remove", "pool.md").out.endswith("  pool.md\n"), "exactly so named"
    refused("knowledge", "remove", "pool.md", says=("names 2 documents: ", "by its ID"))
    refused("knowledge", "remove", "ool.md", says=("no document 'ool.md'", "knowledge list"))
    command("knowledge", "remove", "db/pool.md")
    left = json.loads(command("knowledge", "list", "--json").out)
    assert [each["source"] for each in left] == ["disk.rst", "网络/pool.md"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.docx", b"PK\x03\x04__word/document.xml", ("is a word processor's", "Export it as PDF")),
        ("a.zip", b"PK\x03\x04__a.md", ("is an archive", "Unpack it")),
        ("a.pdf", b"%PDF-1.7\n", ("is a damaged PDF", "Export it again")),
        ("a.txt", b"caf\xe9", ("neither UTF-8 nor GB18030", "Save the document as UTF-8")),
    ],
)
def test_a_named_file_that_cannot_be_read_says_what_to_do(
    refused: Any, place: Path, name: str, content: bytes, says: tuple[str, str]
) -> None:
    (place / name).write_bytes(content)
    refused("knowledge", "add", place / name, says=says)


# --- on a terminal -------------------------------------------------------------------------------


def on_a_terminal(*arguments: str, columns: int = 80, stdout: Any = None) -> tuple[bytes, bytes]:
    """What is written on a terminal, and to a pipe where `stdout` is one."""
    controller, terminal = os.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", "from diagnosis.cli.main import run; run()", *arguments],
            stdin=terminal,
            stdout=terminal if stdout is None else stdout,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns)},
        )
        os.close(terminal)
        written = b""
        while True:
            try:
                written += os.read(controller, 65_536)
            except OSError:  # the process is gone, and with it the other end
                break
        piped = process.communicate(timeout=60)[0] or b""
    finally:
        os.close(controller)
    return written, piped


def test_a_terminal_shows_a_bar_and_the_lines(runbooks: Path) -> None:
    written, _ = on_a_terminal("knowledge", "add", str(runbooks))
    shown = written.decode()
    assert "reading" in shown
    assert "/3" in shown
    assert "ADDED  pool.md  1 passage" in shown
    assert "3 added" in shown


def test_a_pipe_gets_the_lines_and_only_the_lines(runbooks: Path) -> None:
    written, piped = on_a_terminal("knowledge", "add", str(runbooks), stdout=subprocess.PIPE)
    assert "reading" in written.decode()
    assert piped.decode().splitlines()[0] == "ADDED  disk.rst  1 passage"
    assert "\x1b" not in piped.decode()
    written, piped = on_a_terminal("knowledge", "add", str(runbooks), "-q", stdout=subprocess.PIPE)
    assert written == b""
    assert piped.decode().startswith("3 unchanged, 3 skipped")


def test_the_list_fits_the_terminal_in_chinese_too(command: Command, runbooks: Path) -> None:
    (runbooks / ("磁盘使用率过高告警处理方案" * 3 + ".md")).write_text(
        "# " + "磁盘" * 40 + "\n\ntext\n"
    )
    command("knowledge", "add", runbooks)
    written, _ = on_a_terminal("knowledge", "list", columns=60)
    rows = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.decode()).splitlines()
    widths = [sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in row) for row in rows]
    assert max(widths) <= 60
    starts = {
        sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in row[: row.index("INDEXED")])
        for row in rows
        if "INDEXED" in row
    }
    assert len(starts) == 1


def test_ctrl_c_ends_the_reading_of_a_document_at_once(place: Path) -> None:
    slow = place / "slow.html"
    slow.write_bytes(b"<p>" + b"<b>x</b>" * 800_000)
    code = "from diagnosis.cli.main import run; run()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "knowledge", "add", str(slow)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not (reader := reader_of(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert reader
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    begun = time.monotonic()
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - begun < 3, "the reading alone takes longer"
    assert (process.returncode, out, err) == (130, b"", b"Cancelled.\n")
    assert not Path(f"/proc/{reader}/exe").exists()


def reader_of(pid: int) -> int | None:
    """The process that a process started."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            return int(child)
    return None
