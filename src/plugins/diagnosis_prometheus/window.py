"""When a request is about: a moment, or a window with the grid it is evaluated on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from diagnosis.plugin import EvidenceContext, QueryRejected, QueryRejection
from diagnosis_prometheus.api import Grid
from diagnosis_prometheus.settings import PrometheusSettings

SECOND = 1_000
"""Milliseconds: what Prometheus counts time in."""

# Evaluated on one series: enough to see what happened, few enough to read many series.
_POINTS_CHOSEN = 300
_POINTS_ASKED = 1_200
# Finer than the usual scrape nothing new is seen.
_STEPS_S = (
    15, 30, 60, 120, 180, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
)  # fmt: skip
# The last moment of a grid is a multiple of this: windows that end close together share it.
_ROUND = 15_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DURATION = re.compile(
    r"(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?"
)
_UNITS_MS = (31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1_000, 1)
_LONGEST_STEP_MS = 366 * 86_400_000


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time with both ends in it, in milliseconds since 1970.

    Attributes:
        start, end: what is asked about; the end is never after the reference time.
        asked_end: the end as asked for, where that lies after the reference time, else None.
        grid: where it is evaluated: from the end backwards as far as the start, because the end
            is what matters most; the last moment is a round one.
        step_is_as_asked: whether the step is what the request says.
    """

    start: int
    end: int
    asked_end: int | None
    grid: Grid
    step_is_as_asked: bool


def to_milliseconds(moment: datetime) -> int:
    """An aware datetime as milliseconds since 1970."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def iso(milliseconds: int, zone: tzinfo) -> str:
    """A moment as RFC 3339 in a zone, no finer than it needs to be."""
    moment = (_EPOCH + timedelta(milliseconds=milliseconds)).astimezone(zone)
    return moment.isoformat(timespec="milliseconds" if milliseconds % SECOND else "seconds")


def duration_ms(text: str) -> int:
    """A duration such as `90s`, `5m`, `1h30m`, or a number of seconds, in milliseconds.

    Raises:
        ValueError: it is none, or not between a second and a year.
    """
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text, re.ASCII):
        milliseconds = round(float(text) * SECOND)
    else:
        parts = _DURATION.fullmatch(text) if text.isascii() and len(text) <= 40 else None
        if parts is None or not any(parts.groups()):
            raise ValueError("no step such as 30s, 5m or 1h")
        given = zip(parts.groups(), _UNITS_MS, strict=True)
        milliseconds = sum(int(amount) * unit for amount, unit in given if amount)
    if not SECOND <= milliseconds <= _LONGEST_STEP_MS:
        raise ValueError("a step is between one second and one year")
    return milliseconds


def duration_text(milliseconds: int) -> str:
    """A duration in the largest unit that leaves no rest, as PromQL writes it: `5m`."""
    for unit, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")):
        if milliseconds % unit == 0 and (milliseconds or name == "s"):
            return f"{milliseconds // unit}{name}"
    return f"{milliseconds}ms"


def window_of(
    start: str | None,
    end: str | None,
    step: int | None,
    context: EvidenceContext,
    settings: PrometheusSettings,
) -> Window | None:
    """The window a request means; None where it means the reference time alone.

    Args:
        start, end: as the model wrote them.
        step: in milliseconds.
        context: brings the reference time and the zone.
        settings: the default and the longest window.

    Raises:
        QueryRejected: TIME_INVALID; WINDOW_INVALID where the start is not before the end or not
            before the reference time; WINDOW_TOO_LARGE; COMBINATION_NOT_ALLOWED for a step
            without a window.
    """
    if start is None and end is None:
        if step is not None:
            raise QueryRejected(QueryRejection.COMBINATION_NOT_ALLOWED)
        return None
    now = to_milliseconds(context.reference_time)
    asked_end = now if end is None else _moment(end, context)
    last = min(asked_end, now)
    first = last - settings.window_minutes * 60_000 if start is None else _moment(start, context)
    if first >= last:
        raise QueryRejected(QueryRejection.WINDOW_INVALID)
    if last - first > settings.window_days * 86_400_000:
        raise QueryRejected(QueryRejection.WINDOW_TOO_LARGE)
    used = _step(last - first, step)
    return Window(
        start=first,
        end=last,
        asked_end=asked_end if asked_end > last else None,
        grid=_grid(first, last, used),
        step_is_as_asked=step is None or step == used,
    )


def _moment(text: str, context: EvidenceContext) -> int:
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=context.zone)
        milliseconds = to_milliseconds(moment)
        # what lies before it is asked about too, and everything must be shown in the zone
        for shown in (milliseconds - _LONGEST_STEP_MS * 20, milliseconds):
            iso(shown, context.zone)
    except (ValueError, OverflowError) as error:
        raise QueryRejected(QueryRejection.TIME_INVALID) from error
    return milliseconds


def _step(length: int, asked: int | None) -> int:
    """The finest step that keeps the points under their cap, in milliseconds."""
    if asked is not None and length // asked < _POINTS_ASKED:
        return asked
    most = _POINTS_CHOSEN if asked is None else _POINTS_ASKED
    for seconds in _STEPS_S:
        if seconds * SECOND >= (asked or 0) and length // (seconds * SECOND) < most:
            return seconds * SECOND
    return (length // most // 86_400_000 + 1) * 86_400_000


def _grid(start: int, end: int, step: int) -> Grid:
    unit = min(step, _ROUND)
    last = end // unit * unit
    if last < start:
        return Grid(end, step, 1)
    count = (last - start) // step + 1
    return Grid(last - (count - 1) * step, step, count)
