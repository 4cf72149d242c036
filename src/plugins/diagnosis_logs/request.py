"""What the model may ask of `query_logs`, and the time window that a request means."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from diagnosis.plugin import EvidenceContext, QueryRejected, QueryRejection
from diagnosis_logs.levels import LEVEL_OF_NAME, Level
from diagnosis_logs.timestamps import to_instant

LevelName = Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]


def _blank_is_none(value: Any) -> Any:
    # models often send "" for a field they do not want
    return None if isinstance(value, str) and not value.strip() else value


def _level_name(value: Any) -> Any:
    if isinstance(value, str):
        level = LEVEL_OF_NAME.get(value.strip().lower())
        return value if level is None else level.name
    return value


# what every zone can show
_EARLIEST, _LATEST = datetime(1, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001 - of any zone

Text = Annotated[str, Field(max_length=500)]
OptionalText = Annotated[Text | None, BeforeValidator(_blank_is_none)]


class LogQuery(BaseModel):
    """A request to `query_logs`. All filters that are given must hold together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: OptionalText = Field(
        default=None,
        description="Start of the time window, inclusive. ISO 8601; without an offset it is in the "
        "run's zone. Default: 30 minutes (or what is configured) before `end`.",
    )
    end: OptionalText = Field(
        default=None,
        description="End of the time window, exclusive. ISO 8601. Default: the reference time.",
    )
    source: OptionalText = Field(
        default=None,
        description="Only this source: one named in the tool's description or in a scope, or a "
        "folder of them. Default: all sources.",
    )
    service: OptionalText = Field(
        default=None,
        description="Only lines of this service (whole name, letter case ignored).",
    )
    min_level: Annotated[
        LevelName | None, BeforeValidator(_blank_is_none), BeforeValidator(_level_name)
    ] = Field(
        default=None,
        description="Only lines of this level or a worse one. A line that states no level counts "
        "as ERROR if its words clearly tell of one (failed, timed out, refused, out of memory, "
        "HTTP status 5xx and the like); the others are left out and counted in the scope.",
    )
    contains: OptionalText = Field(
        default=None, description="Only lines that contain this text, letter case ignored."
    )
    regex: OptionalText = Field(
        default=None,
        description="Only lines in which this regular expression is found (RE2 syntax: no "
        "look-around, no back-references; letter case counts unless it begins with (?i)).",
    )
    exclude: OptionalText = Field(
        default=None, description="Leave out lines that contain this text, letter case ignored."
    )
    trace_id: OptionalText = Field(
        default=None, description="Only lines that contain this trace or request id as a whole."
    )
    mode: Literal["lines", "templates", "histogram"] = Field(
        default="lines",
        description="lines: the matching lines in order of time. templates: lines that differ only "
        "in numbers, ids, addresses and quoted texts counted together, worst level first, then "
        "patterns new in this window, then the most frequent; each with a real example. "
        "histogram: number of lines per time bucket and level.",
    )
    context_lines: int = Field(
        default=0,
        ge=0,
        le=10,
        description="For mode lines: how many lines before and after each match to show as well.",
    )
    limit: int = Field(
        default=50, ge=1, le=200, description="Most items (lines, templates, buckets) to return."
    )
    cursor: OptionalText = Field(
        default=None,
        description="`next_cursor` of an earlier scope of the same request, to go on after it.",
    )

    @property
    def least(self) -> Level | None:
        """`min_level` as a level."""
        return None if self.min_level is None else Level[self.min_level]


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open span of time, in microseconds since 1970.

    Attributes:
        start: inclusive.
        end: exclusive.
    """

    start: int
    end: int

    @property
    def before(self) -> Window:
        """The span of equal length directly before."""
        return Window(2 * self.start - self.end, self.start)


def window_of(request: LogQuery, context: EvidenceContext, minutes: int) -> Window:
    """The window a request means.

    Args:
        request: start and end as the model wrote them.
        context: brings the reference time and the zone.
        minutes: length where no start is given.

    Raises:
        QueryRejected: TIME_INVALID, or WINDOW_INVALID where start is not before end.
    """
    try:
        end = _moment(request.end, context) if request.end else context.reference_time
        if request.start:
            start = _moment(request.start, context)
        else:
            start = end.astimezone(UTC) - timedelta(minutes=minutes)
        window = Window(to_instant(start), to_instant(end))
    except (ValueError, OverflowError) as error:
        raise QueryRejected(QueryRejection.TIME_INVALID) from error
    if window.start >= window.end:
        raise QueryRejected(QueryRejection.WINDOW_INVALID)
    return window


def _moment(text: str, context: EvidenceContext) -> datetime:
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        # `0001-01-01` means the beginning of all, in whatever zone
        moment = min(max(moment, _EARLIEST), _LATEST).replace(tzinfo=context.zone)
    for zone in (context.zone, UTC):
        moment.astimezone(zone)  # raises OverflowError for what cannot be shown
    return moment
