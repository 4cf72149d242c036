"""A plain file as it was when it was opened: any part of it can be read, whatever happens to it."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from itertools import accumulate
from typing import BinaryIO, NamedTuple

from diagnosis_logs.reading import LINE_BYTES, Halt, Unreadable

BLOCK_BYTES = 65_536

_COUNTED_BYTES = 1 << 20
_HEAD_BYTES = 4_096


class Lines(NamedTuple):
    """Some lines that follow one another.

    Attributes:
        offsets: where each begins, and at last where the line after them does.
        texts: without their ends.
    """

    offsets: list[int]
    texts: list[str]


class Snapshot:
    """What a descriptor showed at opening: bytes up to the size it had then.

    Bytes written later are not seen; a rename or a removal changes nothing. Files are read and not
    mapped: touching a mapped page that a truncation took away would kill the process.

    Args:
        raw: the open file. It stays the caller's to close.
        encoding: of its text; one in which byte 0x0A is always the end of a line.

    Attributes:
        size: in bytes, at opening.
        identity: device and inode.
        modified: when it was last written, at opening; microseconds since 1970.
    """

    def __init__(self, raw: BinaryIO, encoding: str = "utf-8") -> None:
        self.descriptor = raw.fileno()
        self.encoding = encoding
        status = os.fstat(self.descriptor)
        self.size = status.st_size
        self.identity = (status.st_dev, status.st_ino)
        self.modified = status.st_mtime_ns // 1_000
        self._short = False
        self._head = self.read(0, _HEAD_BYTES)

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`; fewer at the end, and where the file has shrunk.

        Raises:
            Unreadable: the device fails.
        """
        end = min(end, self.size)
        pieces: list[bytes] = []
        try:
            while start < end:
                piece = os.pread(self.descriptor, end - start, start)
                if not piece:
                    self._short = True
                    break
                if len(piece) == end - start and not pieces:
                    return piece
                pieces.append(piece)
                start += len(piece)
        except OSError as error:
            raise Unreadable(error.strerror or "cannot be read") from error
        return b"".join(pieces)

    @property
    def intact(self) -> bool:
        """Whether all that was there at opening could be read until now.

        A file that was truncated, or emptied and written anew, is not: what was read of it is
        right, but the rest is lost.
        """
        if self._short or os.fstat(self.descriptor).st_size < self.size:
            return False
        return self.read(0, len(self._head)) == self._head

    def lines(
        self, start: int, end: int, first: int = BLOCK_BYTES, largest: int = BLOCK_BYTES
    ) -> Iterator[Lines]:
        """The lines that begin at or after `start`, itself the beginning of one, and before `end`.

        A few lines past `end` may come with the others; memory is bounded however long a line is.

        Args:
            start, end: in bytes.
            first, largest: bytes of the first block and of the largest; each is twice the one
                before, so that a look at a few lines is cheap.
        """
        offset, at, size = start, start, first
        carry = bytearray()  # the beginning of a line whose end is not read yet
        while offset < end:
            block = self.read(at, at + size)
            if not block:
                break
            at += len(block)
            size = min(2 * size, largest)
            cut = block.rfind(b"\n") + 1
            if cut:
                head = block.find(b"\n") + 1
                if carry:
                    raw = bytes(carry + block[: head - 1])
                    line_end = at - len(block) + head
                    text = text_of(raw, self.encoding, line_end - offset - 1)
                    yield Lines([offset, line_end], [text])
                    offset, block, cut = line_end, block[head:], cut - head
                    carry.clear()
                if cut:
                    yield self._split(offset, block[: cut - 1])
                    offset += cut
                block = block[cut:]
            carry += block[: LINE_BYTES + 1 - len(carry)]
        if carry and offset < end:
            text = text_of(bytes(carry), self.encoding, at - offset)
            yield Lines([offset, at], [text])

    def _split(self, offset: int, block: bytes) -> Lines:
        if offset == 0 and block.startswith(codecs.BOM_UTF8):
            block, offset = block[len(codecs.BOM_UTF8) :], len(codecs.BOM_UTF8)
        raw = block.split(b"\n")
        offsets = list(accumulate(map(len, raw), lambda at, size: at + size + 1, initial=offset))
        try:
            text = block.decode(self.encoding)
        except UnicodeDecodeError:
            return Lines(offsets, [text_of(line, self.encoding) for line in raw])
        if "\r" in text or "\0" in text or len(block) > LINE_BYTES < max(map(len, raw)):
            return Lines(offsets, [text_of(line, self.encoding) for line in raw])
        return Lines(offsets, text.split("\n"))

    def line_start(self, at: int, floor: int = 0) -> int:
        """Where the line that holds byte `at` begins, or `floor` where it begins before."""
        end, size = at, 512
        while end > floor:
            begin = max(floor, end - size)
            found = self.read(begin, end).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end, size = begin, min(2 * size, _COUNTED_BYTES)
        return floor

    def line_end(self, at: int, limit: int) -> int | None:
        """Where the line after the one that holds byte `at` begins; None if not before `limit`."""
        size = 512
        while at < min(limit, self.size):
            block = self.read(at, at + size)
            if not block:
                break
            found = block.find(b"\n")
            if found >= 0:
                return at + found + 1
            at, size = at + len(block), min(2 * size, _COUNTED_BYTES)
        return None if at < self.size else self.size

    def line_numbers(self, offsets: set[int], halt: Halt) -> dict[int, int]:
        """The number, from 1, of the line that begins at each offset.

        Raises:
            ScanStopped: `halt` says so.
        """
        numbers: dict[int, int] = {}
        counted, number = 0, 1
        for offset in sorted(offsets):
            while counted < offset:
                halt.check()
                block = self.read(counted, min(offset, counted + _COUNTED_BYTES))
                if not block:
                    return numbers
                number += block.count(b"\n")
                counted += len(block)
            numbers[offset] = number
        return numbers


def text_of(line: bytes, encoding: str, length: int | None = None) -> str:
    """A line as text, without its end; beyond LINE_BYTES it is cut and says by how much.

    Bytes that are not of the encoding, and NULs, become U+FFFD.

    Args:
        line: its bytes, or as many of them as fit.
        encoding: theirs.
        length: of the whole line, where `line` is not all of it.
    """
    length = len(line) if length is None else length
    text = line[:LINE_BYTES].decode(encoding, "replace")
    if length > LINE_BYTES:
        text = f"{text.rstrip(chr(0xFFFD))} [line cut: {length - LINE_BYTES:,} more bytes]"
    elif text.endswith("\r"):
        text = text[:-1]
    return text.replace("\0", "\ufffd") if "\0" in text else text
