"""The records of any part of a plain file, whole and each only once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from diagnosis_logs.reading import LINE_BYTES, Halt
from diagnosis_logs.records import Record, RecordBuilder
from diagnosis_logs.shapes import Start
from diagnosis_logs.snapshot import BLOCK_BYTES, Snapshot, text_of

Begin = Callable[[str], Start | None]

_LOOK_BYTES = 1_024
_FIRST_BYTES = 4_096
_BACK_BYTES = 512
# What is read before a record whose beginning is told by the lines before it, and how many of
# these lines do not count.
_RUN_UP_BYTES = 8_192
_RUN_UP_LINES = 4


class RecordReader:
    """Reads spans of a file in ascending order.

    Args:
        snapshot: the file.
        begin: says what begins with a line.
        halt: checked before each block.
        stateful: whether `begin` goes by the lines before, too.
        after: lines of the next file of the set that belong to the last record of this one.

    Attributes:
        done: records that begin before this byte were given already.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        begin: Begin,
        halt: Halt,
        *,
        stateful: bool = False,
        after: Iterable[str] = (),
    ) -> None:
        self._snapshot = snapshot
        self._begin = begin
        self._halt = halt
        self._stateful = stateful
        self._after = after
        self._builder = RecordBuilder(begin)
        self.done = 0

    def records(self, start: int, end: int) -> Iterator[Record]:
        """The records with a byte between `start` and `end`, without those that came before."""
        start = max(start, self.done)
        if start >= min(end, self._snapshot.size):
            return
        if end - start == 1 and not self._stateful:
            record = self._one_line(start)
            if record is not None:
                yield record
                return
        at, kept = self._run_up(start) if self._stateful else (self._beginning(start),) * 2
        builder = self._builder
        builder.forget()
        first = _FIRST_BYTES if end - at < _FIRST_BYTES else BLOCK_BYTES
        for offsets, texts in self._snapshot.lines(at, self._snapshot.size, first):
            self._halt.check()
            for offset, text in zip(offsets, texts, strict=False):
                ended = builder.add(offset, text)
                if ended is not None and ended.place >= kept:
                    yield ended
                if offset >= end and (builder.current is None or builder.current.place >= end):
                    self.done = offset
                    return
        self.done = self._snapshot.size
        if builder.current is not None and builder.current.place >= kept:
            builder.current.more += self._after
            yield builder.current

    def _one_line(self, at: int) -> Record | None:
        """The record that holds byte `at` if it is one short line: the usual case, made quick."""
        snapshot = self._snapshot
        low = max(self.done, at - _LOOK_BYTES)
        chunk = snapshot.read(low, at + 2 * _LOOK_BYTES)
        begin = chunk.rfind(b"\n", 0, at - low) + 1
        end = chunk.find(b"\n", at - low)
        following = chunk.find(b"\n", end + 1)
        if end < 0 or following < 0 or (begin == 0 and (low > self.done or low == 0)):
            return None
        text = text_of(chunk[begin:end], snapshot.encoding)
        found = self._begin(text)
        if found is None:
            return None
        if self._begin(text_of(chunk[end + 1 : following], snapshot.encoding)) is None:
            return None
        self.done = low + end + 1
        return Record(low + begin, found[0], text, found[1], found[2])

    def _beginning(self, at: int) -> int:
        """Where the record that holds byte `at` begins; no further back than what was read."""
        snapshot = self._snapshot
        after = snapshot.line_end(at, snapshot.size) or snapshot.size
        for place, line in lines_before(snapshot, after, self.done):
            self._halt.check()
            if self._begin(text_of(line, snapshot.encoding)) is not None:
                return place
        return self.done

    def _run_up(self, at: int) -> tuple[int, int]:
        """Where to begin to read for the record that holds byte `at`, and where that begins."""
        size = _RUN_UP_BYTES
        while True:
            low = self._snapshot.line_start(max(0, at - size))
            found, passed = -1, 0
            for offsets, texts in self._snapshot.lines(low, at + 1, _RUN_UP_BYTES):
                self._halt.check()
                for offset, text in zip(offsets, texts, strict=False):
                    if offset > at:
                        break
                    begins = self._begin(text) is not None
                    if begins and (passed >= _RUN_UP_LINES or low == 0):
                        found = offset
                    passed += 1
            if found >= 0 or low == 0:
                return low, max(found, self.done)
            size *= 4


def lines_before(snapshot: Snapshot, at: int, floor: int) -> Iterator[tuple[int, bytes]]:
    """The lines before a byte, the nearest first: where each begins, and its bytes without the end.

    Of a line of more than LINE_BYTES come no less than LINE_BYTES + 1.

    Args:
        snapshot: the file.
        at: where a line begins, or the end of the file.
        floor: where the first line begins that may come.
    """
    size = _BACK_BYTES
    while at > floor:
        low = max(floor, at - size)
        chunk = snapshot.read(low, at)
        if len(chunk) < at - low:
            return  # it has shrunk
        end = len(chunk) - chunk.endswith(b"\n")
        while (begin := chunk.rfind(b"\n", 0, end) + 1) or low == floor:
            yield low + begin, chunk[begin:end]
            at = low + begin
            if at == floor:
                return
            end = begin - 1
        if size > LINE_BYTES and at == low + len(chunk):  # the line is longer than that
            at = snapshot.line_start(at - 1, floor)
            yield at, snapshot.read(at, at + LINE_BYTES + 1)
        size = min(8 * size, 2 * LINE_BYTES)
