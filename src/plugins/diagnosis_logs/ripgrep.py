"""ripgrep as a process of its own: the quickest search of a large file for a literal text.

The file is handed over as an open descriptor, so its path plays no part, and the text as the value
of `-e`, fixed (`-F`), so nothing in it is an option or a pattern. A file that shrinks under
ripgrep's map kills that process alone, and the caller goes on without it.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from diagnosis_logs.reading import LINE_BYTES, Halt
from diagnosis_logs.snapshot import Snapshot

_OPTIONS = (
    "--no-config", "--text", "--encoding=none", "--no-ignore", "--no-messages", "--color=never",
    "--no-filename", "--no-line-number", "--no-heading", "--byte-offset", "--fixed-strings",
)  # fmt: skip
_LINE = re.compile(rb"^(\d+):(.*)$", re.MULTILINE)
_PIPE_BYTES = 1 << 18
# What is kept of a line: more than a record keeps of it, so that a longer one is seen to be.
_KEPT_BYTES = LINE_BYTES + 64
_PATIENCE_S = 0.05


class RipgrepFailed(Exception):
    """It could not search the file to its end."""


@cache
def program() -> str | None:
    """The path of `rg`: of this environment, else the one on PATH; None where there is none."""
    own = Path(sysconfig.get_path("scripts"), "rg")
    if os.access(own, os.X_OK):
        return str(own)
    return shutil.which("rg")


@dataclass(frozen=True, slots=True)
class Found:
    """Some lines that hold a text, in order.

    Attributes:
        told: them as ripgrep tells them: offset, colon, line; parted by line ends. A line of more
            than LINE_BYTES may be cut, to no less than LINE_BYTES + 1.
    """

    told: bytes

    @property
    def first(self) -> int:
        """Where the first line begins."""
        return int(self.told[: self.told.index(b":")])

    @property
    def last(self) -> int:
        """Where the last line begins."""
        at = self.told.rfind(b"\n") + 1
        return int(self.told[at : self.told.index(b":", at)])

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line's offset and bytes."""
        for offset, line in _LINE.findall(self.told):
            yield int(offset), line


def search(path: str, snapshot: Snapshot, literal: str, halt: Halt) -> Iterator[Found]:
    """The lines of a file that hold a text, letter case ignored; some at a time, in order.

    Args:
        path: of the program.
        snapshot: the file, in UTF-8.
        literal: a text without a line end or a NUL.
        halt: checked at least every 50 ms; the process ends with this search, however it ends.

    Raises:
        RipgrepFailed: it could not be started, was killed, or failed.
        ScanStopped: the halt says so.
    """
    command = [path, *_OPTIONS]
    if literal.lower() != literal or literal.upper() != literal:
        command.append("--ignore-case")
    command += ["-e", literal, "--", f"/dev/fd/{snapshot.descriptor}"]
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell; see above for what it is given
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"LC_ALL": "C"},
            bufsize=0,
            pass_fds=(snapshot.descriptor,),
        )
    except OSError as error:
        raise RipgrepFailed("cannot be started") from error
    with process:
        try:
            yield from _found(process, halt)
            # 0: found; 1: not found
            if process.wait() not in (0, 1):
                raise RipgrepFailed(f"exit status {process.returncode}")
        finally:
            process.kill()


def _found(process: subprocess.Popen[bytes], halt: Halt) -> Iterator[Found]:
    if process.stdout is None:
        raise RipgrepFailed("no output")
    pipe = process.stdout.fileno()
    rest = b""  # a line that has not ended yet
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while True:
            halt.check()
            if not ready.select(_PATIENCE_S):
                continue
            block = os.read(pipe, _PIPE_BYTES)
            if not block:
                return
            whole, _, rest = (rest + block).rpartition(b"\n")
            rest = rest[:_KEPT_BYTES]
            if whole:
                yield Found(whole)
