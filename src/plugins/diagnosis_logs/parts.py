"""One file of a source, opened: its shape, its records' beginnings, and its place in the set."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import pairwise
from threading import Lock

from diagnosis_logs.collecting import Origin, Place
from diagnosis_logs.keys import NO_NAMES, KeyNames
from diagnosis_logs.reading import Unreadable, open_log, sample_of
from diagnosis_logs.records import RECORD_LINES
from diagnosis_logs.shapes import RecordStarts, Shape, learn_shape
from diagnosis_logs.snapshot import Snapshot
from diagnosis_logs.sources import LogFile

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
        snapshot: the file, if any part of it can be read by itself; None for a packed one.
        shape: of its lines.
        head: lines of its beginning.
        first: the first instant of its head, None where it has none.
        after: lines of the next file of the set that belong to its last record.
        tail: the last lines of a packed file, if they were read.
    """

    file: LogFile
    origin: Origin
    snapshot: Snapshot | None
    shape: Shape
    head: list[str]
    first: int | None
    after: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)

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
        """Recognises the beginnings of its records; has state: one for each reading."""
        return starts_of(self.file, self.snapshot, self.shape, zone)


def open_part(
    file: LogFile, order: int, zone: tzinfo, opened: ExitStack, *, limit: int = _HEAD_LINES
) -> Part:
    """Open a file and learn its shape.

    Args:
        file: which.
        order: its place in its set, 0 for the oldest.
        zone: of times that carry none.
        opened: closes it.
        limit: lines of its head to learn from.

    Raises:
        Unreadable: it cannot be read, or is binary.
    """
    snapshot = None
    if not packed(file):
        snapshot = Snapshot(opened.enter_context(open_log(file.path)))
    head = sample_of(file.path)[:limit]
    later = later_lines(snapshot) if snapshot is not None else []
    shape = shape_of(head + later, file.keys)
    first = None
    starts = starts_of(file, snapshot, shape, zone)
    if shape.timed:
        first = next((found for line in head if (found := starts.instant(line)) is not None), None)
    origin = Origin(file.source, file.source, order, by_offset=snapshot is not None)
    return Part(file, origin, snapshot, shape, head, first)


def packed(file: LogFile) -> bool:
    """Whether a file can be read from its beginning only."""
    return file.path.suffix == ".gz"


def starts_of(file: LogFile, snapshot: Snapshot | None, shape: Shape, zone: tzinfo) -> RecordStarts:
    """Recognises the beginnings of a file's records.

    Raises:
        Unreadable: the file is gone.
    """
    modified = _modified(file) if snapshot is None else snapshot.modified
    return RecordStarts(shape, zone, modified)


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


def unchanged(part: Part) -> bool:
    """Whether the path still leads to the file that was opened."""
    if part.snapshot is None:
        return True
    with suppress(OSError):
        status = part.file.path.stat()
        return (status.st_dev, status.st_ino) == part.snapshot.identity
    return False


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


def _modified(file: LogFile) -> int:
    try:
        return file.path.stat().st_mtime_ns // 1_000
    except OSError as error:
        raise Unreadable("gone") from error
