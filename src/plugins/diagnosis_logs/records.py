"""Records: a line that begins with a time, and the lines after it that belong to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from diagnosis_logs.shapes import RecordStarts

# A record beyond these bounds is split; every line stays searchable in bounded memory.
RECORD_LINES = 1_000
RECORD_CHARACTERS = 65_536


class Record:
    """One event of a log.

    Attributes:
        number: its first line, counted from 1.
        instant: microseconds since 1970, or None where the file has no times.
        first: its first line.
        body: where in `first` the stamp ends.
        data: the object of a JSON line, else None.
        more: its further lines.
    """

    __slots__ = ("body", "data", "first", "instant", "more", "number")

    def __init__(
        self,
        number: int,
        instant: int | None,
        first: str,
        body: int,
        data: dict[str, JsonValue] | None,
    ) -> None:
        self.number = number
        self.instant = instant
        self.first = first
        self.body = body
        self.data = data
        self.more: list[str] = []

    @property
    def text(self) -> str:
        """All its lines, exactly as they stand in the file, without empty ones at the end."""
        return "\n".join((self.first, *self.more)).rstrip("\n") if self.more else self.first

    @property
    def lines(self) -> list[str]:
        """All its lines."""
        return [self.first, *self.more]


def read_records(
    blocks: Iterable[list[str]], starts: RecordStarts, *, timed: bool, first_number: int = 1
) -> Iterator[Record]:
    """Put lines together to records, in file order.

    Args:
        blocks: the lines.
        starts: recognises the beginnings.
        timed: False for a file without times: every line is then a record of its own.
        first_number: the number of the first line.

    Yields:
        Records. Lines before the first beginning form records without a time.
    """
    number = first_number - 1
    current: Record | None = None
    characters = 0
    begin = starts.start
    for block in blocks:
        for line in block:
            number += 1
            found = begin(line) if timed else None
            if found is not None:
                if current is not None:
                    yield current
                current = Record(number, found[0], line, found[1], found[2])
                characters = 0
            elif current is None:
                if line and not line.isspace():
                    current = Record(number, None, line, 0, None)
                    characters = len(line)
            elif not timed or len(current.more) >= RECORD_LINES or characters > RECORD_CHARACTERS:
                yield current
                instant = current.instant
                blank = not line or line.isspace()
                current = None if blank else Record(number, instant, line, 0, None)
                characters = len(line)
            else:
                current.more.append(line)
                characters += len(line)
    if current is not None:
        yield current
