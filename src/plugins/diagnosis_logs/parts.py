"""One file of a source, opened: its shape, its records' beginnings, and its place in the set."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import pairwise
from threading import Lock

from diagnosis_logs.collecting import Origin, Place
from diagnosis_logs.keys import NO_NAMES, KeyNames
from diagnosis_logs.logfile import LogFile
from diagnosis_logs.opening import LogText, open_log
from diagnosis_logs.records import RECORD_LINES
from diagnosis_logs.shapes import RecordStarts, Shape, learn_shape
from diagnosis_logs.snapshot import Snapshot

# A format may change in the middle: looked at in places that stay the same while the file grows.
_LATER_SAMPLES = (1 << 20, 1 << 24, 1 << 28)
_LATER_BYTES = 8_192
_HEAD_LINES = 1_200


@dataclass(slots=True)
class Part:
    """One file of a set.

    Attributes:
        file: as it is configured.
        origin: how its places are told.
        text: what it holds.
        shape: of its lines.
        head: lines of its beginning.
        first: the first instant of its head, None where it has none.
        after: lines of the next file of the set that belong to its last record.
        tail: the last lines of a packed file, if they were read.
    """

    file: LogFile
    origin: Origin
    text: LogText
    shape: Shape
    head: list[str]
    first: int | None
    after: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)

    @property
    def snapshot(self) -> Snapshot | None:
        """The file, if any part of it can be read by itself; None for a packed one."""
        return self.text.snapshot

    @property
    def stateful(self) -> bool:
        """Whether the lines before a line decide if it begins a record."""
        return self.shape.inner is not None or self.shape.slow or not self.shape.timed

    def last_lines(self, count: int) -> list[str]:
        """The last lines, as far as they are known."""
        if self.snapshot is None:
            return self.tail[-count:]
        begin = line_before(self.snapshot, self.snapshot.size, count)
        found: list[str] = []
        for lines in self.snapshot.lines(begin, self.snapshot.size):
            found += lines.texts
        return found[-count:]

    def starts(self, zone: tzinfo) -> RecordStarts:
        """Recognises the beginnings of its records; has state: one for each reading.

        Args:
            zone: of times that carry none, where the file's source has none of its own.
        """
        return RecordStarts(self.shape, self.file.zone or zone, self.text.modified)


def open_text(file: LogFile, opened: ExitStack) -> LogText:
    """Open a file.

    Raises:
        Binary: it is no text.
        Unreadable: it cannot be read.
    """
    raw = open_log(file.path, file.beneath) if file.spool is None else file.spool.reopened()
    return LogText(opened.enter_context(raw), file.encoding)


def open_part(
    file: LogFile, order: int, zone: tzinfo, opened: ExitStack, *, limit: int = _HEAD_LINES
) -> Part:
    """Open a file and learn its shape.

    Args:
        file: which.
        order: its place in its set.
        zone: of times that carry none.
        opened: closes it.
        limit: lines of its head to learn from.

    Raises:
        Unreadable: it cannot be read, or is binary.
    """
    return part_of(file, open_text(file, opened), order, zone, limit=limit)


def part_of(
    file: LogFile,
    text: LogText,
    order: int,
    zone: tzinfo,
    *,
    limit: int = _HEAD_LINES,
    others: Sequence[str] = (),
) -> Part:
    """A file that is open, with its shape learned.

    Args:
        file, text: the file.
        order: its place in its set.
        zone: of times that carry none.
        limit: lines of its head to learn from.
        others: lines of other files of its set, for a file of few.
    """
    head = text.head[:limit]
    later = later_lines(text.snapshot) if text.snapshot is not None else []
    shape = shape_of([*head, *later, *others], file.keys)
    if not shape.timed and len(text.head) > limit:  # a long banner, perhaps
        head = text.head
        shape = shape_of([*head, *later, *others], file.keys)
    origin = Origin(file.source, file.name, order, by_offset=text.snapshot is not None)
    part = Part(file, origin, text, shape, head, None)
    if shape.timed:
        starts = part.starts(zone)
        part.first = next(
            (found for line in head if (found := starts.instant(line)) is not None), None
        )
    return part


def link(parts: list[Part], zone: tzinfo) -> None:
    """Give each part the lines at the beginning of the next one that belong to its last record."""
    for part, following in pairwise(parts):
        if not (part.shape.timed and following.shape.timed):
            continue
        start = following.starts(zone).start
        lines: list[str] = []
        for line in following.head[:RECORD_LINES]:
            if start(line) is not None:
                part.after = lines
                break
            lines.append(line)


def line_before(snapshot: Snapshot, at: int, count: int) -> int:
    """Where the line begins that stands `count` lines before byte `at`, which begins a line."""
    for _ in range(count):
        if at <= 0:
            break
        at = snapshot.line_start(at - 1)
    return at


def around(snapshot: Snapshot, place: Place, count: int) -> tuple[list[str], list[str]]:
    """The lines before and after a record, at most `count` each, as far as the file has them."""
    begin = line_before(snapshot, place.at, count)
    before = [
        text
        for lines in snapshot.lines(begin, place.at)
        for offset, text in zip(lines.offsets, lines.texts, strict=False)
        if offset < place.at
    ]
    after: list[str] = []
    skip = place.lines
    for lines in snapshot.lines(place.at, snapshot.size, _LATER_BYTES):
        after += lines.texts[skip:]
        skip = max(0, skip - len(lines.texts))
        if len(after) >= count:
            break
    return before, after[:count]


def later_lines(snapshot: Snapshot) -> list[str]:
    """A few whole lines from each of several fixed places."""
    lines: list[str] = []
    for at in _LATER_SAMPLES:
        if at + _LATER_BYTES < snapshot.size:
            begin = snapshot.line_end(at, at + _LATER_BYTES)
            if begin is not None:
                for _, texts in snapshot.lines(begin, at + _LATER_BYTES, _LATER_BYTES):
                    lines += texts
    return lines


class _Shapes:
    """Shapes of the samples that were seen last: learning one takes longer than a search."""

    _MOST = 512

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Shape] = OrderedDict()
        self._lock = Lock()

    def of(self, sample: list[str], names: KeyNames) -> Shape:
        content = "\n".join((repr(names), *sample)).encode("utf-8", "replace")
        key = hashlib.blake2b(content).digest()
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        shape = learn_shape(sample, names)
        with self._lock:
            self._known[key] = shape
            if len(self._known) > self._MOST:
                self._known.popitem(last=False)
        return shape


_shapes = _Shapes()


def shape_of(sample: list[str], names: KeyNames = NO_NAMES) -> Shape:
    """The shape of a file's lines, learned from a sample; the same sample is learned from once.

    Args:
        sample: lines, in order.
        names: keys of structured lines to try before all others.
    """
    return _shapes.of(sample, names)
