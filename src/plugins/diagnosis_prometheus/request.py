"""What the model sends to `query_metrics` and to `list_alerts`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from diagnosis_prometheus.window import duration_ms


def _blank_is_none(value: Any) -> Any:
    # models often send "" for a field they do not want
    return None if isinstance(value, str) and not value.strip() else value


def _step_text(value: Any) -> Any:
    # a number of seconds, as the server's own API takes it
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return value.strip() if isinstance(value, str) else value


def _is_duration(value: str) -> str:
    duration_ms(value)
    return value


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


OptionalTime = Annotated[
    Annotated[str, Field(max_length=64)] | None, BeforeValidator(_blank_is_none)
]
Step = Annotated[str, Field(max_length=40), AfterValidator(_is_duration)]
OptionalStep = Annotated[Step | None, BeforeValidator(_blank_is_none), BeforeValidator(_step_text)]
OptionalName = Annotated[
    Annotated[str, Field(max_length=200)] | None, BeforeValidator(_blank_is_none)
]


class QueryMetricsRequest(BaseModel):
    """One PromQL expression, at one moment or over a window."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expr: str = Field(
        min_length=1,
        max_length=4_000,
        description="One PromQL expression. Use rate() or increase() on counters, and sum by (...) "
        "where there are many series; over a window the expression must give an instant vector.",
    )
    start: OptionalTime = Field(
        default=None,
        description="Start of the time window, inclusive. ISO 8601; without an offset it is in the "
        "run's zone. Without start and end the expression is evaluated once, at the reference "
        "time; with only an end, over the configured length before it.",
    )
    end: OptionalTime = Field(
        default=None,
        description="End of the time window, inclusive. ISO 8601. Default: the reference time; a "
        "later one becomes the reference time.",
    )
    step: OptionalStep = Field(
        default=None,
        description="Distance of the window's points: 30s, 5m, 1h. Default: chosen from the "
        "window's length; a step that gives too many points is made longer. Only with a window.",
    )

    @property
    def step_ms(self) -> int | None:
        """The step in milliseconds."""
        return None if self.step is None else duration_ms(self.step)


class ListAlertsRequest(BaseModel):
    """Which alerts to list. All filters that are given must hold together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: Annotated[
        Literal["firing", "pending", "suppressed"] | None,
        BeforeValidator(_blank_is_none),
        BeforeValidator(_lower),
    ] = Field(
        default=None,
        description="firing: the condition holds, also where a silence or an inhibition keeps the "
        "alert quiet. pending: it holds, but not long enough yet. suppressed: firing and kept "
        "quiet. Default: all.",
    )
    severity: OptionalName = Field(
        default=None,
        description="Only alerts whose label `severity` is this (whole, letter case ignored).",
    )
    service: OptionalName = Field(
        default=None,
        description="Only alerts of this service: one of the labels that name the service has "
        "this value (whole, letter case ignored).",
    )
