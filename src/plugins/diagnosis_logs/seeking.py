"""Where a time window lies in a file that is ordered by time, found by binary search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from diagnosis_logs.reading import Halt
from diagnosis_logs.snapshot import BLOCK_BYTES, Snapshot
from diagnosis_logs.timestamps import MICROSECONDS

# Several writers put lines into one file slightly out of order: a line may stand this much later
# than one with a later time, and is still found.
DISORDER = 10 * MICROSECONDS
# Below this reading everything is as quick as searching.
SMALL_BYTES = 131_072
_CLOSE_BYTES = 16_384
_SAMPLES = 32
_LOOK_BYTES = 512
# A stretch as long as this without the beginning of a record: there is nothing to search by.
_STRETCH_BYTES = 1 << 20
_END_BYTES = 65_536

# The time that a line shows by itself, None where it shows none.
InstantOf = Callable[[str], int | None]


class NotOrdered(Exception):
    """The records of the file do not stand in order of time, or too few of them tell a time."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A part of a file.

    Attributes:
        start, end: bytes; every record of the window begins between them.
        first, last: earliest and latest time of the whole file; None where it has no times.
    """

    start: int
    end: int
    first: int | None
    last: int | None


class TimeIndex:
    """Looks up times in a file without reading it.

    Args:
        snapshot: the file.
        instant_of: the time that a line shows by itself.
        halt: checked before each look.
    """

    def __init__(self, snapshot: Snapshot, instant_of: InstantOf, halt: Halt) -> None:
        self._snapshot = snapshot
        self._instant_of = instant_of
        self._halt = halt
        self._seen: dict[int, int] = {}  # offset of a record, its instant

    def range_of(self, start: int, end: int) -> TimeRange:
        """Where the records from `start` to `end` (exclusive) stand.

        Args:
            start, end: instants.

        Raises:
            NotOrdered: see there. Found by samples and by every look of the search.
            ScanStopped: the halt says so.
        """
        size = self._snapshot.size
        head = self._ends(0, _CLOSE_BYTES)
        tail = self._ends(max(0, size - _END_BYTES), size)
        if tail is None:
            tail = self._ends(max(0, size - _STRETCH_BYTES), size)
        if head is None or tail is None:
            raise NotOrdered("no times at its ends")
        first, last = min(head[0], tail[0]), max(head[1], tail[1])
        for sample in range(1, _SAMPLES):
            self._look(size * sample // _SAMPLES)
        found = TimeRange(
            self._search(start - DISORDER)[0], self._search(end + DISORDER)[1], first, last
        )
        self._check_order()
        return found

    def _search(self, instant: int) -> tuple[int, int]:
        """Two close bytes: records before the first are earlier, from the second on not earlier.

        The second is the end of a record: its lines may stand far behind its beginning.
        """
        low, high = 0, self._snapshot.size
        for offset, seen in self._seen.items():  # what is known already
            if seen < instant:
                low = max(low, offset)
        for offset, seen in self._seen.items():
            if seen >= instant and offset >= low:
                high = min(high, offset)
        reach = high
        while high - low > _CLOSE_BYTES:
            middle = (low + high) // 2
            found = self._look(middle)
            if found is None or found[1] >= instant:
                high = middle
                reach = self._snapshot.size if found is None else found[0]
            else:
                low = found[0]
        return low, reach

    def _look(self, at: int) -> tuple[int, int] | None:
        """The first record that begins at or after byte `at` and its instant; None at the end."""
        self._halt.check()
        snapshot, instant_of = self._snapshot, self._instant_of
        line = 0 if at == 0 else snapshot.line_end(at - 1, at + _STRETCH_BYTES)
        if line is None:
            raise NotOrdered("a very long line")
        for offsets, texts in snapshot.lines(line, line + _STRETCH_BYTES, _LOOK_BYTES):
            for offset, text in zip(offsets, texts, strict=False):
                instant = instant_of(text)
                if instant is not None:
                    self._seen[offset] = instant
                    return offset, instant
        if line + _STRETCH_BYTES < snapshot.size:
            raise NotOrdered("a long stretch without times")
        return None

    def _ends(self, start: int, end: int) -> tuple[int, int] | None:
        """The earliest and the latest time of the records that begin between two bytes.

        Raises:
            NotOrdered: one stands too late among them.
        """
        snapshot, instant_of = self._snapshot, self._instant_of
        line = 0 if start == 0 else snapshot.line_end(start - 1, end)
        earliest = latest = None
        if line is None:
            return None
        for offsets, texts in snapshot.lines(line, end, min(end - line, BLOCK_BYTES)):
            self._halt.check()
            for offset, text in zip(offsets, texts, strict=False):
                if offset >= end or (instant := instant_of(text)) is None:
                    continue
                if earliest is None or latest is None:
                    earliest = latest = instant
                    self._seen[offset] = instant
                elif instant > latest:
                    latest = instant
                elif instant < latest - DISORDER:
                    raise NotOrdered("a later record has an earlier time")
                elif instant < earliest:
                    earliest = instant
        if earliest is None or latest is None:
            return None
        return earliest, latest

    def _check_order(self) -> None:
        latest = None
        for offset in sorted(self._seen):
            instant = self._seen[offset]
            if latest is not None and instant < latest - DISORDER:
                raise NotOrdered("a later record has an earlier time")
            latest = instant if latest is None else max(latest, instant)
