"""Reading a stream of bytes as blocks of lines: bounded memory, no crash on bad bytes."""

from __future__ import annotations

import codecs
import threading
import time
from collections.abc import Iterator

from diagnosis_logs.packing import Readable

BLOCK_BYTES = 65_536
LINE_BYTES = 65_536


class ScanStopped(Exception):
    """The scan must end now: it was cancelled, or its time is over."""


class Halt:
    """Asked between blocks whether to go on; may be set from another thread.

    Args:
        seconds: time after which `check` raises; None for no limit.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._cancelled = threading.Event()
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def cancel(self) -> None:
        """Make every later `check` raise."""
        self._cancelled.set()

    def check(self) -> None:
        """Return while the scan may go on.

        Raises:
            ScanStopped: it may not.
        """
        if self._cancelled.is_set():
            raise ScanStopped("cancelled")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise ScanStopped("out of time")


class Unreadable(Exception):
    """The file cannot be read: gone, forbidden, not regular, or damaged from its beginning."""


class Binary(Unreadable):
    """The file is no text log, but an archive, a program or the like."""


def blocks_of(stream: Readable, halt: Halt, encoding: str = "utf-8") -> Iterator[list[str]]:
    """Yield the lines of a stream, a block at a time, without their line ends.

    Bytes that are not of the encoding and NULs are replaced by U+FFFD. A line longer than
    LINE_BYTES is cut and says by how much.

    Args:
        stream: the bytes.
        halt: checked before each block.
        encoding: of the bytes; one in which byte 0x0A is always the end of a line.

    Raises:
        ScanStopped: `halt` says so.
    """
    carry = b""  # the beginning of a line whose end is not read yet, at most LINE_BYTES of it
    dropped = 0  # bytes of that line beyond LINE_BYTES
    halt.check()
    block = stream.read(BLOCK_BYTES).removeprefix(codecs.BOM_UTF8)
    while block:
        end = block.rfind(b"\n")
        if end < 0:
            carry += block
        else:
            if carry:  # only a line that began in an earlier block can be too long
                first, _, rest = block[:end].partition(b"\n")
                had_rest = b"\n" in block[:end]
                carry += first
                lines = [_whole_line(carry, dropped, encoding)]
                if had_rest:
                    lines += decoded(rest, encoding).split("\n")
                yield lines
            else:
                yield decoded(block[:end], encoding).split("\n")
            carry, dropped = block[end + 1 :], 0
        if len(carry) > LINE_BYTES:
            dropped += len(carry) - LINE_BYTES
            carry = carry[:LINE_BYTES]
        halt.check()
        block = stream.read(BLOCK_BYTES)
    if carry:
        yield [_whole_line(carry, dropped, encoding)]


def _whole_line(line: bytes, dropped: int, encoding: str) -> str:
    if len(line) > LINE_BYTES:
        dropped += len(line) - LINE_BYTES
        line = line[:LINE_BYTES]
    text = decoded(line, encoding)
    if not dropped:
        return text
    return f"{text.rstrip(chr(0xFFFD))} [line cut: {dropped:,} more bytes]"


def decoded(raw: bytes, encoding: str) -> str:
    """Some whole lines as text, without carriage returns; what is none, and NULs, is U+FFFD."""
    text = raw.decode(encoding, errors="replace")
    # a trailing \r is half of a line end whose \n was split off
    if "\r" in text:
        text = (text + "\n").replace("\r\n", "\n")[:-1]
    return text.replace("\0", "\ufffd") if "\0" in text else text
