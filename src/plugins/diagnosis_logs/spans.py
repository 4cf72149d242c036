"""The first and last time in a log, from its two ends, without reading what lies between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import groupby

from diagnosis_logs.checking import check_sources
from diagnosis_logs.logfile import LogFile
from diagnosis_logs.parts import Part, open_part
from diagnosis_logs.reading import Halt, ScanStopped, Unreadable
from diagnosis_logs.settings import LogsSettings
from diagnosis_logs.sources import LogSources
from diagnosis_logs.timestamps import from_instant

_TAIL_BYTES = 65_536
# Packed files have no tail that can be read by itself; larger ones are not unpacked for a summary.
SUMMARY_PACKED_BYTES = 4 << 20
# A file that must be read from its beginning tells no last time if that takes longer.
_PATIENCE_S = 10.0


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
    with ExitStack() as opened:
        part = open_part(file, 0, zone, opened)
        if not part.shape.timed:
            return Span(None, None, zoned=True)
        first, last = part.first, None
        if part.shape.in_order_only or part.snapshot is None:
            if packed_limit is None or part.text.size <= packed_limit:
                first, last = _ends(part, zone)
        else:
            size = part.snapshot.size
            last = _latest(part, zone, _tail(part, size - _TAIL_BYTES))
            if last is None:  # nothing but the lines of one long record
                last = _latest(part, zone, _tail(part, 0))
        if last is None:
            return Span(first, None, part.shape.zoned)
        return Span(first, last[0], part.shape.zoned, part.starts(zone).offset(last[1]))


def _tail(part: Part, begin: int) -> Iterator[list[str]]:
    snapshot = part.snapshot
    if snapshot is not None:
        start = 0 if begin <= 0 else snapshot.line_end(begin - 1, snapshot.size)
        if start is not None:
            for lines in snapshot.lines(start, snapshot.size):
                yield lines.texts


def _latest(part: Part, zone: tzinfo, blocks: Iterator[list[str]]) -> tuple[int, str] | None:
    """The latest time that a line shows by itself, and the line."""
    instant_of = part.starts(zone).instant
    latest: tuple[int, str] | None = None
    for block in blocks:
        for line in block:
            instant = instant_of(line)
            if instant is not None and (latest is None or instant > latest[0]):
                latest = instant, line
    return latest


def _ends(part: Part, zone: tzinfo) -> tuple[int | None, tuple[int, str] | None]:
    """The same of a file that must be read in order, with its first time."""

    def blocks() -> Iterator[list[str]]:
        return _tail(part, 0) if part.snapshot else part.text.blocks(halt)

    halt = Halt(_PATIENCE_S)
    starts = part.starts(zone)
    first: int | None = None
    latest: tuple[int, str] | None = None
    try:
        if part.shape.in_order_only:
            starts.rehearse(blocks())
        for block in blocks():
            for line in block:
                instant = starts.instant(line)
                if instant is not None:
                    first = instant if first is None else first
                    if latest is None or instant > latest[0]:
                        latest = instant, line
    except ScanStopped:
        return part.first, None
    return first, latest


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
    check_sources(sources)
    files = sources.files().files
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
    files, complete, _ = sources.files()
    groups = [list(group) for _, group in groupby(files, key=lambda file: file.source)]
    lines = ["Sources (first to last time):"]
    left = most_bytes - len(lines[0]) - 40
    for number, members in enumerate(groups):
        line = f"- {members[0].source}: {_described(members, settings)}"
        left -= len(line.encode()) + 1
        if left < 0:
            more = len(groups) - number
            lines.append(f"- and {more}{'' if complete else ' or more'} more")
            break
        lines.append(line)
    return "\n".join(lines)


def _described(members: list[LogFile], settings: LogsSettings) -> str:
    spans = []
    for file in members[:1] + members[1:][-1:]:  # the oldest and the newest of a set
        try:
            found = span_of(file, settings.zone_or(UTC), packed_limit=SUMMARY_PACKED_BYTES)
        except Unreadable:
            continue
        spans.append(found)
    if not spans:
        return "cannot be read now"
    first = min((span.first for span in spans if span.first is not None), default=None)
    last = max((span.last for span in spans if span.last is not None), default=None)
    if first is None:
        return "no times"
    zone = members[0].zone or settings.zone_or(UTC)
    known = (
        settings.zone is not None
        or members[0].zone is not None
        or all(span.zoned for span in spans)
    )

    def shown(instant: int | None) -> str:
        if instant is None:
            return "?"
        moment = from_instant(instant, zone)
        return (moment if known else moment.replace(tzinfo=None)).isoformat(timespec="seconds")

    return f"{shown(first)} to {shown(last)}{'' if known else ' (run zone)'}"
