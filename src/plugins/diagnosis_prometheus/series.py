"""What Prometheus answers to a query, checked and taken apart into series of samples."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from diagnosis_prometheus.api import Data
from diagnosis_prometheus.stoppable import Halt

# Longer label values are cut with a mark, and a series shows no more labels than this.
_LABEL_CHARACTERS = 200
_LABELS = 40
# Floats count whole numbers exactly up to here.
_EXACT = 2**53


SHAPE_ERRORS = (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError)
"""What taking a value apart raises where it has another shape."""

# Seconds since 1970 that every zone can show: years 68 to 5138.
_POSSIBLE_S = (-6e10, 1e11)


class StrangeResult(Exception):
    """The answer has not the shape that the API promises."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """A native histogram at one moment: how many observations, and their sum."""

    count: float
    sum: float


@dataclass(slots=True)
class Series:
    """One series.

    Attributes:
        labels: with the metric's name as `__name__`, where it has kept it.
        times: in milliseconds, in order.
        values: one a time: a number, or the histogram of a native one.
    """

    labels: dict[str, str]
    times: list[int] = field(default_factory=list)
    values: list[float | Histogram] = field(default_factory=list)

    @property
    def name(self) -> str | None:
        """The metric's name, which functions and aggregations drop."""
        return self.labels.get("__name__")

    @property
    def key(self) -> str:
        """All labels as text: what tells the series of one answer apart."""
        return json.dumps(self.labels, sort_keys=True, ensure_ascii=False)

    def identity(self, expr: str) -> str:
        """Stable: a stored series is its labels, a computed one its expression and its labels."""
        made_of = self.key if self.name is not None else f"{expr}\0{self.key}"
        return hashlib.sha256(made_of.encode()).hexdigest()[:32]

    def shown_labels(self) -> dict[str, JsonValue]:
        """The name and the labels as fields of an item."""
        labels = {name: text for name, text in sorted(self.labels.items()) if name != "__name__"}
        fields: dict[str, JsonValue] = {} if self.name is None else {"metric": cut(self.name)}
        fields["labels"] = shown_labels(labels)
        return fields


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Everything one query brought.

    Attributes:
        kind: vector, matrix, scalar or string.
        series: for a scalar one without labels; for a string none.
        text: of a string.
        partial: whether the server warns that it could not read everything.
    """

    kind: str
    series: list[Series]
    text: str | None = None
    partial: bool = False


def read_result(data: Data, halt: Halt) -> QueryResult:
    """Take the answer to a query apart.

    Raises:
        StrangeResult: it has another shape than promised.
        Stopped: the caller is gone.
    """
    try:
        kind, result = data.value["resultType"], data.value["result"]
        if kind == "scalar":
            series = Series({}, *_samples([result]))
            return QueryResult(kind, [series], partial=data.partial)
        if kind == "string":
            return QueryResult(kind, [], text=_text(result[1]), partial=data.partial)
        if kind not in {"vector", "matrix"} or not isinstance(result, list):
            raise StrangeResult
        series_found: list[Series] = []
        for each in result:
            halt.look()
            series_found.append(_series(each, kind))
        if len({each.key for each in series_found}) < len(series_found):
            raise StrangeResult
    except SHAPE_ERRORS as error:
        raise StrangeResult from error
    return QueryResult(kind, series_found, partial=data.partial)


def _series(each: Any, kind: str) -> Series:
    labels = {_text(name): _text(value) for name, value in each["metric"].items()}
    if kind == "vector":
        plain = [each["value"]] if "value" in each else []
        native = [each["histogram"]] if "histogram" in each else []
    else:
        plain, native = each.get("values", []), each.get("histograms", [])
    times, values = _samples(plain)
    series = Series(labels, times, list(values))
    if native:
        series.times += [_time(at) for at, _ in native]
        series.values += [_histogram(value) for _, value in native]
        order = sorted(range(len(series.times)), key=series.times.__getitem__)
        series.times = [series.times[at] for at in order]
        series.values = [series.values[at] for at in order]
    if not series.times:
        raise StrangeResult
    return series


def _samples(pairs: list[Any]) -> tuple[list[int], list[Any]]:
    times, values = [], []
    for at, value in pairs:
        times.append(_time(at))
        values.append(_number(value))
    return times, values


def _time(seconds: Any) -> int:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise StrangeResult
    return milliseconds_of(seconds)


def milliseconds_of(seconds: float) -> int:
    """Seconds since 1970 as milliseconds.

    Raises:
        StrangeResult: they are no time that can be shown.
    """
    if not _POSSIBLE_S[0] < seconds < _POSSIBLE_S[1]:
        raise StrangeResult
    return round(seconds * 1000)


def _number(text: Any) -> float:
    """Numbers come as strings, because JSON has no NaN and no infinity."""
    if not isinstance(text, str) or len(text) > 64:
        raise StrangeResult
    return float(text)


def _histogram(value: Any) -> Histogram:
    return Histogram(_number(value["count"]), _number(value["sum"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise StrangeResult
    return value


# --- what a model is shown -------------------------------------------------------------------


def number(value: float) -> JsonValue:
    """A number as JSON; what JSON has no number for as Prometheus writes it: NaN, +Inf, -Inf."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return int(value) if value == int(value) and abs(value) < _EXACT else value


def computed(value: float) -> JsonValue:
    """A number we worked out: with the six digits that it can be trusted for."""
    return number(float(f"{value:.6g}")) if math.isfinite(value) else number(value)


def cut(text: str, characters: int = _LABEL_CHARACTERS) -> str:
    """The beginning of a text, and how much is left out."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]}… [{len(text) - characters} characters left out]"


def shown_labels(labels: dict[str, str]) -> dict[str, JsonValue]:
    """Labels within bounds, in order of their names."""
    shown = sorted(labels.items())[:_LABELS]
    fields: dict[str, JsonValue] = {cut(name): cut(value) for name, value in shown}
    if len(labels) > len(shown):
        fields["…"] = f"{len(labels) - len(shown)} labels left out"
    return fields
