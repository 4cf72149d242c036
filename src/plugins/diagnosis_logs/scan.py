"""Scanning files for the records that a request asks for; runs in a thread and stops when told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo

from diagnosis_logs.collecting import Collector, Match
from diagnosis_logs.fields import RecordFields, severity
from diagnosis_logs.filters import TextTest
from diagnosis_logs.levels import Level
from diagnosis_logs.reading import Binary, Halt, ScanStopped, Unreadable, read_blocks, sample_of
from diagnosis_logs.records import Record, read_records
from diagnosis_logs.request import Window
from diagnosis_logs.shapes import RecordStarts, Shape, learn_shape
from diagnosis_logs.sources import LogFile


@dataclass(frozen=True, slots=True)
class Question:
    """A request, made ready for scanning.

    Attributes:
        window: which records.
        passes: the text filters, or None.
        least: the least level, or None.
        service: in lower case, or None.
        zone: of log times that carry none.
    """

    window: Window
    passes: TextTest | None
    least: Level | None
    service: str | None
    zone: tzinfo


@dataclass(slots=True)
class Coverage:
    """What a scan saw of one file.

    Attributes:
        first, last: earliest and latest time in it, as far as it was read; None without times.
        timed: whether it has times at all; a file without is searched whole.
        log: whether it is a log at all.
        failed: whether it could not be read (to its end).
        reached: whether its reading began.
        read: whether it was read to its end.
        without_level: records of the window that were left out only because they have no level.
    """

    source: str
    first: int | None = None
    last: int | None = None
    timed: bool = True
    log: bool = True
    failed: bool = False
    reached: bool = False
    read: bool = False
    without_level: int = 0


def scan(
    files: list[LogFile], question: Question, collector: Collector, halt: Halt
) -> list[Coverage]:
    """Search files one after the other.

    Returns:
        One coverage for each log, in order; those that failed, or that time did not reach, have
        `read` False. A binary file in a folder is no log.
    """
    coverages = [Coverage(file.source) for file in files]
    try:
        for file, coverage in zip(files, coverages, strict=True):
            halt.check()
            try:
                _scan_file(file, question, collector, halt, coverage)
            except Binary:
                coverage.log = not file.in_folder
                coverage.failed = True
            except Unreadable:
                coverage.failed = True
            else:
                coverage.read = True
    except ScanStopped:
        pass  # what was found so far is told as such: the coverages say what was not read
    return [coverage for coverage in coverages if coverage.log]


def modified(file: LogFile) -> int:
    """When the file was last written, as an instant.

    Raises:
        Unreadable: it is gone.
    """
    try:
        return file.path.stat().st_mtime_ns // 1_000
    except OSError as error:
        raise Unreadable("gone") from error


def shape_of(file: LogFile) -> Shape:
    """The shape of a file's lines.

    Raises:
        Unreadable: it cannot be read, or is binary.
    """
    return learn_shape(sample_of(file.path))


def _scan_file(
    file: LogFile, question: Question, collector: Collector, halt: Halt, coverage: Coverage
) -> None:
    shape = shape_of(file)
    coverage.timed = shape.timed
    coverage.reached = True
    starts = RecordStarts(shape, question.zone, modified(file))
    fields = RecordFields(shape, file.service)
    records = read_records(read_blocks(file.path, halt), starts, timed=shape.timed)
    window = question.window
    start, end = window.start, window.end
    earliest = window.before.start if collector.with_earlier else start
    neighbours = collector.with_neighbours
    collector.begin_source()
    first, last = None, None
    try:
        for record in records:
            instant = record.instant
            if instant is None:
                wanted = not shape.timed
            else:
                if first is None or last is None:
                    first = last = instant
                elif instant > last:
                    last = instant
                elif instant < first:
                    first = instant
                wanted = earliest <= instant < end
            if wanted and (match := _match(record, file, fields, question)) is not None:
                within = instant is None or instant >= start
                if question.least is not None and match.severity is None:
                    coverage.without_level += within
                elif within:
                    collector.add(match)
                else:
                    collector.add_earlier(match)
            if neighbours:
                collector.passed(record)
    finally:
        coverage.first, coverage.last = first, last


def _match(record: Record, file: LogFile, fields: RecordFields, question: Question) -> Match | None:
    """The record where it passes; one without a level passes here whatever level is asked for."""
    if question.passes is not None and not question.passes(record.text):
        return None
    level = fields.level(record)
    ranked = severity(level, record.text)
    if question.least is not None and ranked is not None and ranked < question.least:
        return None
    service = fields.service(record)
    if question.service is not None and service.lower() != question.service:
        return None
    return Match(record, file.source, level, ranked, service, fields)
