"""What a scan hands to the three modes, and what each of them offers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Protocol

from pydantic import JsonValue

from diagnosis.plugin import EvidenceItem
from diagnosis_logs.cursor import SortKey
from diagnosis_logs.fields import RecordFields
from diagnosis_logs.levels import Level
from diagnosis_logs.records import Record


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that a record stands in.

    Attributes:
        source: the name of its set, as a request may give it.
        file: its own name; the same where a source is one file.
        order: its place in the set: the older, the smaller; the same after a rotation.
        by_offset: whether records are placed by byte and not by line.
    """

    source: str
    file: str
    order: int
    by_offset: bool


@dataclass(slots=True)
class Place:
    """Where the first line of a record stands.

    Attributes:
        at: byte offset or number of the line, as the origin says.
        line: the number of the line, from 1; None where the file is too large to count.
        lines: how many lines the record has.
        before, after: lines around it, where the collector wants neighbours.
    """

    origin: Origin
    at: int
    line: int | None
    lines: int
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, match: Match) -> Place:
        """The place of a match."""
        at = match.record.place
        line = None if match.origin.by_offset else at
        return cls(match.origin, at, line, 1 + len(match.record.more))

    @property
    def key(self) -> tuple[str, int, int]:
        """Its order among all places."""
        return self.origin.source, self.origin.order, self.at

    @property
    def identity(self) -> str:
        """One string for it, the same in every mode, and however often the set is rotated."""
        place = f"@{self.at}" if self.line is None else f":{self.line}"
        return f"{self.origin.source}#{self.origin.order}{place}"

    def fields(self) -> dict[str, JsonValue]:
        """How an item tells it."""
        fields: dict[str, JsonValue] = {"source": self.origin.source}
        if self.origin.file != self.origin.source:
            fields["file"] = self.origin.file
        if self.line is None:
            fields["offset"] = self.at
        else:
            fields["line"] = self.line
        return fields


class Match:
    """A record that passes every filter; it is read no further than it is asked."""

    __slots__ = ("_level", "_level_known", "fields", "origin", "record")

    def __init__(self, record: Record, origin: Origin, fields: RecordFields) -> None:
        self.record = record
        self.origin = origin
        self.fields = fields
        self._level: Level | None = None
        self._level_known = False

    @property
    def level(self) -> Level | None:
        """The level it states."""
        if not self._level_known:
            self._level = self.fields.level(self.record)
            self._level_known = True
        return self._level

    @property
    def severity(self) -> Level | None:
        """The level it ranks by: the stated one, else what its status or words tell."""
        return self.fields.severity(self.record, self.level)

    @property
    def service(self) -> str:
        """The service it is of."""
        return self.fields.service(self.record)


class Collector(Protocol):
    """One mode of `query_logs`: takes matches in bounded memory, gives items in order.

    Attributes:
        with_earlier: whether it wants the matches of the window before, too.
        neighbours: how many lines around each match it wants to see.
    """

    with_earlier: bool
    neighbours: int

    def skipped(self) -> None:
        """The next record does not follow the last one directly."""
        ...

    def add(self, match: Match) -> None:
        """Take a match of the window."""
        ...

    def add_earlier(self, match: Match) -> None:
        """Take a match of the window before."""
        ...

    def only_counts(self, first: int, last: int) -> bool:
        """Whether it needs to know no more of the matches between instants than how many."""
        ...

    def count(self, matches: int = 1) -> None:
        """Count matches of which it needs to know no more."""
        ...

    def passed(self, record: Record) -> None:
        """See a record, matching or not, after `add`; only of files read from their beginning."""
        ...

    def places(self) -> Iterable[Place]:
        """The places that may be shown, as far as is known now."""
        ...

    @property
    def matched(self) -> int:
        """How many items there are in the whole scope."""
        ...

    @property
    def overflowed(self) -> bool:
        """Whether something had to be forgotten, so that more may match."""
        ...

    def items(self, zone: tzinfo) -> Iterator[tuple[SortKey, EvidenceItem]]:
        """Items after the cursor, in order; at least one more than the limit if there are more."""
        ...

    def scope(self) -> dict[str, JsonValue]:
        """What this mode adds to the scope."""
        ...
