"""Records: a line that begins with a time, and the lines after it that belong to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from pydantic import JsonValue

from diagnosis_logs.reading import LINE_BYTES
from diagnosis_logs.shapes import RecordStarts, Start

# A record beyond these bounds is split; every line stays searchable in bounded memory.
RECORD_LINES = 1_000
RECORD_CHARACTERS = 65_536

# What the reading puts at the end of a line that it cut; a cut line has at least this many
# characters.
_CUT_MARK = re.compile(r" \[line cut: [\d,]{1,20} more bytes\]\Z")
_CUT_CHARACTERS = LINE_BYTES // 4


class Record:
    """One event of a log.

    Attributes:
        place: where its first line stands in its file: a byte offset, or the number of the line
            (from 1) in a file that is read from its beginning only.
        instant: microseconds since 1970, or None where the file has no times.
        first: its first line.
        body: where in `first` the stamp ends.
        data: the object of a JSON line, else None.
        more: its further lines.
    """

    __slots__ = ("body", "data", "first", "instant", "more", "place")

    def __init__(
        self,
        place: int,
        instant: int | None,
        first: str,
        body: int,
        data: dict[str, JsonValue] | None,
    ) -> None:
        self.place = place
        self.instant = instant
        self.first = first
        self.body = body
        self.data = data
        self.more: list[str] = []

    @property
    def number(self) -> int:
        """The number of its first line, where the file is read from its beginning."""
        return self.place

    @property
    def text(self) -> str:
        """All its lines, exactly as they stand in the file, without empty ones at the end."""
        return "\n".join((self.first, *self.more)).rstrip("\n") if self.more else self.first

    @property
    def searched(self) -> str:
        """The text in which filters search: without the marks of lines that were cut."""
        text = self.text
        if len(text) < _CUT_CHARACTERS:
            return text
        return "\n".join(
            _CUT_MARK.sub("", line) if len(line) >= _CUT_CHARACTERS else line
            for line in text.split("\n")
        )

    @property
    def lines(self) -> list[str]:
        """All its lines."""
        return [self.first, *self.more]


class RecordBuilder:
    """Puts lines together to records, one after the other.

    Args:
        begin: says what begins with a line.

    Attributes:
        current: the record that the next line may belong to.
    """

    def __init__(self, begin: Callable[[str], Start | None]) -> None:
        self._begin = begin
        self._characters = 0
        self.current: Record | None = None
        self._instant: int | None = None

    def add(self, place: int, line: str) -> Record | None:
        """Take the next line; the record that it ends, if it ends one."""
        found = self._begin(line)
        current = self.current
        if found is not None:
            self.current = Record(place, found[0], line, found[1], found[2])
            self._instant = found[0]
            self._characters = 0
            return current
        if (
            current is not None
            and len(current.more) < RECORD_LINES
            and self._characters <= RECORD_CHARACTERS
        ):
            current.more.append(line)
            self._characters += len(line)
            return None
        # a record that is split goes on at the same time; one before the first start has none
        blank = not line or line.isspace()
        self.current = None if blank else Record(place, self._instant, line, 0, None)
        self._characters = len(line)
        return current

    def forget(self) -> None:
        """Begin anew: the next line does not follow the last one."""
        self.current = None


def with_times(records: Iterator[Record], starts: RecordStarts) -> Iterator[Record]:
    """The same records; those that tell their time only as a whole get it."""
    if not starts.whole:
        return records
    return (_with_time(record, starts) for record in records)


def _with_time(record: Record, starts: RecordStarts) -> Record:
    if record.instant is None:
        record.instant = starts.instant_of(record.lines)
    return record


def read_records(
    blocks: Iterable[list[str]], starts: RecordStarts, *, after: Iterable[str] = ()
) -> Iterator[Record]:
    """Put the lines of a file, read from its beginning, together to records.

    Args:
        blocks: the lines.
        starts: recognises the beginnings.
        after: lines of the next file of the set that belong to the last record of this one.

    Yields:
        Records. Lines before the first beginning form records without a time.
    """
    return with_times(_read(blocks, RecordBuilder(starts.start), after), starts)


def _read(
    blocks: Iterable[list[str]], builder: RecordBuilder, after: Iterable[str]
) -> Iterator[Record]:
    number = 0
    for block in blocks:
        for line in block:
            number += 1
            ended = builder.add(number, line)
            if ended is not None:
                yield ended
    if builder.current is not None:
        builder.current.more += after
        yield builder.current
