"""Mode `histogram`: how many records each stretch of the window holds, by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import tzinfo

from pydantic import JsonValue

from diagnosis.plugin import EvidenceItem
from diagnosis_logs.collecting import Match, Place
from diagnosis_logs.cursor import SortKey
from diagnosis_logs.levels import Level
from diagnosis_logs.records import Record
from diagnosis_logs.request import Window
from diagnosis_logs.timestamps import MICROSECONDS, iso

_WIDTHS_S = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800,
    3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
)  # fmt: skip
_DAY_S = 86_400


def bucket_seconds(window: Window, limit: int) -> int:
    """The narrowest usual width with which the window has at most `limit` buckets."""
    length = window.end - window.start
    for width in _WIDTHS_S:
        if length <= limit * width * MICROSECONDS:
            return width
    return -(-length // (limit * _DAY_S * MICROSECONDS)) * _DAY_S


class HistogramCollector:
    """Counts records by bucket and level; buckets are laid from the window's start.

    Args:
        window: the effective one.
        limit: most buckets.
    """

    def __init__(self, window: Window, limit: int) -> None:
        self.with_earlier = False
        self.neighbours = 0
        self.overflowed = False
        self.width_s = bucket_seconds(window, limit)
        self._start = window.start
        self._counts: dict[int, Counter[Level | None]] = {}
        self._lines = 0
        self._without_time = 0

    def skipped(self) -> None:
        """Nothing to forget."""

    def add(self, match: Match) -> None:
        """Count a matching record."""
        instant = match.record.instant
        if instant is None:
            self._without_time += 1
            return
        self._lines += 1
        bucket = (instant - self._start) // (self.width_s * MICROSECONDS)
        counts = self._counts.get(bucket)
        if counts is None:
            counts = self._counts[bucket] = Counter()
        counts[match.level] += 1

    def add_earlier(self, match: Match) -> None:
        """Never asked for."""

    def only_counts(self, first: int, last: int) -> bool:
        """Never: each counts by its level."""
        return False

    def count(self, matches: int = 1) -> None:
        """Never asked for."""

    def passed(self, record: Record) -> None:
        """Never asked for."""

    def places(self) -> Iterable[Place]:
        """None: a bucket stands nowhere."""
        return ()

    @property
    def matched(self) -> int:
        """How many buckets hold a record."""
        return len(self._counts)

    def scope(self) -> dict[str, JsonValue]:
        """The width of a bucket, and how many lines were counted."""
        scope: dict[str, JsonValue] = {"bucket_s": self.width_s, "matched_lines": self._lines}
        if self._without_time:
            scope["lines_without_time"] = self._without_time
        return scope

    def items(self, zone: tzinfo) -> Iterator[tuple[SortKey, EvidenceItem]]:
        """The buckets that hold any record, in order of time."""
        for bucket in sorted(self._counts):
            counts = self._counts[bucket]
            start = iso(self._start + bucket * self.width_s * MICROSECONDS, zone)
            fields: dict[str, JsonValue] = {"bucket": start, "count": counts.total()}
            for level in reversed(Level):
                if counts[level]:
                    fields[level.name] = counts[level]
            if counts[None]:
                fields["no_level"] = counts[None]
            yield (bucket,), EvidenceItem(identity=f"{start}/{self.width_s}s", fields=fields)
