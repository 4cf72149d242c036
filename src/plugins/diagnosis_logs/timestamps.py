"""Timestamps: the shapes they have in logs, and the instants they mean.

An instant is an integer: microseconds since 1970-01-01T00:00:00Z.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

MICROSECONDS = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400 * MICROSECONDS
# Years 1970 to 9998: what every zone can show. Zero times such as 0001-01-01 are no times.
_POSSIBLE = range(253_370_764_800 * MICROSECONDS)

_MON = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_MONTHS = {name: number for number, name in enumerate(_MON[3:-1].split("|"), start=1)}
_HMS = r"[0-2]\d:[0-5]\d:[0-6]\d"
_FRACTION = r"(?:[.,](\d{1,9}))?"
_OFFSET = r"(?:\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"

# year (None: not in the text), month, day, hour, minute, second
CivilTime = tuple[int | None, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class StampKind:
    """One shape of timestamp.

    Attributes:
        name: for messages and tests.
        pattern: regular expression; group 1 is the time to the second, group 2 its fraction,
            group 3 its zone.
        read: turns group 1 into a civil time; None for seconds or milliseconds since 1970.
        has_year: whether group 1 says the year.
    """

    name: str
    pattern: str
    read: Callable[[str], CivilTime] | None
    has_year: bool = True


def _hms(text: str) -> tuple[int, int, int]:
    return int(text[0:2]), int(text[3:5]), int(text[6:8])


def _read_iso(text: str) -> CivilTime:
    return int(text[0:4]), int(text[5:7]), int(text[8:10]), *_hms(text[11:19])


def _read_day_month_year(text: str) -> CivilTime:
    day, month, year, clock = re.split(r"[/ :-]", text, maxsplit=3)
    return int(year), _MONTHS[month], int(day), *_hms(clock)


def _read_ctime(text: str) -> CivilTime:
    _, month, day, clock, year = text.split()
    return int(year), _MONTHS[month], int(day), *_hms(clock)


def _read_syslog(text: str) -> CivilTime:
    month, day, clock = text.split()
    return None, _MONTHS[month], int(day), *_hms(clock)


def _full_year(text: str) -> int:
    # POSIX strptime %y: 69 to 99 are of the last century
    year = int(text)
    return year + (1900 if year >= 69 else 2000)


def _read_compact(text: str) -> CivilTime:
    clock = text[6:].strip().replace(":", "").zfill(6)
    return (
        _full_year(text[0:2]),
        int(text[2:4]),
        int(text[4:6]),
        int(clock[0:2]),
        int(clock[2:4]),
        int(clock[4:6]),
    )


def _read_short_slashes(text: str) -> CivilTime:
    return _full_year(text[0:2]), int(text[3:5]), int(text[6:8]), *_hms(text[9:17])


def _read_klog(text: str) -> CivilTime:
    return None, int(text[0:2]), int(text[2:4]), *_hms(text[5:13])


# Tried in this order where two match at the same place; each pattern has exactly three groups.
STAMP_KINDS = (
    StampKind("iso", rf"(\d{{4}}[-/]\d\d[-/]\d\d[T ]{_HMS}){_FRACTION}{_OFFSET}", _read_iso),
    StampKind(
        "day-month-year",  # access logs, and java.util.logging with dashes
        rf"(\d{{1,2}}[/ -]{_MON}[/ -]\d{{4}}[: ]{_HMS}){_FRACTION}{_OFFSET}",
        _read_day_month_year,
    ),
    StampKind(
        "ctime",  # Apache's error log; its fraction stands before the year
        rf"((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_MON} [ \d]?\d {_HMS}{_FRACTION} \d{{4}})()",
        _read_ctime,
    ),
    StampKind("syslog", rf"({_MON} [ \d]?\d {_HMS}){_FRACTION}()", _read_syslog, has_year=False),
    StampKind(
        "compact",  # HDFS 081109 203615, old MySQL 081109 20:36:15
        r"(\d\d[01]\d[0-3]\d {1,2}(?:[0-2]\d[0-5]\d[0-6]\d|[ 0-2]\d:[0-5]\d:[0-6]\d)(?!\d))"
        r"()()",
        _read_compact,
    ),
    StampKind(
        "short-slashes",  # Spark 17/06/09 20:10:40
        rf"(\d\d/[01]\d/[0-3]\d {_HMS}){_FRACTION}()",
        _read_short_slashes,
    ),
    StampKind(
        "klog", rf"(?<=[IWEF])([01]\d[0-3]\d {_HMS})\.(\d{{6}})()", _read_klog, has_year=False
    ),
    StampKind("epoch", r"(1\d{9}(?:\d{3})?)(?:\.(\d{1,9}))?()(?![\w.:/-])", None),
)


class StampReader:
    """Turns matches of one kind into instants; it remembers the last one, so one scan has its own.

    Args:
        kind: the shape.
        zone: of times that carry none.
        not_after: for times without a year: the first one gets the latest year that does not
            bring it past this instant; each later one the year nearest to the one before it.
    """

    def __init__(self, kind: StampKind, zone: tzinfo, not_after: int) -> None:
        self._kind = kind
        self._zone = zone
        self._not_after = not_after
        self._previous: int | None = None
        self._last_text = ""
        self._last_zone: str | None = None
        self._last_second = 0

    def instant(self, match: re.Match[str]) -> int | None:
        """The instant in microseconds, or None where the text is no possible time."""
        text, fraction, zone = match.group(1, 2, 3)
        if text != self._last_text or zone != self._last_zone:
            try:
                second = self._second(text, zone)
            except (ValueError, OverflowError):
                return None
            if second not in _POSSIBLE:
                return None
            self._last_second = second
            self._last_text = text
            self._last_zone = zone
        if fraction:
            return self._last_second + int(fraction[:6].ljust(6, "0"))
        return self._last_second

    def _second(self, text: str, zone: str | None) -> int:
        if self._kind.read is None:
            return instant_of_epoch(int(text))
        year, month, day, hour, minute, second = self._kind.read(text)
        clock = (month, day, hour, minute, min(second, 59))  # a leap second is the one before it
        tz = offset_of(zone) if zone else self._zone
        if year is not None:
            return to_instant(datetime(year, *clock, tzinfo=tz))
        self._previous = self._nearest_year(clock, tz)
        return self._previous

    def _nearest_year(self, clock: tuple[int, int, int, int, int], tz: tzinfo) -> int:
        around = self._not_after if self._previous is None else self._previous
        middle = from_instant(around, tz).year
        candidates = []
        for year in range(middle - 4, middle + 2):
            try:  # 29 February has no instant in most years
                candidates.append(to_instant(datetime(year, *clock, tzinfo=tz)))
            except ValueError:
                continue
        if self._previous is None:
            candidates = [instant for instant in candidates if instant <= around + _DAY]
        return min(candidates, key=lambda instant: abs(instant - around))


def offset_of(text: str) -> tzinfo:
    """The offset that group 3 of a stamp spells: `Z`, `UTC`, `GMT`, `+01:00` or `+0100`."""
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def instant_of_epoch(number: float) -> int:
    """The instant of seconds, milliseconds, microseconds or nanoseconds since 1970, by size.

    Raises:
        ValueError: no plausible time (before 1973 or after 5138).
    """
    for per_second in (1, 1_000, 1_000_000, 1_000_000_000):
        if 1e8 <= number / per_second < 1e11:
            return round(number * (MICROSECONDS / per_second))
    raise ValueError("not a plausible time")


def to_instant(moment: datetime) -> int:
    """An aware datetime as an instant."""
    return (moment - _EPOCH) // _MICROSECOND


def from_instant(instant: int, zone: tzinfo) -> datetime:
    """An instant as an aware datetime of `zone`."""
    return (_EPOCH + timedelta(microseconds=instant)).astimezone(zone)


def iso(instant: int, zone: tzinfo) -> str:
    """An instant as ISO 8601 with the offset of `zone`, no finer than it needs to be."""
    moment = from_instant(instant, zone)
    if moment.microsecond == 0:
        return moment.isoformat(timespec="seconds")
    if moment.microsecond % 1_000 == 0:
        return moment.isoformat(timespec="milliseconds")
    return moment.isoformat(timespec="microseconds")
