"""Where in a file a text filter may match, found in its bytes without reading it as records."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

from diagnosis_logs import ripgrep
from diagnosis_logs.filters import TextFilter, compiled, quoted
from diagnosis_logs.reading import Halt
from diagnosis_logs.record_reader import Begin
from diagnosis_logs.snapshot import Snapshot, text_of

BLOCK_BYTES = 1 << 20
# ripgrep always searches the whole file: below this size, or this share of it, it costs more.
RIPGREP_BYTES = 32 << 20
_RIPGREP_SHARE = 3
# How many lines to go back in a block to find the beginning of a record.
_LOOKED_BACK = 64

# text, first and last position: where a match begins, or -1
Find = Callable[[bytes, int, int], int]
# the same: a match, or None
Search = Callable[[bytes, int, int], Any]
# Whether it dealt with these lines.
Decides = Callable[[ripgrep.Found], bool]
# First byte and the one after the last, of a span of bytes that has to be read as records; and the
# line that begins with the first one where that line is known to hold the literal, else None.
Span = tuple[int, int, bytes | None]


def spans(
    snapshot: Snapshot,
    start: int,
    end: int,
    text: TextFilter | None,
    begin: Begin | None,
    halt: Halt,
    program: str | None = None,
    decides: Decides | None = None,
) -> Iterator[Span]:
    """Ascending spans of a part of a file; every record outside them fails the filter.

    Args:
        snapshot: the file.
        start, end: the part, in bytes; `start` begins a line.
        text: the filter; without one, everything has to be read.
        begin: says what begins with a line.
        halt: checked before each block.
        program: the path of ripgrep; where there is none, or it fails, the search is this one's.
        decides: deals with many lines at once where it can, which are then left out.

    Raises:
        ScanStopped: the halt says so.
    """
    if text is None:
        yield start, end, None
    elif text.literal is not None and _searchable(text.literal, snapshot.encoding):
        if program is not None and snapshot.encoding == "utf-8" and _is_wide(snapshot, start, end):
            hits = ripgrep.search(program, snapshot, text.literal, halt)
            start = yield from _told(hits, snapshot, start, end, decides)
        find = _finder(text.literal, snapshot.encoding)
        yield from _literal_lines(snapshot, start, end, find, halt)
    elif text.regex is not None and snapshot.encoding == "utf-8":
        # (?m): in a block, a line's edges are the edges that a record may have
        search = compiled(f"(?m){text.regex}").search
        yield from _regex_hits(snapshot, start, end, search, begin, halt)
    else:
        yield start, end, None


def _told(
    hits: Iterator[ripgrep.Found],
    snapshot: Snapshot,
    start: int,
    end: int,
    decides: Decides | None,
) -> Generator[Span, None, int]:
    """The spans of hits that ripgrep finds; returns from where on nothing was searched."""
    hit = -1
    try:
        for found in hits:
            inside = start <= found.first and found.last < end
            if inside and decides is not None and decides(found):
                hit = found.last
                continue
            for hit, line in found.lines():
                if hit >= end:
                    return end
                if hit >= start:
                    yield hit, hit + 1, line
    except ripgrep.RipgrepFailed:
        # behind the last line that it found
        return start if hit < start else snapshot.line_end(hit, end) or end
    return end


def _searchable(literal: str, encoding: str) -> bool:
    if encoding == "utf-8" or literal.isascii():
        return True
    if literal.lower() != literal.upper():
        return False  # its other case has other bytes
    try:
        literal.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _is_wide(snapshot: Snapshot, start: int, end: int) -> bool:
    return end - start >= max(RIPGREP_BYTES, snapshot.size // _RIPGREP_SHARE)


def _finder(literal: str, encoding: str) -> Find:
    if literal.lower() == literal.upper():
        return partial(_find, literal.encode(encoding))
    search = compiled(quoted(literal), encoding=encoding).search
    return lambda block, start, end: (
        -1 if (hit := search(block, start, end)) is None else hit.start()
    )


def _find(literal: bytes, block: bytes, start: int, end: int) -> int:
    return block.find(literal, start, end)


def _literal_lines(
    snapshot: Snapshot, start: int, end: int, find: Find, halt: Halt
) -> Iterator[Span]:
    at = start
    while at < end:
        halt.check()
        block = snapshot.read(at, at + BLOCK_BYTES)
        if not block:
            return
        cut = _last_line(snapshot, at, block)
        if not cut:  # a piece of a very long line
            yield at, at + len(block), None
            at += len(block)
            continue
        position = 0
        while position < cut and (hit := find(block, position, cut)) >= 0:
            line = block.rfind(b"\n", 0, hit) + 1
            position = block.find(b"\n", hit) + 1 or cut
            yield at + line, at + line + 1, block[line : position - (block[position - 1] == 10)]
        at += cut


def _regex_hits(
    snapshot: Snapshot, start: int, end: int, search: Search, begin: Begin | None, halt: Halt
) -> Iterator[Span]:
    at = start
    while at < end:
        halt.check()
        block = snapshot.read(at, at + BLOCK_BYTES)
        if not block:
            return
        lines = cut = _last_line(snapshot, at, block)
        if begin is not None and at + cut < snapshot.size:
            cut = _last_record(block, cut, begin, snapshot.encoding)
        if cut and _as_it_reads(block[:cut]):
            yield from _found(at, block, cut, search)
        else:
            cut = lines or len(block)
            yield at, at + cut, None
        at += cut


def _last_line(snapshot: Snapshot, at: int, block: bytes) -> int:
    """Where in a block its last whole line ends; 0 if nowhere."""
    return len(block) if at + len(block) >= snapshot.size else block.rfind(b"\n") + 1


def _last_record(block: bytes, cut: int, begin: Begin, encoding: str) -> int:
    """Where in a block its last record begins; 0 if that is not near its end."""
    for _ in range(_LOOKED_BACK):
        line = block.rfind(b"\n", 0, max(0, cut - 1)) + 1
        if not line or begin(text_of(block[line : cut - 1], encoding)) is not None:
            return line
        cut = line
    return 0


def _as_it_reads(block: bytes) -> bool:
    """Whether the text of the records is the bytes of the block."""
    if b"\r" in block or b"\0" in block or codecs.BOM_UTF8 in block:
        return False
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _found(at: int, block: bytes, cut: int, search: Search) -> Iterator[Span]:
    position = 0
    while position < cut and (found := search(block, position, cut)) is not None:
        hit = found.start()
        yield at + hit, at + hit + 1, None
        # once a line: the record of a hit is read as a whole
        position = block.find(b"\n", hit) + 1 or cut
