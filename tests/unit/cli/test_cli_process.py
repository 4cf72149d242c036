"""The command as a process: what it imports, its streams, pipes, encodings and signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diagnosis import sample

Command = Callable[..., Any]

LOG = str(sample.LOG_PATHS[0])
ASK = ["ask", "订单 为什么 失败", "--logs", LOG, "--at", "last"]
RUN = "from diagnosis.cli.main import run; run()"
HEAVY = ("pydantic_ai", "chromadb", "pydantic_settings", "pydantic", "rich", "logfire", "asyncio")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "sys.argv = ['diagnosis', '--help']\n" + RUN
    )
    # not measured: coverage would import a good deal of the standard library first
    bare = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=bare
    )
    loaded = json.loads(done.stderr)
    assert done.returncode == 0
    assert "knowledge" in done.stdout
    assert "diagnosis.cli.main" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_bytes_that_are_no_text_and_a_missing_file_are_told_without_a_trace(
    process: Command, place: Path
) -> None:
    for arguments in (["ask", b"why\xff", "--logs", LOG], ["ask", "why", "--logs", b"no-\xff.log"]):
        done = process(*arguments)
        assert (done.status, done.out) == (2, "")
        assert len(done.err.splitlines()) == 2
        assert done.err.startswith("Error: ")
    assert list((place / "work").iterdir()) == []
    assert not (place / "data").exists()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminals_that_lack_characters(process: Command, encoding: str) -> None:
    env = {"LC_ALL": "C", "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    text = process(*ASK, env=env)
    assert text.status == 3, text.err
    assert "Traceback" not in text.err
    document = json.loads(process(*ASK, "--json", env=env).out)
    assert document["status"] == "FALLBACK"
    assert "订单 为什么 失败" in json.dumps(document, ensure_ascii=False)


def test_reader_that_stops_reading_is_no_error() -> None:
    # as `| head -1` does: the first line is read, then the pipe is closed
    with subprocess.Popen(
        [sys.executable, "-c", RUN, "tool", "query_logs", "--logs", LOG, '{"limit": 200}',
         "--at", "last"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        assert running.stdout
        assert running.stderr
        assert running.stdout.readline() == b"{\n"
        running.stdout.close()
        assert running.stderr.read() == b""


def test_colours_on_a_terminal_unless_they_are_not_wanted() -> None:
    coloured, plain = (_on_terminal(env) for env in ({}, {"NO_COLOR": "1"}))
    assert "\x1b[32m" in coloured
    assert "\x1b[32m" not in plain
    assert "found" in plain


def test_nothing_but_the_run_is_told_on_a_terminal() -> None:
    text = _on_terminal({"NO_COLOR": "1"})
    assert "query_logs: found" in text
    for foreign in ("logfire", "observability", "pydantic-ai v", "PromptedOutput"):
        assert foreign not in text


def test_spinner_says_what_is_done() -> None:
    text = _on_terminal({"NO_COLOR": "1"})
    assert "looking for the time asked about" in text
    assert "opening the sources" in text


def test_wide_characters_are_wrapped_within_the_terminal() -> None:
    text = _on_terminal({"NO_COLOR": "1", "COLUMNS": "40"}, quiet=True)
    assert "订单" in text
    assert max(_cells(line) for line in text.splitlines()) <= 40


def _cells(line: str) -> int:
    from rich.cells import cell_len
    from rich.text import Text

    return cell_len(Text.from_ansi(line).plain.rstrip())


def _on_terminal(env: dict[str, str], *, quiet: bool = False) -> str:
    import pty

    leader, follower = pty.openpty()
    # the last three keep the framework's own banner away: the command must do so itself
    unset = {"NO_COLOR", "PYDANTIC_AI_NO_BANNER", "PYTEST_VERSION", "CI"}
    keep = {key: value for key, value in os.environ.items() if key not in unset}
    with subprocess.Popen(
        [sys.executable, "-c", RUN, *ASK, *(["--quiet"] if quiet else [])],
        stdin=follower, stdout=follower, stderr=follower,
        env={**keep, "TERM": "xterm-256color", **env},
    ):  # fmt: skip
        os.close(follower)
        written = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the terminal's other side is closed
                break
            if not part:
                break
            written += part
    os.close(leader)
    return written.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("module", ["diagnosis.settings", "diagnosis.bootstrap", "pydantic_ai"])
def test_ctrl_c_before_the_run_begins_is_told(module: str) -> None:
    # the process interrupts itself at the moment it first imports that module
    code = (
        "import os, signal, sys, threading\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r} and not self.done:\n"
        "            self.done = True\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "    done = False\n"
        "sys.meta_path.insert(0, Interrupt())\n" + RUN
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *ASK], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr.splitlines()[-1] == "Cancelled; nothing was released."
    assert "Traceback" not in done.stderr


def test_failed_run_is_an_error_on_stderr_and_a_document_on_request(process: Command) -> None:
    with socket.socket() as taken:  # bound, never listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        env = {"DIAGNOSIS_MODEL__BASE_URL": f"http://127.0.0.1:{taken.getsockname()[1]}"}
        text = process(*ASK, "--model", "openai:gone", "--quiet", env=env)
        document = process(*ASK, "--model", "openai:gone", "--quiet", "--json", env=env)
    assert (text.status, text.out) == (1, "")
    first, second = text.err.splitlines()
    assert first == "Error: the run failed (MODEL_UNAVAILABLE)."
    assert "could not be reached" in second
    assert (document.status, document.err) == (1, "")
    assert json.loads(document.out)["release"] is None


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_a_run_that_waits_for_its_model(number: signal.Signals, status: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        env = {
            **os.environ,
            "DIAGNOSIS_MODEL__BASE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}",
        }
        command = [sys.executable, "-c", RUN, *ASK, "--model", "openai:silent"]
        with subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as running:
            connection, _ = silent.accept()
            with connection:
                connection.recv(1)
                running.send_signal(number)
                since = time.monotonic()
                out, err = running.communicate(timeout=30)
                waited = time.monotonic() - since
    assert running.returncode == status
    assert out == ""
    assert "Traceback" not in err
    assert "Cancelled; nothing was released." in err
    assert waited < 10, "far below the model's time"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("arguments", [[*ASK, "--json"], ASK, ["plugins"], ["config", "show"]])
def test_an_answer_that_cannot_be_written_is_said_in_two_lines(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    problem, mend = done.stderr.splitlines()[-2:]
    assert done.returncode == 1
    assert problem.startswith("Error: the answer or the data cannot be written (")
    assert mend == "Make room there, or write somewhere else."
