"""Mode `templates`: records that differ only in numbers, ids, addresses and quotes, together."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import tzinfo

from pydantic import JsonValue

from diagnosis.plugin import EvidenceItem
from diagnosis_logs.collecting import Match, Place
from diagnosis_logs.cursor import SortKey
from diagnosis_logs.levels import Level
from diagnosis_logs.masks import Masker
from diagnosis_logs.page import shortened
from diagnosis_logs.records import Record
from diagnosis_logs.timestamps import iso

KEY_SHAPE = (int, int, int, str)
MOST_TEMPLATES = 20_000
_MASKED_CHARACTERS = 500
_EXAMPLE_CHARACTERS = 800

_EXCEPTION = re.compile(r"^(?:Caused by: )?([\w.$]{1,200}(?:Error|Exception))\b")


def template_of(message: str, more: list[str], masker: Masker | None = None) -> str:
    """The pattern of a record: its first line with what varies masked, and its exceptions' names.

    Args:
        message: the first line without its time.
        more: the record's further lines.
        masker: remembers what it masked before.
    """
    masked = (masker or Masker()).masked(message[:_MASKED_CHARACTERS])
    if not more:
        return masked
    names = [found[1] for line in more if (found := _EXCEPTION.match(line))]
    return " | ".join((masked, *names[:4]))


_Key = tuple[str, Level | None, str]


@dataclass(slots=True)
class _Group:
    severity: int
    count: int
    first: int | None
    last: int | None
    example: str
    example_at: tuple[int, str, int, int]
    place: Place


class TemplateCollector:
    """Counts records by service, level and pattern; remembers which patterns came before.

    Args:
        after: the cursor's key, or None.
    """

    def __init__(self, after: SortKey | None) -> None:
        self.with_earlier = True
        self.neighbours = 0
        self.overflowed = False
        self._after = after
        self._lines = 0
        self._groups: dict[_Key, _Group] = {}
        self._earlier: set[_Key] = set()
        self._masker = Masker()

    def skipped(self) -> None:
        """Nothing to forget."""

    def only_counts(self, first: int, last: int) -> bool:
        """Never: each counts by its level and pattern."""
        return False

    def count(self, matches: int = 1) -> None:
        """Never asked for."""

    def passed(self, record: Record) -> None:
        """Never asked for."""

    def add_earlier(self, match: Match) -> None:
        """Note a matching record of the window before."""
        if len(self._earlier) < MOST_TEMPLATES:
            self._earlier.add(self._key_of(match))
        else:
            self.overflowed = True

    def add(self, match: Match) -> None:
        """Count a matching record of the window."""
        self._lines += 1
        key = self._key_of(match)
        record = match.record
        instant = record.instant
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MOST_TEMPLATES:
                self.overflowed = True
                return
            severity = match.severity
            rank = int(Level.INFO if severity is None else severity)
            place = Place.of(match)
            at = _place_in_time(match)
            self._groups[key] = _Group(rank, 1, instant, instant, _example(record), at, place)
            return
        group.count += 1
        if instant is not None:
            if group.first is None or group.last is None:
                group.first = group.last = instant
            elif instant > group.last:
                group.last = instant
                return  # there is an earlier example
            elif instant < group.first:
                group.first = instant
        if (at := _place_in_time(match)) < group.example_at:
            group.example, group.example_at = _example(record), at
            group.place = Place.of(match)

    def places(self) -> Iterable[Place]:
        """Those of the examples."""
        return (group.place for group in self._groups.values())

    @property
    def matched(self) -> int:
        """How many templates there are."""
        return len(self._groups)

    def scope(self) -> dict[str, JsonValue]:
        """How many lines the templates stand for."""
        return {"matched_lines": self._lines}

    def items(self, zone: tzinfo) -> Iterator[tuple[SortKey, EvidenceItem]]:
        """The templates after the cursor: worst first, then new ones, then the most frequent."""
        ordered = sorted((self._order(key, group), key) for key, group in self._groups.items())
        for order, key in ordered:
            if self._after is None or order > self._after:
                yield order, self._item(key, order, zone)

    def _key_of(self, match: Match) -> _Key:
        fields, record = match.fields, match.record
        template = template_of(fields.message(record), fields.more(record), self._masker)
        return match.service, match.level, template

    def _order(self, key: _Key, group: _Group) -> SortKey:
        service, level, template = key
        name = "-" if level is None else level.name
        digest = hashlib.sha256(
            f"{service}\n{name}\n{template}".encode("utf-8", "replace")
        ).hexdigest()[:24]
        return -group.severity, 1 if key in self._earlier else 0, -group.count, digest

    def _item(self, key: _Key, order: SortKey, zone: tzinfo) -> EvidenceItem:
        group = self._groups[key]
        service, level, _ = key
        fields: dict[str, JsonValue] = {
            "count": group.count,
            "level": None if level is None else level.name,
            "service": service,
            "first": None if group.first is None else iso(group.first, zone),
            "last": None if group.last is None else iso(group.last, zone),
            "new_in_window": key not in self._earlier,
            "example": group.example,
            **group.place.fields(),
        }
        return EvidenceItem(identity=f"template:{order[3]}", fields=fields)


def _place_in_time(match: Match) -> tuple[int, str, int, int]:
    record, origin = match.record, match.origin
    instant = 0 if record.instant is None else record.instant
    return instant, origin.source, origin.order, record.place


def _example(record: Record) -> str:
    return shortened(record.text, _EXAMPLE_CHARACTERS)
