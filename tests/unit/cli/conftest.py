"""Runs the command in this process, or as a process of its own, in an empty place."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from diagnosis.cli import main

SECRET = "hunter2hunter2"
LINE = "2026-03-01T14:00:00Z ERROR billing connection pool exhausted after 30 s\n"


@dataclass(frozen=True)
class Done:
    """How the command ended, and what it wrote."""

    status: int
    out: str
    err: str


Command = Callable[..., Done]
Refused = Callable[..., None]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, home and data folder that are empty, and no keys."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "100")
    # what the command itself sets, restored at the end of the test
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "logfire-plugin")
    monkeypatch.setenv("PYDANTIC_AI_NO_BANNER", "1")
    return tmp_path


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `diagnosis ARGUMENTS` in this process, through the console script's entry point."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["diagnosis", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main.run()
        written = capsys.readouterr()
        code = ending.value.code
        assert isinstance(code, int)
        return Done(code, written.out, written.err)

    return run


def command_line(*arguments: str | bytes) -> list[str | bytes]:
    return [sys.executable, "-c", "from diagnosis.cli.main import run; run()", *arguments]


@pytest.fixture
def process(place: Path) -> Command:
    """Run `diagnosis ARGUMENTS` as a process of its own; that costs a second or more."""

    def run(*arguments: str | bytes, env: Mapping[str, str] | None = None) -> Done:
        done = subprocess.run(
            command_line(*arguments),
            env={**os.environ, **(env or {})},
            capture_output=True,
            check=False,
        )
        return Done(
            done.returncode,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )

    return run


@pytest.fixture
def log(place: Path) -> Path:
    """A log of one line, at 14:00 UTC on 2026-03-01."""
    path = place / "app.log"
    path.write_text(LINE)
    return path


def files_below(place: Path) -> set[Path]:
    return {path for path in place.rglob("*") if path.name != "diagnosis.toml"}


@pytest.fixture
def refused(command: Command, place: Path) -> Refused:
    """Check that the command refuses its arguments; `says` stand in its first and second line."""

    def check(*arguments: object, says: tuple[str, str]) -> None:
        before = files_below(place)
        done = command(*arguments)
        lines = done.err.splitlines()
        assert (done.status, done.out) == (2, ""), done.err
        assert len(lines) == 2, done.err
        assert lines[0].startswith("Error: ")
        for line, words in zip(lines, says, strict=True):
            assert words in line
        assert SECRET not in done.err
        assert files_below(place) == before

    return check
