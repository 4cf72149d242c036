"""What a scan hands to the three modes, and what each of them offers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from typing import Protocol

from pydantic import JsonValue

from diagnosis.plugin import EvidenceItem
from diagnosis_logs.cursor import SortKey
from diagnosis_logs.fields import RecordFields
from diagnosis_logs.levels import Level
from diagnosis_logs.records import Record


@dataclass(frozen=True, slots=True)
class Match:
    """A record that passes every filter.

    Attributes:
        level: the one it states.
        severity: the one it ranks by: `level`, or ERROR where its text is clearly one.
        fields: reads more of it.
    """

    record: Record
    source: str
    level: Level | None
    severity: Level | None
    service: str
    fields: RecordFields


class Collector(Protocol):
    """One mode of `query_logs`: takes matches in bounded memory, gives items in order.

    Attributes:
        with_earlier: whether it wants the matches of the window before, too.
        with_neighbours: whether it wants to see every record.
    """

    with_earlier: bool
    with_neighbours: bool

    def begin_source(self) -> None:
        """The next records are of another file."""
        ...

    def add(self, match: Match) -> None:
        """Take a match of the window."""
        ...

    def add_earlier(self, match: Match) -> None:
        """Take a match of the window before."""
        ...

    def passed(self, record: Record) -> None:
        """See a record, matching or not, after `add`."""
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
