"""Instants: microseconds since 1970-01-01T00:00:00Z, as integers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

MICROSECONDS = 1_000_000
DAY = 86_400 * MICROSECONDS
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Years 1970 to 9998: what every zone can show. Zero times such as 0001-01-01 are no times.
POSSIBLE = range(253_370_764_800 * MICROSECONDS)


def instant_of_epoch(number: float) -> int:
    """The instant of seconds, milliseconds, microseconds or nanoseconds since 1970, by size.

    Raises:
        ValueError: no plausible time (before 1973 or after 5138).
    """
    for per_second in (1, 1_000, 1_000_000, 1_000_000_000):
        if 1e8 <= number / per_second < 1e11:
            if isinstance(number, int):  # exact also where a float would round
                return number * MICROSECONDS // per_second
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
