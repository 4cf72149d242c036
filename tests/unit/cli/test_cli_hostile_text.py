"""What logs and documents bring along never drives the terminal that shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# sets the title, clears the screen, writes backwards, and the same begun by one C1 character
HOSTILE = "\x1b]0;title\x07 \x1b[2J \u202egnip\u202c \x9b31m \x08\x08"
NEVER = ("\x1b]0", "\x1b[2J", "\x07", "\x08", "\x9b", "\u202e")


def on_a_terminal(place: Path, *arguments: str) -> str:
    """What `diagnosis ARGUMENTS` writes on a terminal."""
    controller, terminal = os.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", "from diagnosis.cli.main import run; run()", *arguments],
            cwd=place,
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
        )
        os.close(terminal)
        written = b""
        while True:
            try:
                block = os.read(controller, 65_536)
            except OSError:  # the process is gone, and with it the other end
                break
            if not block:
                break
            written += block
        process.wait(timeout=60)
    finally:
        os.close(controller)
    return written.decode()


@pytest.fixture
def log(place: Path) -> Path:
    path = place / "app.log"
    path.write_text(
        f"2026-03-01T12:00:00Z ERROR boom {HOSTILE} in the queue of the worker\n", encoding="utf-8"
    )
    return path


ASK = ("ask", "why boom", "--model", "offline", "--at", "2026-03-01T12:10:00Z")


def test_a_report_shows_it_as_marks(place: Path, log: Path) -> None:
    written = on_a_terminal(place, *ASK, "--logs", str(log))
    assert "boom" in written
    assert "\N{REPLACEMENT CHARACTER}" in written
    assert not [text for text in NEVER if text in written]


def test_a_json_document_on_a_terminal_is_the_same_document(place: Path, log: Path) -> None:
    written = on_a_terminal(
        place, "tool", "query_logs", "{}", "--logs", str(log), "--at", "2026-03-01T12:10:00Z"
    )
    assert not [text for text in NEVER if text in written]
    document = written[written.index("{") : written.rindex("}") + 1]
    assert HOSTILE.strip() in json.loads(document)["items"][0]["text"]


def test_documents_of_the_knowledge_base_too(place: Path) -> None:
    (place / "docs").mkdir()
    (place / "docs" / "a\x1b[2J.md").write_text(
        f"# Boom {HOSTILE}\n\nboom {HOSTILE} here\n", "utf-8"
    )
    for arguments in (("add", "docs"), ("list",), ("search", "boom")):
        written = on_a_terminal(place, "knowledge", *arguments)
        assert "\N{REPLACEMENT CHARACTER}[2J" in written
        assert not [text for text in NEVER if text in written]


def test_in_a_pipe_a_report_is_shown_the_same(command, log: Path) -> None:
    written = command(*ASK, "--logs", str(log), "--quiet").out
    assert "\N{REPLACEMENT CHARACTER}" in written
    assert not [text for text in NEVER if text in written]
