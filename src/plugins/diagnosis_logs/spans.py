"""The first and last time in a log, from its two ends, without reading what lies between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from diagnosis_logs.reading import Halt, Unreadable, read_blocks
from diagnosis_logs.records import Record, read_records
from diagnosis_logs.scan import modified, shape_of
from diagnosis_logs.settings import LogsSettings
from diagnosis_logs.shapes import RecordStarts, Shape
from diagnosis_logs.sources import LogFile, LogSources
from diagnosis_logs.timestamps import from_instant

_TAIL_BYTES = 262_144
# Packed files have no tail that can be read by itself; larger ones are not unpacked for a summary.
SUMMARY_PACKED_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Span:
    """The times of one file.

    Attributes:
        first, last: instants, None where not known.
        zoned: whether its times carry their zone.
        offset: the one that the last time shows, None where it shows none.
    """

    first: int | None
    last: int | None
    zoned: bool
    offset: tzinfo | None = None


def span_of(file: LogFile, zone: tzinfo, *, packed_limit: int | None = None) -> Span:
    """First and last time of a file.

    Args:
        file: the file.
        zone: of times that carry none.
        packed_limit: packed files above this many bytes tell no last time.

    Raises:
        Unreadable: it cannot be read.
    """
    shape = shape_of(file)
    if not shape.timed:
        return Span(None, None, zoned=True)
    halt = Halt()
    first = _first_instant(file, shape, zone, halt)
    size = file.path.stat().st_size
    packed = file.path.suffix == ".gz"
    if packed and packed_limit is not None and size > packed_limit:
        return Span(first, None, shape.zoned)
    start = 0 if packed else max(0, size - _TAIL_BYTES)
    last = _last_record(file, shape, zone, halt, start)
    if last is None and start:  # nothing but the lines of one long record
        last = _last_record(file, shape, zone, halt, 0)
    if last is None:
        return Span(first, None, shape.zoned)
    starts = RecordStarts(shape, zone, modified(file))
    return Span(first, last.instant, shape.zoned, starts.offset(last.first))


def _first_instant(file: LogFile, shape: Shape, zone: tzinfo, halt: Halt) -> int | None:
    for record in _records(file, shape, zone, halt, 0):
        if record.instant is not None:
            return record.instant
    return None


def _last_record(
    file: LogFile, shape: Shape, zone: tzinfo, halt: Halt, start: int
) -> Record | None:
    last: Record | None = None
    latest = -1
    for record in _records(file, shape, zone, halt, start):
        if record.instant is not None and record.instant > latest:
            last, latest = record, record.instant
    return last


def _records(file: LogFile, shape: Shape, zone: tzinfo, halt: Halt, start: int) -> Iterator[Record]:
    starts = RecordStarts(shape, zone, modified(file))
    return read_records(read_blocks(file.path, halt, start=start), starts, timed=True)


def latest_time(settings: LogsSettings, zone: tzinfo) -> datetime | None:
    """The last time found in the configured logs, or None where they have none.

    Reads files: call it in a thread where an event loop runs.

    Args:
        settings: which logs, and their zone.
        zone: of times that carry none, where the settings name none; and of the answer, where
            the last line shows no offset of its own.

    Raises:
        SourceError: a configured path cannot be used.
    """
    sources = LogSources(settings)
    sources.check()
    files, _ = sources.files()
    latest: Span | None = None
    for file in files:
        try:
            span = span_of(file, settings.zone_or(zone))
        except Unreadable:
            continue
        if span.last is not None and (latest is None or span.last > (latest.last or 0)):
            latest = span
    if latest is None or latest.last is None:
        return None
    return from_instant(latest.last, latest.offset or zone)


def describe_sources(sources: LogSources, settings: LogsSettings, most_bytes: int) -> str:
    """The sources with their first and last times, one a line, within `most_bytes`.

    Times that carry no zone are shown without one unless the settings name it.
    """
    files, complete = sources.files()
    lines = ["Sources (first to last time):"]
    left = most_bytes - len(lines[0]) - 40
    for number, file in enumerate(files):
        line = f"- {file.source}: {_described(file, settings)}"
        left -= len(line.encode()) + 1
        if left < 0:
            more = len(files) - number
            lines.append(f"- and {more}{'' if complete else ' or more'} more")
            break
        lines.append(line)
    return "\n".join(lines)


def _described(file: LogFile, settings: LogsSettings) -> str:
    try:
        span = span_of(file, settings.zone_or(UTC), packed_limit=SUMMARY_PACKED_BYTES)
    except Unreadable:
        return "cannot be read now"
    if span.first is None:
        return "no times"
    known = span.zoned or settings.zone is not None

    def shown(instant: int | None) -> str:
        if instant is None:
            return "?"
        moment = from_instant(instant, settings.zone_or(UTC))
        return (moment if known else moment.replace(tzinfo=None)).isoformat(timespec="seconds")

    return f"{shown(span.first)} to {shown(span.last)}{'' if known else ' (run zone)'}"
