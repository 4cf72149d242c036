"""The items of `query_metrics`: one a series, those that changed most first."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo

from pydantic import JsonValue

from diagnosis.plugin import EvidenceContext, EvidenceItem
from diagnosis_prometheus.api import Data, Grid
from diagnosis_prometheus.kinds import kind_of
from diagnosis_prometheus.series import (
    Histogram,
    QueryResult,
    Series,
    cut,
    number,
)
from diagnosis_prometheus.settings import PrometheusSettings
from diagnosis_prometheus.stoppable import Halt
from diagnosis_prometheus.summary import (
    Before,
    Summary,
    histogram_fields,
    shown_points,
    summarise,
)
from diagnosis_prometheus.window import iso

# Of the bytes that can be shown, half are for points; one takes about so many.
_POINT_BYTES = 40
_LEAST_POINTS = 4
_TEXT_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Shown:
    """How the items of one call are made.

    Attributes:
        expr: the expression, of which computed series have their identity.
        told: metadata by the name it was asked for.
        context: the call's zone and bytes.
        settings: the caps.
    """

    expr: str
    told: dict[str, Data]
    context: EvidenceContext
    settings: PrometheusSettings

    @property
    def zone(self) -> tzinfo:
        """The run's."""
        return self.context.zone


def range_items(
    found: QueryResult, earlier: QueryResult | None, grid: Grid | None, shown: Shown, halt: Halt
) -> list[EvidenceItem]:
    """One item a series over its samples, those that changed most first.

    Args:
        found: what the window brought.
        earlier: what the window before brought; None where it could not be read.
        grid: where samples are due; None for raw samples, which have no window before either.
        shown: how they are made.
        halt: looked at between two series.

    Raises:
        Stopped: the caller is gone.
    """
    before = {series.key: series for series in earlier.series} if earlier else {}
    absent: Before = "not read" if earlier is None or earlier.partial else "no samples"
    summaries: dict[str, Summary] = {}
    for series in found.series:
        halt.look()
        summaries[series.key] = summarise(
            series,
            before.get(series.key, absent),
            grid,
            is_counter=kind_of(series.name, shown.told).counts_up,
            zone=shown.zone,
        )
    count = max(1, min(len(summaries), shown.settings.series_limit))
    room = shown.context.byte_budget // 2 // _POINT_BYTES // count
    points = max(_LEAST_POINTS, min(shown.settings.point_limit, room))

    def order(series: Series) -> tuple[float, float, str]:
        summary = summaries[series.key]
        return (-round(summary.change, 9), -summary.amount, series.key)

    def fields_of(series: Series) -> dict[str, JsonValue]:
        halt.look()
        drawn = shown_points(series, points, shown.zone)
        told = summaries[series.key].fields
        return {**_head(series, shown), **told, **({"points": drawn} if drawn else {})}

    return _within(sorted(found.series, key=order), fields_of, shown)


def instant_items(found: QueryResult, shown: Shown, halt: Halt) -> list[EvidenceItem]:
    """One item a value, the highest first; NaN comes last.

    Raises:
        Stopped: the caller is gone.
    """
    if found.text is not None:
        text: dict[str, JsonValue] = {"value": cut(found.text, _TEXT_CHARACTERS)}
        return [EvidenceItem(identity=Series({}).identity(shown.expr), fields=text)]
    if found.kind == "matrix":
        return range_items(found, None, None, shown, halt)

    def order(series: Series) -> tuple[bool, float, str]:
        value = series.values[-1]
        size = value.count if isinstance(value, Histogram) else value
        return (math.isnan(size), 0.0 if math.isnan(size) else -size, series.key)

    def fields_of(series: Series) -> dict[str, JsonValue]:
        halt.look()
        value = series.values[-1]
        told: dict[str, JsonValue] = (
            {"value_is": "a native histogram", "value": histogram_fields(value)}
            if isinstance(value, Histogram)
            else {"value": number(value)}
        )
        return {**_head(series, shown), **told}

    return _within(sorted(found.series, key=order), fields_of, shown)


def gone_series(found: QueryResult, earlier: QueryResult | None) -> list[Series]:
    """Series that had samples in the window before and have none now."""
    here = {series.key for series in found.series}
    gone = [each for each in earlier.series if each.key not in here] if earlier else []
    return sorted(gone, key=lambda series: series.key)


def last_seen(series: Series, zone: tzinfo) -> dict[str, JsonValue]:
    """A series that is gone: its labels, its last value and when that was."""
    value = series.values[-1]
    told = histogram_fields(value) if isinstance(value, Histogram) else number(value)
    return {**series.shown_labels(), "last": {"value": told, "time": iso(series.times[-1], zone)}}


def _head(series: Series, shown: Shown) -> dict[str, JsonValue]:
    return {**series.shown_labels(), **kind_of(series.name, shown.told).fields()}


def _within(
    ordered: list[Series], fields_of: Callable[[Series], dict[str, JsonValue]], shown: Shown
) -> list[EvidenceItem]:
    """Items in order until the cap or the bytes are used up; there is at least one."""
    items: list[EvidenceItem] = []
    size = 0
    for series in ordered[: shown.settings.series_limit]:
        if size > shown.context.byte_budget:
            break
        fields = fields_of(series)
        size += len(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))
        items.append(EvidenceItem(identity=series.identity(shown.expr), fields=fields))
    return items
