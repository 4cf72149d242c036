"""A series over a window in a few figures, beside the same figures of the window before."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import pairwise
from typing import Literal

from pydantic import JsonValue

from diagnosis_prometheus.api import Grid
from diagnosis_prometheus.series import Histogram, Series, computed, number
from diagnosis_prometheus.window import duration_text, iso

Before = Series | Literal["no samples", "not read"]
"""The same series in the window before; or it had none there; or nobody could look."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of a series over its samples; NaN counts in none of them but `samples`.

    Attributes:
        samples: how many samples there are.
        first, last, least, most: positions among them.
        average: of the values.
        increase: what a counter counted, resets taken into account.
        resets: how often the value fell; for a counter: how often it began anew.
    """

    samples: int
    first: int
    last: int
    least: int
    most: int
    average: float
    increase: float
    resets: int


def figures_of(values: Sequence[float]) -> Figures:
    """The figures of at least one value."""
    places = [at for at, value in enumerate(values) if not math.isnan(value)]
    if not places:
        return Figures(len(values), 0, len(values) - 1, 0, 0, math.nan, math.nan, 0)
    kept = [values[at] for at in places]
    steps = [after - before for before, after in pairwise(kept)]
    # a counter that fell began anew at zero, and counted up to what it shows then
    grown = [step if step >= 0 else after for step, after in zip(steps, kept[1:], strict=True)]
    try:
        average = math.fsum(kept) / len(kept)
    except (ValueError, OverflowError):  # infinities of both signs, or beyond every float
        average = math.nan
    return Figures(
        samples=len(values),
        first=0,
        last=len(values) - 1,
        least=min(places, key=values.__getitem__),
        most=max(places, key=values.__getitem__),
        average=average,
        increase=sum(grown),
        resets=sum(step < 0 for step in steps),
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """What is told of one series, and how much it changed.

    Attributes:
        fields: what the model may see, labels aside.
        change: how much it changed against before and within the window, relative to its size:
            0 for not at all, at most 2.
        amount: the same in its own unit; it decides between equal changes.
    """

    fields: dict[str, JsonValue]
    change: float
    amount: float


def summarise(
    series: Series, before: Before, grid: Grid | None, *, is_counter: bool, zone: tzinfo
) -> Summary:
    """Summarise the samples of one series.

    Args:
        series: at least one sample.
        before: what the window before had.
        grid: where samples are due; None for raw samples, of which nobody knows.
        is_counter: whether the values count up, and begin anew at zero after a restart.
        zone: of the times that are told.
    """
    if any(isinstance(value, Histogram) for value in series.values):
        return _of_histograms(series, grid, zone)
    values = _floats(series)
    now = figures_of(values)
    earlier = _floats(before) if isinstance(before, Series) and not _is_native(before) else []
    then = figures_of(earlier) if earlier else None

    def at(place: int) -> JsonValue:
        return {"value": number(values[place]), "time": iso(series.times[place], zone)}

    fields: dict[str, JsonValue] = {"last": at(now.last), "first": at(now.first)}
    if is_counter:
        # how high a counter stands says nothing; how much it counted does
        fields |= {"increase": computed(now.increase), "resets": now.resets}
    else:
        fields |= {
            "min": at(now.least),
            "max": at(now.most),
            "avg": computed(now.average),
            "change": computed(values[now.last] - values[now.first]),
        }
    if then is not None:
        fields |= _against(then, earlier, now, values, is_counter=is_counter)
    elif grid is not None:
        fields["before"] = "a native histogram" if isinstance(before, Series) else before
    fields |= _samples_told(series, values, grid, zone)
    measure = now.increase if is_counter else now.average
    measure_then = math.nan
    if then is not None:
        measure_then = then.increase if is_counter else then.average
    change = _relative(measure_then, measure)
    if not is_counter:
        change = max(change, _relative(values[now.first], values[now.last]))
    if before == "no samples":
        change = max(change, 1.0)  # it is new: as much as from zero
    amount = abs(measure - measure_then)
    return Summary(fields, change, amount if math.isfinite(amount) else 0.0)


def _against(
    then: Figures, earlier: list[float], now: Figures, values: list[float], *, is_counter: bool
) -> dict[str, JsonValue]:
    """What the window before had, and the change against it."""
    told: dict[str, JsonValue] = {"last": number(earlier[then.last]), "samples": then.samples}
    against: dict[str, JsonValue] = {}
    if is_counter:
        told |= {"increase": computed(then.increase), "resets": then.resets}
        against["increase"] = _difference(then.increase, now.increase)
    else:
        told |= {
            "min": number(earlier[then.least]),
            "max": number(earlier[then.most]),
            "avg": computed(then.average),
        }
        against["avg"] = _difference(then.average, now.average)
        against["last"] = _difference(earlier[then.last], values[now.last])
    return {"before": told, "change_against_before": against}


def _difference(then: float, now: float) -> JsonValue:
    """Absolute and in percent; there is no percentage of nothing."""
    absolute = now - then
    percent: JsonValue = None
    if then and math.isfinite(then) and math.isfinite(absolute):
        percent = computed(round(absolute / abs(then) * 100, 2))
    return {"absolute": computed(absolute), "percent": percent}


def _relative(then: float, now: float) -> float:
    """The difference against the larger of the two: 0 to 2; 0 where one of them is unknown."""
    if then == now or math.isnan(then) or math.isnan(now):
        return 0.0
    if math.isinf(then) or math.isinf(now):
        return 2.0
    return abs(now / 2 - then / 2) / (max(abs(then), abs(now)) / 2)


def _samples_told(
    series: Series, values: Sequence[float], grid: Grid | None, zone: tzinfo
) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"samples": len(values)}
    if unreal := sum(math.isnan(value) for value in values):
        told["nan_samples"] = unreal
    if grid is not None:
        told["missing"] = max(0, grid.count - len(values))
        if gap := _longest_gap(series.times, grid):
            told["longest_gap"] = {
                "from": iso(gap.first, zone),
                "to": iso(gap.last, zone),
                "length": duration_text(gap.count * gap.step),
            }
    return told


def _longest_gap(times: list[int], grid: Grid) -> Grid | None:
    """The longest run of due moments without a sample; of equal ones the first."""
    longest: Grid | None = None
    due = grid.first
    for time in (*times, grid.last + grid.step):
        missing = (time - due) // grid.step
        if missing > (longest.count if longest else 0):
            longest = Grid(due, grid.step, missing)
        due = time + grid.step
    return longest


# --- histograms ------------------------------------------------------------------------------


def _is_native(series: Series) -> bool:
    return any(isinstance(value, Histogram) for value in series.values)


def _floats(series: Series) -> list[float]:
    return [value for value in series.values if isinstance(value, float)]


def _of_histograms(series: Series, grid: Grid | None, zone: tzinfo) -> Summary:
    native = [
        (time, value)
        for time, value in zip(series.times, series.values, strict=True)
        if isinstance(value, Histogram)
    ]
    counts = [value.count for _, value in native]
    fields: dict[str, JsonValue] = {"value_is": "a native histogram"}
    for name, (time, value) in (("last", native[-1]), ("first", native[0])):
        fields[name] = {**histogram_fields(value), "time": iso(time, zone)}
    fields |= _samples_told(series, counts, grid, zone)
    return Summary(fields, _relative(counts[0], counts[-1]), 0.0)


def histogram_fields(value: Histogram) -> dict[str, JsonValue]:
    """How many observations, their sum and their average."""
    fields: dict[str, JsonValue] = {"count": number(value.count), "sum": number(value.sum)}
    if value.count and math.isfinite(value.count):
        fields["avg"] = computed(value.sum / value.count)
    return fields


# --- points ----------------------------------------------------------------------------------


def shown_points(series: Series, most: int, zone: tzinfo) -> list[JsonValue]:
    """Real samples: the first, the last, the lowest, the highest, and evenly spread ones.

    One that is like the shown ones on both sides of it says nothing and is left out.
    """
    values = _floats(series)
    if not values or _is_native(series):
        return []
    places = sorted(_places(values, most))
    shown = [number(values[place]) for place in places]
    last = len(places) - 1
    return [
        [iso(series.times[place], zone), shown[at]]
        for at, place in enumerate(places)
        if at in {0, last} or not shown[at - 1] == shown[at] == shown[at + 1]
    ]


def _places(values: list[float], most: int) -> Iterator[int]:
    if len(values) <= most:
        yield from range(len(values))
        return
    figures = figures_of(values)
    chosen = dict.fromkeys((figures.last, figures.first, figures.most, figures.least))
    yield from list(chosen)[:most]
    left = most - len(chosen)
    for each in range(1, left + 1):
        place = each * len(values) // (left + 1)
        if place not in chosen:
            yield place
