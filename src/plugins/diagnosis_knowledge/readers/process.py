"""Has documents read by another process (`worker`), which can be killed at any moment."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from types import TracebackType
from typing import Self

from diagnosis_knowledge.readers.kinds import Kind
from diagnosis_knowledge.readers.sections import Block, DocumentUnreadable, Extract, Section
from diagnosis_knowledge.readers.worker import OUT_OF_MEMORY_STATUS, READING_BYTES, READING_S

_DEATHS = {
    -signal.SIGALRM: f"takes longer than {READING_S} s to read",
    OUT_OF_MEMORY_STATUS: f"takes more than {READING_BYTES // 1024**3} GiB of memory to read",
    -signal.SIGKILL: "took too much memory to read",
}


def unread() -> DocumentUnreadable:
    """What comes of every document after `close`."""
    return DocumentUnreadable("was not read: reading has ended", "Add it again.")


class ReadingProcess:
    """Reads documents one at a time; started when the first comes, anew when one has ended it.

    `close` may be called by any thread, and ends a `read` that waits.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(self, kind: Kind, content: bytes) -> Extract:
        """Read one document.

        Raises:
            DocumentUnreadable: it cannot be read within the limits, or `close` was called.
        """
        process = self._running()
        assert process.stdin is not None, "it is a pipe"  # noqa: S101 - narrows the type
        assert process.stdout is not None, "it is a pipe"  # noqa: S101 - narrows the type
        try:
            process.stdin.write(json.dumps({"kind": kind, "size": len(content)}).encode() + b"\n")
            process.stdin.write(content)
            process.stdin.flush()
            line = process.stdout.readline()
        except (OSError, ValueError):  # it died, or `close` closed the pipes
            line = b""
        if not line.endswith(b"\n"):
            raise self._why_it_ended(process)
        answer = json.loads(line)
        if "extract" not in answer:
            raise DocumentUnreadable(answer["reason"], answer["mend"])
        return _extract(answer["extract"])

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Kill the process; nothing can be read any more."""
        with self._lock:
            self._closed = True
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise unread()
            if self._process is None:
                self._process = _started()
            return self._process

    def _why_it_ended(self, process: subprocess.Popen[bytes]) -> DocumentUnreadable:
        status = process.wait()
        with self._lock:
            if self._closed:
                return unread()
            self._end()
        reason = _DEATHS.get(status, f"cannot be read: its reader ended with status {status}")
        return DocumentUnreadable(reason, "Split it, or convert it to text.")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _started() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # this Python; no argument comes from outside
            [sys.executable, "-P", "-m", "diagnosis_knowledge.readers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise DocumentUnreadable(
            f"was not read: no process can be started for it ({error.strerror})", "Add it again."
        ) from error


def _extract(fields: dict[str, object]) -> Extract:
    sections = tuple(
        Section(tuple(each["headings"]), tuple(Block(**block) for block in each["blocks"]))
        for each in fields.pop("sections")  # type: ignore[attr-defined]
    )
    return Extract(sections=sections, **fields)  # type: ignore[arg-type]
