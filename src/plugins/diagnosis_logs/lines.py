"""Mode `lines`: the matching records in order of time, with the lines around them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import tzinfo

from pydantic import JsonValue

from diagnosis.plugin import EvidenceItem
from diagnosis_logs.collecting import Match, Place
from diagnosis_logs.cursor import SortKey
from diagnosis_logs.page import shortened
from diagnosis_logs.records import Record
from diagnosis_logs.timestamps import iso

KEY_SHAPE = (int, str, int, int)
_NO_TIME = 1 << 62  # records without a time come last
_TEXT_CHARACTERS = 4_000
_CONTEXT_CHARACTERS = 400


@dataclass(slots=True)
class _Hit:
    match: Match
    place: Place


class LineCollector:
    """Keeps the first `limit` matching records after the cursor; counts all.

    Args:
        limit: how many to keep.
        after: the cursor's key, or None.
        context_lines: lines to keep before and after each.
    """

    def __init__(self, limit: int, after: SortKey | None, context_lines: int) -> None:
        self.with_earlier = False
        self.neighbours = context_lines
        self.matched = 0
        self.overflowed = False
        self._keep = limit + 1  # one more tells whether any are left
        self._after = after
        self._hits: dict[SortKey, _Hit] = {}
        self._worst: SortKey | None = None
        # instants before and after these are certainly not on this page
        self._first = 0 if after is None else int(after[0])
        self._last = _NO_TIME
        self._context_lines = context_lines
        self._recent: deque[str] = deque(maxlen=context_lines)
        self._open: list[_Hit] = []

    def skipped(self) -> None:
        """Forget the lines before: they are no neighbours of the next."""
        self._recent.clear()
        self._open = []

    def add(self, match: Match) -> None:
        """Take a matching record."""
        self.matched += 1
        instant, origin = match.record.instant, match.origin
        key: SortKey = (
            _NO_TIME if instant is None else instant,
            origin.source,
            origin.order,
            match.record.place,
        )
        if self._after is not None and key <= self._after:
            return
        if self._worst is not None and key > self._worst:
            return
        hit = _Hit(match, Place.of(match))
        self._hits[key] = hit
        if self._context_lines and not origin.by_offset:
            hit.place.before = list(self._recent)
            self._open.append(hit)
        if self._worst is None and len(self._hits) == self._keep:
            self._bound(max(self._hits))
        elif len(self._hits) >= 2 * self._keep:
            kept = sorted(self._hits)[: self._keep]
            self._hits = {key: self._hits[key] for key in kept}
            self._bound(kept[-1])

    def _bound(self, worst: SortKey) -> None:
        """From now on, what comes after a key is on another page."""
        self._worst = worst
        self._last = int(worst[0])

    def only_counts(self, first: int, last: int) -> bool:
        """Whether the cursor is past all between two instants, or the page full before them."""
        return last < self._first or first > self._last

    def count(self, matches: int = 1) -> None:
        """Count matches that are on another page."""
        self.matched += matches

    def add_earlier(self, match: Match) -> None:
        """Never asked for."""

    def passed(self, record: Record) -> None:
        """Keep a record's lines as context of its neighbours."""
        wanted = self._context_lines
        for hit in self._open:
            if hit.match.record is not record:
                missing = wanted - len(hit.place.after)
                hit.place.after += record.lines[:missing]
        self._open = [hit for hit in self._open if len(hit.place.after) < wanted]
        self._recent.extend(record.lines[-wanted:])

    def places(self) -> Iterable[Place]:
        """Those of the kept records."""
        return (hit.place for hit in self._hits.values())

    def items(self, zone: tzinfo) -> Iterator[tuple[SortKey, EvidenceItem]]:
        """The kept records in order, one more than the limit where there are more."""
        for key in sorted(self._hits)[: self._keep]:
            yield key, _item(self._hits[key], zone)

    def scope(self) -> dict[str, JsonValue]:
        """The context asked for."""
        return {"context_lines": self._context_lines} if self._context_lines else {}


def _context(line: str) -> str:
    return shortened(line, _CONTEXT_CHARACTERS)


def _item(hit: _Hit, zone: tzinfo) -> EvidenceItem:
    match, record = hit.match, hit.match.record
    fields: dict[str, JsonValue] = {
        "timestamp": None if record.instant is None else iso(record.instant, zone),
        "level": None if match.level is None else match.level.name,
        "service": match.service,
        **hit.place.fields(),
        "text": shortened(record.text, _TEXT_CHARACTERS),
    }
    if hit.place.before:
        fields["before"] = list(map(_context, hit.place.before))
    if hit.place.after:
        fields["after"] = list(map(_context, hit.place.after))
    return EvidenceItem(identity=hit.place.identity, fields=fields)
