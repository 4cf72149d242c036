"""What kind of metric a series is of, and in which unit, as far as that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from diagnosis_prometheus.api import Data
from diagnosis_prometheus.series import cut

_TYPES = {"counter", "gauge", "histogram", "summary", "gaugehistogram", "info", "stateset"}
# the parts of a histogram or a summary, whose metadata stands under the name without them
_PARTS = ("_bucket", "_count", "_sum", "_total", "_created")
_MADE_OF_PARTS = {"counter", "histogram", "summary"}
_COUNTS = ("_bucket", "_count", "_sum")
_SURELY_COUNTS = ("_total", "_bucket")
_UNITS = ("seconds", "milliseconds", "bytes", "ratio", "percent", "celsius", "volts", "amperes",
          "joules", "grams", "meters", "hertz", "watts")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """What is known of a metric.

    Attributes:
        type: counter, gauge, ..., or None.
        unit: seconds, bytes, ..., or None.
        counts_up: whether its series count up and begin anew at zero after a restart.
    """

    type: str | None
    unit: str | None
    counts_up: bool

    def fields(self) -> dict[str, JsonValue]:
        """What the model may see of it."""
        known: dict[str, JsonValue] = {"type": self.type, "unit": self.unit}
        return {name: value for name, value in known.items() if value is not None}


UNKNOWN = Kind(None, None, counts_up=False)


def family(metric: str) -> str:
    """The name under which a metric's metadata may stand: without the part of a histogram."""
    return next((metric.removesuffix(part) for part in _PARTS if metric.endswith(part)), metric)


def kind_of(metric: str | None, told: dict[str, Data]) -> Kind:
    """The kind of a stored series; nothing is known of a computed one.

    Args:
        metric: the name the series has kept, or None.
        told: the metadata that was found, by the name it was asked for.
    """
    if metric is None:
        return UNKNOWN
    type_, unit = None, None
    own, whole = _entry(told.get(metric), metric), None
    if own is None and metric != family(metric):
        whole = _entry(told.get(family(metric)), family(metric))
    if own is not None:
        type_, unit = own
    elif whole is not None and whole[0] in _MADE_OF_PARTS:
        type_, unit = whole
    unit = unit or next((each for each in _UNITS if family(metric).endswith(f"_{each}")), None)
    counts_up = type_ == "counter" or (
        metric.endswith(_COUNTS)
        if type_ in _MADE_OF_PARTS
        # without metadata only a name that nothing else has tells
        else type_ is None and metric.endswith(_SURELY_COUNTS)
    )
    return Kind(type_, unit, counts_up)


def _entry(data: Data | None, name: str) -> tuple[str | None, str | None] | None:
    """Type and unit, where the answer has the promised shape."""
    entries: Any = data.value.get(name) if data and isinstance(data.value, dict) else None
    entry = entries[0] if isinstance(entries, list) and entries else None
    if not isinstance(entry, dict):
        return None
    type_, unit = entry.get("type"), entry.get("unit")
    return (
        type_ if isinstance(type_, str) and type_ in _TYPES else None,
        cut(unit, 32) if isinstance(unit, str) and unit else None,
    )
