"""Reading a log file as blocks of lines: bounded memory, no crash on bad bytes, stops when told."""

from __future__ import annotations

import codecs
import gzip
import os
import stat
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

BLOCK_BYTES = 65_536
LINE_BYTES = 65_536
SAMPLE_BYTES = 262_144
# what compressed or compiled data has a tenth of, and text next to nothing
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b")
_TEXT_PER_CONTROL = 100


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
    """The file cannot be read (to its end): gone, forbidden, not regular, or damaged."""


class Binary(Unreadable):
    """The file holds NUL bytes and the like near its beginning: it is no text log."""


def open_log(path: Path) -> BinaryIO:
    """Open a regular file; a link, a pipe or a device in its place is refused.

    Raises:
        Unreadable: it cannot be opened, or it is not a regular file.
    """
    try:
        # O_NONBLOCK: opening a pipe must not hang; it is without effect on a regular file
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unreadable(error.strerror or "cannot be opened") from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise Unreadable("not a regular file")
    return os.fdopen(number, "rb", buffering=0)


def read_blocks(path: Path, halt: Halt, *, start: int = 0) -> Iterator[list[str]]:
    """Yield the lines of a file, a block at a time, without their line ends.

    Bytes that are not UTF-8 and NULs are replaced by U+FFFD. A line longer than LINE_BYTES is cut
    and says by how much.

    Args:
        path: a plain file, or a gzip file (by its name).
        halt: checked before each block.
        start: for plain files only: the byte to begin at.

    Raises:
        Unreadable: the file cannot be read (to its end).
        ScanStopped: `halt` says so.
    """
    with open_log(path) as raw:
        raw.seek(start)
        try:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield from _lines(unpacked, halt)
            else:
                yield from _lines(raw, halt)
        except (OSError, EOFError, zlib.error) as error:
            raise Unreadable("damaged") from error


def _lines(stream: BinaryIO | gzip.GzipFile, halt: Halt) -> Iterator[list[str]]:
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
                lines = [_whole_line(carry, dropped)]
                if had_rest:
                    lines += _decode(rest).split("\n")
                yield lines
            else:
                yield _decode(block[:end]).split("\n")
            carry, dropped = block[end + 1 :], 0
        if len(carry) > LINE_BYTES:
            dropped += len(carry) - LINE_BYTES
            carry = carry[:LINE_BYTES]
        halt.check()
        block = stream.read(BLOCK_BYTES)
    if carry:
        yield [_whole_line(carry, dropped)]


def _whole_line(line: bytes, dropped: int) -> str:
    if len(line) > LINE_BYTES:
        dropped += len(line) - LINE_BYTES
        line = line[:LINE_BYTES]
    text = _decode(line)
    if not dropped:
        return text
    return f"{text.rstrip(chr(0xFFFD))} [line cut: {dropped:,} more bytes]"


def _decode(raw: bytes) -> str:
    text = raw.decode("utf-8", errors="replace")
    # a trailing \r is half of a line end whose \n was split off
    if "\r" in text:
        text = (text + "\n").replace("\r\n", "\n")[:-1]
    return text.replace("\0", "\ufffd") if "\0" in text else text


def _controls(raw: bytes) -> int:
    return len(raw) - len(raw.translate(None, _CONTROLS))


def sample_of(path: Path) -> list[str]:
    """The first lines of a file, up to SAMPLE_BYTES.

    Raises:
        Binary: there are NULs in it, and more than one byte in a hundred is a control character.
        Unreadable: the file cannot be read.
    """
    with open_log(path) as raw:
        try:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    head = unpacked.read(SAMPLE_BYTES)
            else:
                head = raw.read(SAMPLE_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            raise Unreadable("damaged") from error
    # a few come with a crash or a careless writer: such a log is read, they become U+FFFD
    if b"\0" in head and _controls(head) * _TEXT_PER_CONTROL > len(head):
        raise Binary("it holds NUL bytes")
    lines = _decode(head).removeprefix("\ufeff").split("\n")
    if len(head) >= SAMPLE_BYTES and len(lines) > 1:
        lines.pop()  # its end is beyond the sample
    return lines
