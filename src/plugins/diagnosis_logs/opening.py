"""Opening a log: beneath its root and nowhere else; its packing, its encoding and its beginning."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from diagnosis_logs.encodings import Encoding, Recoded, encoding_of
from diagnosis_logs.folded import Unfolded, folding_of
from diagnosis_logs.packing import Readable, Unpacked, other_kind_of, packing_of
from diagnosis_logs.reading import Binary, Halt, Unreadable, blocks_of, decoded
from diagnosis_logs.snapshot import Snapshot

SAMPLE_BYTES = 262_144
# what compressed or compiled data has a tenth of, and text next to nothing
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b")
_TEXT_PER_CONTROL = 100
# Places, in shares of the file, whose bytes help to tell the encoding.
_PLACES = 16
_PLACE_BYTES = 8_192

# O_NONBLOCK: opening a pipe must not hang; it is without effect on a regular file
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_log(path: Path, beneath: Path | None = None) -> BinaryIO:
    """Open a regular file; a link, a pipe or a device in its place is refused.

    Args:
        path: of the file, without links.
        beneath: a folder above it. From there on no part of the path may have become a link, at
            whatever moment: each is opened in the one before.

    Raises:
        Unreadable: it cannot be opened, or it is not a regular file.
    """
    try:
        if beneath is None:
            number = os.open(path, _FILE)
        else:
            number = _open_beneath(beneath, path.relative_to(beneath).parts)
    except OSError as error:
        raise Unreadable(error.strerror or "cannot be opened") from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise Unreadable("not a regular file")
    return os.fdopen(number, "rb", buffering=0)


def _open_beneath(folder: Path, names: tuple[str, ...]) -> int:
    opened = os.open(folder, _FOLDER)
    try:
        for name in names[:-1]:
            inner = os.open(name, _FOLDER, dir_fd=opened)
            os.close(opened)
            opened = inner
        return os.open(names[-1], _FILE, dir_fd=opened)
    finally:
        os.close(opened)


class _FromBeginning:
    """The bytes of a snapshot in order."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._at = 0

    def read(self, size: int, /) -> bytes:
        block = self._snapshot.read(self._at, self._at + size)
        self._at += len(block)
        return block


class LogText:
    """A log file, open: as it was at opening, unpacked and decoded.

    Args:
        raw: the open file. It stays the caller's to close.
        encoding: where it is known.

    Attributes:
        packing: how it is packed, or None.
        snapshot: the file, if any part of its text can be read by itself; else None.
        modified: when it was last written, at opening; microseconds since 1970.
        identity: device and inode.
        size: in bytes on disk, at opening.
        head: its first lines, up to SAMPLE_BYTES.
        empty: whether there is nothing in it.
        damaged: whether a reading from its beginning could not reach its end.

    Raises:
        Binary: it is no text.
        Unreadable: the device fails, or nothing can be unpacked.
    """

    def __init__(self, raw: BinaryIO, encoding: str | None = None) -> None:
        self._bytes = Snapshot(raw)
        self.modified, self.identity = self._bytes.modified, self._bytes.identity
        self.size = self._bytes.size
        self.damaged = False
        start = self._bytes.read(0, SAMPLE_BYTES)
        self.packing = packing_of(start)
        unpacked = self._unpacked()
        head = start if unpacked is None else unpacked.read(SAMPLE_BYTES)
        if unpacked is not None and unpacked.damaged and not head:
            raise Unreadable("damaged")
        self.empty = not head
        if kind := other_kind_of(head):
            raise Binary(f"it is {kind}")
        whole = len(head) < SAMPLE_BYTES
        later = [] if self.packing or whole else self._later()
        samples = [head if whole else _whole_lines(head), *later]
        self._encoding = encoding_of(head, samples, encoding)
        if self._encoding.given is None and _is_binary(head):
            raise Binary("it holds NUL bytes and other control characters")
        self.snapshot: Snapshot | None = None
        if self.packing is None and self._encoding.as_it_stands:
            self.snapshot = self._bytes
            self.snapshot.encoding = self._encoding.name
        else:
            head = self._recoded(_Once(head)).read(2 * SAMPLE_BYTES)
        self._folding = folding_of(decoded(head, self._encoding.name))
        if self._folding is not None:
            if self._encoding.as_it_stands:
                self._encoding = Encoding("utf-8", self._encoding.name)
                head = self._recoded(_Once(head)).read(2 * SAMPLE_BYTES)
            self.snapshot = None
            head = Unfolded(_Once(head), self._folding).read(2 * SAMPLE_BYTES)
        self.head = decoded(head, self._encoding.name).removeprefix("\ufeff").split("\n")
        if not whole and len(self.head) > 1:
            self.head.pop()  # its end is beyond the sample

    @property
    def intact(self) -> bool:
        """Whether all of it could be read until now: neither damaged, nor cut off or rewritten."""
        return not self.damaged and self._bytes.intact

    def blocks(self, halt: Halt) -> Iterator[list[str]]:
        """Its lines from the beginning, a block at a time; a damaged file ends where it is broken.

        Raises:
            Unreadable: the device fails.
            ScanStopped: `halt` says so.
        """
        unpacked = self._unpacked()
        source = self._from(unpacked or _FromBeginning(self._bytes))
        yield from blocks_of(source, halt, self._encoding.name)
        if unpacked is not None and unpacked.damaged:
            self.damaged = True

    def _unpacked(self) -> Unpacked | None:
        if self.packing is None:
            return None
        return Unpacked(_FromBeginning(self._bytes), self.packing)

    def _from(self, source: Readable) -> Readable:
        source = self._recoded(source)
        return source if self._folding is None else Unfolded(source, self._folding)

    def _recoded(self, source: Readable) -> Readable:
        return source if self._encoding.as_it_stands else Recoded(source, self._encoding)

    def _later(self) -> list[bytes]:
        """Whole lines from several places."""
        size = self._bytes.size
        places = {size * place // _PLACES for place in range(1, _PLACES)}
        raw = (self._bytes.read(at, at + _PLACE_BYTES) for at in sorted(places))
        return [_whole_lines(each.partition(b"\n")[2]) for each in raw]


class _Once:
    def __init__(self, block: bytes) -> None:
        self._block = block

    def read(self, size: int, /) -> bytes:
        del size
        block, self._block = self._block, b""
        return block


def _whole_lines(raw: bytes) -> bytes:
    """The bytes without a line at the end that goes on, unless there is no other."""
    return raw[: raw.rfind(b"\n") + 1 or len(raw)]


def _is_binary(head: bytes) -> bool:
    """Whether there are NULs in it, and more than one byte in a hundred is a control character.

    A few come with a crash or a careless writer: such a log is read, they become U+FFFD.
    """
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return b"\0" in head and controls * _TEXT_PER_CONTROL > len(head)
