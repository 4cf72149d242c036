"""Scanning sources for the records that a request asks for; runs in a thread and stops when told.

Files that can be read anywhere are searched where the window lies and where the text filter may
match; the others are read from their beginning. Either way each record is tested as a whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby, pairwise

from diagnosis_logs import ripgrep
from diagnosis_logs.candidates import spans
from diagnosis_logs.collecting import Collector, Match
from diagnosis_logs.counting import HitCounter
from diagnosis_logs.fields import RecordFields
from diagnosis_logs.logfile import LogFile
from diagnosis_logs.members import Relist, open_members
from diagnosis_logs.parts import Part, around, link
from diagnosis_logs.question import Coverage, Question
from diagnosis_logs.reading import Halt, ScanStopped, Unreadable
from diagnosis_logs.record_reader import RecordReader
from diagnosis_logs.records import Record, read_records, with_times
from diagnosis_logs.request import Window
from diagnosis_logs.seeking import DISORDER, SMALL_BYTES, NotOrdered, TimeIndex, TimeRange
from diagnosis_logs.snapshot import Snapshot
from diagnosis_logs.starts import RecordStarts

# In larger files a line is told by its offset: its number would take a reading of all before it.
NUMBERED_BYTES = 256 << 20


def scan(
    files: list[LogFile],
    question: Question,
    collector: Collector,
    halt: Halt,
    relist: Relist | None = None,
) -> list[Coverage]:
    """Search sources one after the other.

    Args:
        files: those of one source stand together, the oldest first.
        question: what to search for.
        collector: takes what is found.
        halt: ends the search.
        relist: lists the files of a source anew, where they were rotated meanwhile.

    Returns:
        One coverage for each source, in order; those that failed, or that time did not reach, have
        `read` False.
    """
    sources = [list(group) for _, group in groupby(files, key=lambda file: file.source)]
    coverages = [Coverage(members[0].source) for members in sources]
    try:
        for members, coverage in zip(sources, coverages, strict=True):
            halt.check()
            with ExitStack() as opened:
                parts = open_members(members, question.zone, coverage, opened, halt, relist)
                _SourceScan(question, collector, halt, coverage).scan(parts)
    except ScanStopped:
        pass  # what was found so far is told as such: the coverages say what was not read
    return coverages


class _SourceScan:
    def __init__(
        self, question: Question, collector: Collector, halt: Halt, coverage: Coverage
    ) -> None:
        self._question = question
        self._collector = collector
        self._halt = halt
        self._coverage = coverage
        window = question.window
        self._start, self._end = window.start, window.end
        self._earliest = window.before.start if collector.with_earlier else window.start

    def scan(self, parts: list[Part]) -> None:
        """Search the files of one source, the oldest first."""
        coverage = self._coverage
        if not parts:
            return
        link(parts, self._question.zone)
        coverage.timed = any(part.shape.timed for part in parts)
        coverage.reached = True
        coverage.empty = all(part.text.empty for part in parts)
        complete = True
        elsewhere = self._elsewhere(parts)
        for number, part in enumerate(parts):
            if number in elsewhere:
                coverage.saw(part.first, None)
                continue
            before = parts[number - 1] if number else None
            following = parts[number + 1] if number + 1 < len(parts) else None
            try:
                if part.snapshot is None:
                    self._stream(part, following)
                else:
                    self._plain(part, part.snapshot)
                    self._settle(part, part.snapshot, before, following)
                complete = complete and part.text.intact
            except Unreadable:
                coverage.failed = True
        coverage.read = complete and not coverage.failed

    def _elsewhere(self, parts: list[Part]) -> set[int]:
        """The packed parts that cannot hold a record of the window, by the times around them."""
        firsts = [part.first for part in parts]
        known = [first for first in firsts if first is not None]
        if len(known) < len(firsts) or any(a > b + DISORDER for a, b in pairwise(known)):
            return set()
        return {
            number
            for number, (first, following) in enumerate(pairwise(known))
            if parts[number].snapshot is None
            and not parts[number].shape.in_order_only
            and (following + DISORDER < self._earliest or first - DISORDER >= self._end)
        }

    def _stream(self, part: Part, following: Part | None) -> None:
        """Read a file from its beginning."""
        collector = self._collector
        starts = part.starts(self._question.zone)
        if part.shape.in_order_only:
            starts.rehearse(part.text.blocks(self._halt))
        blocks = part.text.blocks(self._halt)
        if collector.neighbours:
            collector.skipped()
            blocks = self._with_tail(part, blocks)
        self._all(part, read_records(blocks, starts, after=part.after), passing=True)
        if collector.neighbours and following is not None:
            for line in following.head[len(part.after) :][: collector.neighbours]:
                collector.passed(Record(0, None, line, 0, None))

    def _with_tail(self, part: Part, blocks: Iterator[list[str]]) -> Iterator[list[str]]:
        tail: deque[str] = deque(maxlen=self._collector.neighbours)
        for block in blocks:
            tail.extend(block[-self._collector.neighbours :])
            part.tail = list(tail)
            yield block

    def _all(self, part: Part, records: Iterator[Record], *, passing: bool = False) -> None:
        """Take all records of a part and note its first and last time."""
        first: int | None = None
        last: int | None = None
        fields = RecordFields(part.shape, part.file.service)
        passing = passing and self._collector.neighbours > 0
        try:
            for record in records:
                instant = record.instant
                if instant is not None:
                    if first is None or last is None:
                        first = last = instant
                    elif instant > last:
                        last = instant
                    elif instant < first:
                        first = instant
                self._take(record, part, fields)
                if passing:
                    self._collector.passed(record)
        finally:
            self._coverage.saw(first, last)

    def _plain(self, part: Part, snapshot: Snapshot) -> None:
        """Read what the window and the text filter leave of a file that can be read anywhere."""
        starts = part.starts(self._question.zone)
        reader = RecordReader(
            snapshot, starts.start, self._halt, stateful=part.stateful, after=part.after
        )
        found = self._range(part, snapshot)
        if found is None:
            if part.shape.in_order_only:
                starts.rehearse(lines.texts for lines in snapshot.lines(0, snapshot.size))
            self._all(part, with_times(reader.records(0, snapshot.size), starts))
            return
        self._coverage.saw(found.first, found.last)
        fields = RecordFields(part.shape, part.file.service)
        begin = None if part.stateful else starts.start
        counter = self._counter(snapshot, starts, reader, stateful=part.stateful)
        program = ripgrep.program()
        question = self._question
        decides = None if counter is None else counter.decides_all
        for start, end, line in spans(
            snapshot, found.start, found.end, question.text, begin, self._halt, program, decides
        ):
            if counter is not None and line is not None and counter.decides(start, line):
                continue
            for record in with_times(reader.records(start, end), starts):
                if counter is None or not counter.decided(record.place):
                    self._take(record, part, fields)
        if part.after and found.end >= snapshot.size:
            # the filter may match where its last record goes on, in the next file
            for record in with_times(reader.records(snapshot.size - 1, snapshot.size), starts):
                if counter is None or not counter.decided(record.place):
                    self._take(record, part, fields)

    def _counter(
        self, snapshot: Snapshot, starts: RecordStarts, reader: RecordReader, *, stateful: bool
    ) -> HitCounter | None:
        """Counts matches by their lines alone; None where more has to be known of each."""
        question = self._question
        text = question.text
        certain = text is not None and text.certain and snapshot.encoding == "utf-8"
        if not certain or stateful or question.least is not None or question.service:
            return None
        window = Window(self._earliest, self._end)
        return HitCounter(
            snapshot, starts.start, reader, window, self._collector, self._halt, starts.stamped
        )

    def _range(self, part: Part, snapshot: Snapshot) -> TimeRange | None:
        """Where the window lies; None where everything has to be read."""
        if snapshot.size <= SMALL_BYTES:
            return None
        if not part.shape.timed:
            return TimeRange(0, snapshot.size, None, None)
        if not part.shape.in_order_only:
            begin = part.starts(self._question.zone).instant
            try:
                return TimeIndex(snapshot, begin, self._halt).range_of(self._earliest, self._end)
            except NotOrdered:
                pass
        self._coverage.ordered = False
        return None

    def _take(self, record: Record, part: Part, fields: RecordFields) -> None:
        """Hand a record to the collector if it passes everything."""
        self._halt.check()  # not by the block: masking one block can take longer than a stop may
        instant = record.instant
        if instant is None:
            if part.shape.timed:
                return  # it has no time, or goes on with the last record of the file before
        elif not self._earliest <= instant < self._end:
            return
        question = self._question
        if question.text is not None and not question.text.passes(record.searched):
            return
        match = Match(record, part.origin, fields)
        without_level = False
        if question.least is not None:
            severity = match.severity
            without_level = severity is None
            if severity is not None and severity < question.least:
                return
        if question.service is not None and match.service.lower() != question.service:
            return
        within = instant is None or instant >= self._start
        if without_level:
            self._coverage.without_level += within
        elif within:
            self._collector.add(match)
        else:
            self._collector.add_earlier(match)

    def _settle(
        self, part: Part, snapshot: Snapshot, before: Part | None, following: Part | None
    ) -> None:
        """Complete the places in a file: their lines' numbers, and the lines around them."""
        places = [place for place in self._collector.places() if place.origin is part.origin]
        if not places:
            return
        if snapshot.size <= NUMBERED_BYTES:
            numbers = snapshot.line_numbers({place.at for place in places}, self._halt)
            for place in places:
                place.line = numbers.get(place.at)
        if wanted := self._collector.neighbours:
            for place in places:
                self._halt.check()
                place.before, place.after = around(snapshot, place, wanted)
                if len(place.before) < wanted and before is not None:
                    missing = wanted - len(place.before)
                    place.before = before.last_lines(missing) + place.before
                if len(place.after) < wanted and following is not None:
                    missing = wanted - len(place.after)
                    place.after += following.head[len(part.after) :][:missing]
