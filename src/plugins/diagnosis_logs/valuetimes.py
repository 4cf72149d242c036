"""Instants of the values of structured lines: text in any shape, numbers, and objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import tzinfo

from pydantic import JsonValue

from diagnosis_logs.stampreader import MINUTE, StampReader
from diagnosis_logs.stamps import STAMP_KINDS
from diagnosis_logs.structured import Fields, is_time_object, time_parts
from diagnosis_logs.timestamps import instant_of_epoch
from diagnosis_logs.zones import offset_of

_AT_START = tuple((kind, re.compile(kind.pattern)) for kind in STAMP_KINDS)
# as JSON writes one, with an exponent or without
_NUMBER = re.compile(r"\s*-?\d{1,20}(?:\.\d{1,18})?(?:[eE]\+?\d{1,2})?(?![\w.])")
# CMTrace's distance of a clock to UTC, in minutes
_BIAS = re.compile(r"[+-]\d{3}\Z")


class ValueTimes:
    """Instants of the values of structured lines: text in any shape, or a number since 1970."""

    def __init__(self, zone: tzinfo, modified: int) -> None:
        self._readers = [
            (pattern.match, StampReader(kind, zone, modified))
            for kind, pattern in _AT_START
            if kind.lacks != "date"
        ]

    def instant(self, value: JsonValue) -> int | None:
        """The instant a value means, or None."""
        if isinstance(value, str):
            return self._of_text(value, 0)
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                return instant_of_epoch(value)
            except (ValueError, OverflowError):
                return None
        if isinstance(value, dict) and is_time_object(value):
            return self._of_object(value)
        return None

    def _of_object(self, value: Fields) -> int | None:
        """The instant of `{"seconds": 1, "nanos": 2}`, `{"date": "...", "timezone": "UTC"}`."""
        whole, rest = time_parts(value)
        instant = self.instant(whole)
        return instant if instant is None else instant + rest // 1_000

    def of_halves(self, date: str, clock: str) -> int | None:
        """The instant of a date and a clock, which may end with its distance to UTC in minutes."""
        if (bias := _BIAS.search(clock)) is None:
            return self.instant(f"{date} {clock}")
        instant = self.instant(f"{date} {clock[: bias.start()]}Z")
        return None if instant is None else instant + int(bias[0]) * MINUTE

    def offset(self, value: JsonValue) -> tzinfo | None:
        """The offset that a text which is a time shows."""
        if isinstance(value, str):
            for match, _ in self._readers:
                if found := match(value):
                    return offset_of(found[3]) if found[3] else None
        return None

    def quick(self, key: str) -> Callable[[str], int | None]:
        """Reads the time from a JSON line by the first mention of a key, without parsing it."""
        search = re.compile(rf'"{re.escape(key)}"\s?:\s?("?)').search

        def instant(line: str) -> int | None:
            found = search(line)
            if found is None:
                return None
            if found[1]:
                return self._of_text(line, found.end())
            number = _NUMBER.match(line, found.end())
            if number is None:
                return None
            text = number[0]
            return self.instant(int(text) if text.strip("- ").isdecimal() else float(text))

        return instant

    def _of_text(self, text: str, at: int) -> int | None:
        for index, (match, reader) in enumerate(self._readers):
            if found := match(text, at):
                instant = reader.instant(found)
                if instant is not None and index:  # the next one is likely of the same shape
                    self._readers.insert(0, self._readers.pop(index))
                if instant is not None:
                    return instant
        return None
