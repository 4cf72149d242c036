"""ripgrep as a process: it searches for exactly the text, ends when told, and may fail."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from diagnosis.plugin import EvidenceResult
from diagnosis_logs import ripgrep
from diagnosis_logs.candidates import RIPGREP_BYTES, spans
from diagnosis_logs.filters import TextFilter, text_filter
from diagnosis_logs.opening import open_log
from diagnosis_logs.reading import LINE_BYTES, Halt, ScanStopped
from diagnosis_logs.request import LogQuery
from diagnosis_logs.snapshot import Snapshot

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

needs_ripgrep = pytest.mark.skipif(ripgrep.program() is None, reason="ripgrep is not installed")
PAD = "x" * 800
LINES = RIPGREP_BYTES // 4_000 * 5


@contextmanager
def snapshot_of(path: Path) -> Iterator[Snapshot]:
    with open_log(path) as file:
        yield Snapshot(file)


def contains(text: str) -> TextFilter | None:
    return text_filter(LogQuery(contains=text))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log that is large enough to be given to ripgrep; every fifth line tells of a pool."""
    path = tmp_path_factory.mktemp("ripgrep") / "large.log"
    with path.open("w") as file:
        for n in range(LINES):
            second = f"12:{n // 1_000:02}:{n // 20 % 50:02}"
            file.write(
                f"2024-05-01 {second} INFO {'Pool 库存' if n % 5 == 0 else 'no'} {n} {PAD}\n"
            )
    return path


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """A program in ripgrep's place: a shell script."""

    def write_program(script: str) -> str:
        path = tmp_path / "rg"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return write_program


def told(found: Iterable[ripgrep.Found]) -> list[tuple[int, bytes]]:
    blocks = list(found)
    lines = [list(block.lines()) for block in blocks]
    assert [(each[0][0], each[-1][0]) for each in lines] == [
        (block.first, block.last) for block in blocks
    ]
    return [line for each in lines for line in each]


@needs_ripgrep
@pytest.mark.parametrize("text", ["--files", "a.b*[", "-e", "$(id)", "库存", "x\ty"])
def test_ripgrep_searches_for_exactly_the_text(write: Write, text: str) -> None:
    lines = ["nothing", f"here {text} and", text.upper(), f"12:{text}"]
    raw = "\n".join(lines).encode()
    with snapshot_of(write("app.log", raw)) as snapshot:
        found = told(ripgrep.search(str(ripgrep.program()), snapshot, text, Halt()))
    assert [line.decode() for _, line in found] == lines[1:]
    assert all(raw[at:].startswith(line) for at, line in found)


@needs_ripgrep
def test_a_line_of_any_length_is_told_in_bounded_memory(write: Write) -> None:
    raw = b"a needle\n" + b"needle " * 1_000_000 + b"\nlast needle\n"
    with snapshot_of(write("app.log", raw)) as snapshot:
        found = told(ripgrep.search(str(ripgrep.program()), snapshot, "needle", Halt()))
    assert [at for at, _ in found] == [0, 9, len(raw) - 12]
    assert LINE_BYTES < len(found[1][1]) < 1_000_000
    assert (found[0][1], found[2][1]) == (b"a needle", b"last needle")


def test_a_cancelled_search_ends_its_process(
    large: Path, program: Callable[[str], str], tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    silent = program(f"echo $$ > {note}.part; mv {note}.part {note}; exec sleep 600")
    halt = Halt()

    def cancel_once_it_runs() -> None:
        while not note.exists():
            time.sleep(0.005)
        halt.cancel()

    canceller = threading.Thread(target=cancel_once_it_runs)
    canceller.start()
    with snapshot_of(large) as snapshot, pytest.raises(ScanStopped):
        list(ripgrep.search(silent, snapshot, "x", halt))
    canceller.join()
    with pytest.raises(ProcessLookupError):  # it is gone, and waited for
        os.kill(int(note.read_text()), 0)


def test_a_search_that_is_given_up_ends_its_process(
    large: Path, program: Callable[[str], str], tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    endless = program(f"echo $$ > {note}; echo 0:first; exec sleep 600")
    with snapshot_of(large) as snapshot:
        found = ripgrep.search(endless, snapshot, "x", Halt())
        assert list(next(found).lines()) == [(0, b"first")]
        found.close()  # type: ignore[attr-defined] - it is a generator
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


FAILURES = ["exit 2", "kill -BUS $$", "kill -KILL $$"]


@pytest.mark.parametrize("end", FAILURES)
@pytest.mark.parametrize("lines", [0, 1, 700])
def test_where_ripgrep_fails_the_search_goes_on_without_it(
    large: Path, program: Callable[[str], str], tmp_path: Path, end: str, lines: int
) -> None:
    text = contains("POOL")
    with snapshot_of(large) as snapshot:
        expected = list(spans(snapshot, 0, snapshot.size, text, None, Halt(), None))
        said = tmp_path / "said"
        said.write_bytes(b"".join(b"%d:%s\n" % (at, line) for at, _, line in expected[:lines]))  # type: ignore[str-bytes-safe] - each has a line
        failing = program(f"cat {said}; {end}")
        found = list(spans(snapshot, 0, snapshot.size, text, None, Halt(), failing))
        absent = list(spans(snapshot, 0, snapshot.size, text, None, Halt(), str(tmp_path / "no")))
    assert len(expected) == LINES // 5
    assert found == expected
    assert absent == expected


@needs_ripgrep
@pytest.mark.parametrize("text", ["pool", "库存", "pool 库存 77"])
def test_ripgrep_finds_the_same_lines_as_the_search_without_it(large: Path, text: str) -> None:
    wanted = contains(text)
    with snapshot_of(large) as snapshot:
        size = snapshot.size
        later = snapshot.line_start(size // 100)
        for start, end in [(0, size), (later, size), (later, size - later)]:
            own = list(spans(snapshot, start, end, wanted, None, Halt(), None))
            theirs = list(spans(snapshot, start, end, wanted, None, Halt(), ripgrep.program()))
            assert own
            assert [span for span in own if span[0] < end] == theirs


@needs_ripgrep
def test_a_file_that_is_emptied_under_ripgrep_kills_it_alone(large: Path, write: Write) -> None:
    path = write("emptied.log", large.read_bytes())
    with snapshot_of(path) as snapshot:
        # it waits for its output to be taken, and then goes on in what is no longer there
        found = ripgrep.search(str(ripgrep.program()), snapshot, "log", Halt())
        assert list(found) == []
        found = ripgrep.search(str(ripgrep.program()), snapshot, "info", Halt())
        assert next(found).first == 0
        os.truncate(path, 0)
        with pytest.raises(ripgrep.RipgrepFailed):
            list(found)
        assert not snapshot.intact
        rest = spans(snapshot, 0, snapshot.size, contains("info"), None, Halt(), None)
        assert list(rest) == []
