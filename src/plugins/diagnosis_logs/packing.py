"""Packed files, known by their first bytes: what can be unpacked of them, in bounded memory."""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable
from typing import Any, Protocol

# More is not unpacked of one file: what stands behind it is told as not searched.
UNPACKED_BYTES = 8 << 30
# So little is fed at a time, since a thousandfold or more may come out (zstd: 128 KiB for 4 bytes),
# and what a broken piece would have given is lost.
_FED_BYTES = 1_024
_READ_BYTES = 65_536
_MEMORY_BYTES = 128 << 20

_GZIP, _BZIP2, _XZ, _ZSTD = "gzip", "bzip2", "xz", "zstd"
_PACKINGS = (
    (re.compile(rb"\x1f\x8b\x08"), _GZIP),
    (re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _ZSTD),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), _BZIP2),
    (re.compile(rb"\xfd7zXZ\0"), _XZ),
)
_OTHERS = (
    (re.compile(rb"PK(?:\x03\x04|\x05\x06)"), "a zip archive"),
    (re.compile(rb"7z\xbc\xaf\x27\x1c"), "a 7z archive"),
    (re.compile(rb"Rar!\x1a\x07"), "a rar archive"),
    (re.compile(rb"\x04\x22\x4d\x18"), "an lz4 file"),
    (re.compile(rb"\x1f[\x9d\xa0]"), "packed by compress"),
    (re.compile(rb"(?s:.{257})ustar"), "a tar archive"),
    (re.compile(rb"LPKSHHRH"), "a systemd journal (export it with journalctl)"),
    (re.compile(rb"ElfFile\0"), "a Windows event log (export it as text)"),
)


class Readable(Protocol):
    """What gives bytes in order; none at its end."""

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        ...


def packing_of(head: bytes) -> str | None:
    """How a file is packed (gzip, bzip2, xz or zstd), by its first bytes; None if it is not."""
    return next((name for magic, name in _PACKINGS if magic.match(head)), None)


def other_kind_of(head: bytes) -> str | None:
    """What a file is that holds lines, but not as they are: archives and the like; else None."""
    return next((name for magic, name in _OTHERS if magic.match(head)), None)


class Unpacked:
    """What a packed file holds, as far as it can be unpacked.

    Members that follow one another are one stream, as gzip and zstd define it.

    Args:
        source: the packed bytes.
        packing: as `packing_of` tells.

    Attributes:
        damaged: whether the reading ended before the end: the file is cut off or broken, or holds
            more than UNPACKED_BYTES.
    """

    def __init__(self, source: Readable, packing: str) -> None:
        self._source = source
        self._packing = packing
        self._block = b""  # read of the source
        self._at = 0  # how much of it was fed
        self._member: Any = None
        self._out = bytearray()
        self._given = 0
        self._ended = False
        self._errors = _errors(packing)
        self.damaged = False

    def read(self, size: int, /) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        out = self._out
        while len(out) < size and not self._ended:
            try:
                out += self._next(size)
            except self._errors:
                self._end(damaged=True)
        piece = bytes(out[:size])
        del out[:size]
        self._given += len(piece)
        if self._given > UNPACKED_BYTES:
            self._end(damaged=True)
            out.clear()
        return piece

    def _next(self, size: int) -> bytes:
        """What the next piece of the source gives."""
        if self._member is not None and not self._wants():
            return self._feed(b"", size)  # it holds more than it could give
        if self._at >= len(self._block):
            self._block, self._at = self._source.read(_READ_BYTES), 0
            if not self._block:
                self._end(damaged=self._member is not None)
                return b""
        if self._member is None and not self._begin():
            return b""
        piece = self._block[self._at : self._at + _FED_BYTES]
        self._at += len(piece)
        return self._feed(piece, size)

    def _begin(self) -> bool:
        """Begin with the next member; False where there is none."""
        rest = self._block[self._at :].lstrip(b"\0")  # the filling behind a member
        if not rest:
            self._at = len(self._block)
            return False
        if len(rest) < _FED_BYTES:
            rest += self._source.read(_READ_BYTES)
        self._block, self._at = rest, 0
        if packing_of(rest) != self._packing:
            self._end(damaged=True)
            return False
        self._member = _STARTS[self._packing]()
        return True

    def _wants(self) -> bool:
        needs: bool = getattr(self._member, "needs_input", True)
        return needs

    def _feed(self, piece: bytes, size: int) -> bytes:
        member = self._member
        # zlib and zstd take no limit: they give all that the piece holds, which was kept small
        limited = self._packing in (_BZIP2, _XZ)
        given: bytes = member.decompress(piece, size) if limited else member.decompress(piece)
        if member.eof:
            self._block, self._at = member.unused_data + self._block[self._at :], 0
            self._member = None
        return given

    def _end(self, *, damaged: bool) -> None:
        self._ended = True
        self.damaged = self.damaged or damaged


def _zstd() -> Any:
    import zstandard  # late: few logs need it

    return zstandard.ZstdDecompressor(max_window_size=_MEMORY_BYTES).decompressobj()


def _errors(packing: str) -> tuple[type[Exception], ...]:
    """What broken data raises."""
    errors = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, MemoryError)
    if packing != _ZSTD:
        return errors
    import zstandard

    return (*errors, zstandard.ZstdError)


_STARTS: dict[str, Callable[[], Any]] = {
    _GZIP: lambda: zlib.decompressobj(31),
    _BZIP2: bz2.BZ2Decompressor,
    _XZ: lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_BYTES),
    _ZSTD: _zstd,
}
