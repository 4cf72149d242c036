"""Matches that need only be counted: told by the lines in which a search found its text.

Once a page is full, all that is left to know of a match is that its record lies in the window. For
that its first line is enough: no record is put together, and the file is read again only where the
text stands in a later line of a record. What cannot be told so is left to the reader of records.
"""

from __future__ import annotations

from diagnosis_logs.collecting import Collector
from diagnosis_logs.reading import LINE_BYTES, Halt
from diagnosis_logs.record_reader import Begin, RecordReader, lines_before
from diagnosis_logs.records import RECORD_CHARACTERS, RECORD_LINES
from diagnosis_logs.request import Window
from diagnosis_logs.ripgrep import Found
from diagnosis_logs.shapes import Start
from diagnosis_logs.snapshot import Snapshot, text_of
from diagnosis_logs.stamped import StampedLines

_REMEMBERED = 1_000
_REMEMBERED_BYTES = 512
_CHECKED_LINES = 16


class HitCounter:
    """Decides on lines in ascending order, each of which holds a text that its record must hold.

    Args:
        snapshot: the file; in UTF-8, so that a text in its bytes is in the text of its records.
        begin: says what begins with a line, by that line alone.
        reader: takes the records that are not counted here.
        window: in which a record is taken.
        collector: takes the counts.
        halt: checked while looking for the beginning of a record.
        stamped: what begins records, where that is nothing but a stamp of one shape.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        begin: Begin,
        reader: RecordReader,
        window: Window,
        collector: Collector,
        halt: Halt,
        stamped: StampedLines | None,
    ) -> None:
        self._snapshot = snapshot
        self._begin = begin
        self._reader = reader
        self._start, self._end = window.start, window.end
        self._collector = collector
        self._halt = halt
        self._decided = -1  # where the last record begins that was decided on here
        self._upto = -1  # the last line of it that was looked at
        self._more = 0  # how many lines stand between the two
        self._no_starts: set[bytes] = set()
        self._stamped = stamped

    def decided(self, place: int) -> bool:
        """Whether the record there was decided on here; the reader may bring it as well."""
        return place == self._decided

    def decides_all(self, found: Found) -> bool:
        """Count the records of many lines, where each begins one and all are only to be counted.

        Else nothing is counted, and False: the lines have to be looked at one by one.
        """
        if self._stamped is None or found.first < self._reader.done:
            return False
        told = self._stamped.told(found.told)
        if told is None:
            return False
        within = self._start <= told.earliest and told.latest < self._end
        if not within or not self._collector.only_counts(told.earliest, told.latest):
            return False
        self._collector.count(told.lines)
        self._decided = self._upto = found.last
        self._more = 0
        return True

    def decides(self, at: int, line: bytes) -> bool:
        """Count the record of a line if it is to be counted; False if it has to be read.

        Args:
            at: where the line begins.
            line: its bytes.
        """
        if at < self._reader.done:
            return True  # its record was read
        if len(line) > LINE_BYTES:
            return False  # the text may stand in what is cut off
        found = self._begins(line)
        return self._follows(at) if found is None else self._decide(at, found[0], at, 0)

    def _begins(self, line: bytes) -> Start | None:
        """What begins with a line; lines that begin nothing come again, such as those of traces."""
        if line in self._no_starts:
            return None
        found = self._begin(text_of(line, "utf-8"))
        if found is None and len(line) <= _REMEMBERED_BYTES:
            if len(self._no_starts) >= _REMEMBERED:
                self._no_starts.clear()
            self._no_starts.add(line)
        return found

    def _decide(self, place: int, instant: int | None, upto: int, more: int) -> bool:
        if instant is None:
            return False
        if self._start <= instant < self._end:
            if not self._collector.only_counts(instant, instant):
                return False
            self._collector.count()
        self._decided, self._upto, self._more = place, upto, more
        return True

    def _follows(self, at: int) -> bool:
        """The same for a line that begins no record."""
        floor = max(self._reader.done, self._upto)
        before = lines_before(self._snapshot, at, floor)
        for lines, (place, line) in enumerate(before, start=1):
            if place == self._upto:  # nothing began since then: the same record goes on
                self._upto, self._more = at, self._more + lines
                return self._is_whole(self._decided, at, self._more)
            found = self._begins(line)
            if found is not None:
                return self._is_whole(place, at, lines) and self._decide(place, found[0], at, lines)
            if not lines % _CHECKED_LINES:
                self._halt.check()
                if not self._is_whole(place, at, lines):
                    break
        return False

    @staticmethod
    def _is_whole(place: int, at: int, lines: int) -> bool:
        """Whether a record surely goes on as far as a line, and is not split before it."""
        return lines <= RECORD_LINES and at - place <= RECORD_CHARACTERS
