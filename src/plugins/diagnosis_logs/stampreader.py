"""What a timestamp's text means: its instant, also where it says no year or no date at all.

A year or a date that is missing is, by default, the latest that does not bring the time past a
given instant (when the file was last written): that needs no other line. A file that spans more
than a year, or a day, must be read in order instead: each time is then the first possible one
after the time before it.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from diagnosis_logs.stamps import StampKind
from diagnosis_logs.timestamps import (
    DAY,
    MICROSECONDS,
    POSSIBLE,
    from_instant,
    to_instant,
)
from diagnosis_logs.zones import zone_at

MINUTE = 60 * MICROSECONDS
_YEAR = 366 * DAY
# How far a clock may be ahead of the file's own time, and a line behind the one before it.
_AHEAD = {"year": DAY, "date": 600 * MICROSECONDS}
_BEHIND = {"year": 61 * DAY, "date": 3_600 * MICROSECONDS}
_TURN = {"year": _YEAR, "date": DAY}
_CLOCK_AT_END = re.compile(r":[0-5]\d:[0-6]\d\Z", re.ASCII)


class StampReader:
    """Turns matches of one kind into instants; remembers the last one, and its minute, to be quick.

    Args:
        kind: the shape.
        zone: of times that carry none.
        not_after: for times without a year or a date: when the file was last written.
        in_order: whether times without a year or a date follow each other.
    """

    def __init__(
        self, kind: StampKind, zone: tzinfo, not_after: int, *, in_order: bool = False
    ) -> None:
        self._kind = kind
        self._zone = zone
        self._latest = not_after + _AHEAD[kind.lacks] if kind.lacks else 0
        self._in_order = in_order and bool(kind.lacks)
        self._previous: int | None = None
        self._turns_back = 0
        self._last_text = ""
        self._last_zone: str | None = None
        self._last_second = 0
        self._last_minute = ""  # the text up to the seconds
        self._minute = 0

    def instant(self, match: re.Match[str]) -> int | None:
        """The instant in microseconds, or None where the text is no possible time."""
        text, fraction, zone = match.group(1, 2, 3)
        if text != self._last_text or zone != self._last_zone:
            minute, seconds = text[:-2], text[-2:]
            if minute == self._last_minute and zone == self._last_zone and seconds.isdecimal():
                self._last_second = self._minute + _microseconds(seconds)
            else:
                try:
                    second = self._second(text, zone)
                except (ValueError, OverflowError):
                    return None
                if second not in POSSIBLE:
                    return None
                self._last_second = second
                self._last_minute = ""
                # where the text tells its whole date, and its last two digits are the seconds, the
                # next line is likely of the same minute
                if not self._kind.lacks and _CLOCK_AT_END.match(text, len(text) - 6):
                    self._last_minute, self._minute = minute, second - _microseconds(seconds)
            self._last_text = text
            self._last_zone = zone
        if fraction:
            return self._last_second + int(fraction[:6].ljust(6, "0"))
        return self._last_second

    def minute(self, text: str, zone: str) -> int | None:
        """The instant at which a minute begins; None where it cannot be told from it alone.

        Args:
            text: of a stamp, up to its seconds.
            zone: the stamp's, or "".
        """
        whole = f"{text}00"
        if self._kind.lacks or not _CLOCK_AT_END.match(whole, len(whole) - 6):
            return None
        try:
            instant = self._second(whole, zone)
        except (ValueError, OverflowError):
            return None
        return instant if instant in POSSIBLE and instant + MINUTE in POSSIBLE else None

    def rewind(self) -> None:
        """Make ready to read the same lines once more, so that the last one is not too late."""
        if self._in_order and self._previous is not None:
            excess = self._previous - self._latest
            if excess > 0:
                self._turns_back -= -excess // _TURN[self._kind.lacks]
        self._previous = None
        self._last_text = ""

    def _second(self, text: str, zone: str | None) -> int:
        if self._kind.read is None:
            return self._kind.count(text) if self._kind.count else 0
        inner = self._kind.inner(text) if self._kind.inner else 0
        return self._civil_second(text, zone) + inner

    def _civil_second(self, text: str, zone: str | None) -> int:
        read = self._kind.read
        if read is None:
            raise ValueError("a count")
        year, month, day, hour, minute, second = read(text)
        # a leap second is the one before it
        clock = (hour, minute, min(second, 59))
        if year is not None and month is not None and day is not None:
            civil = datetime(year, month, day, *clock, tzinfo=self._zone)
            tz = zone_at(zone, civil, self._zone) if zone else self._zone
            return to_instant(civil.replace(tzinfo=tz))
        tz = self._zone
        if zone:
            tz = zone_at(zone, from_instant(self._latest, tz), tz)
        previous = self._previous if self._in_order else None
        if previous is None:
            found = self._before(month, day, clock, self._latest, tz)
            for _ in range(self._turns_back):
                found = self._before(month, day, clock, found - 1, tz)
        else:
            # the latest one within a turn after the one before it
            least = previous - _BEHIND[self._kind.lacks]
            found = self._before(month, day, clock, least + _TURN[self._kind.lacks], tz)
        self._previous = found
        return found

    def _before(
        self,
        month: int | None,
        day: int | None,
        clock: tuple[int, int, int],
        latest: int,
        tz: tzinfo,
    ) -> int:
        """The latest instant of that day of the year, or time of day, not after `latest`."""
        around = from_instant(latest, tz)
        if month is None or day is None:
            for days in range(3):
                date = around.date() - timedelta(days=days)
                civil = datetime(date.year, date.month, date.day, *clock, tzinfo=tz)
                if (found := to_instant(civil)) <= latest:
                    return found
        else:
            for year in range(around.year, around.year - 9, -1):
                try:  # 29 February has no instant in most years
                    found = to_instant(datetime(year, month, day, *clock, tzinfo=tz))
                except ValueError:
                    continue
                if found <= latest:
                    return found
        raise ValueError("no such day")


def _microseconds(seconds: str) -> int:
    # a leap second is the one before it
    return min(int(seconds), 59) * MICROSECONDS
