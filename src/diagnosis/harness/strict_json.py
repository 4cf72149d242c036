"""JSON without leniency: duplicate keys, NaN, infinities and text around the value are errors."""

from __future__ import annotations

import json
import math
from typing import Any

from pydantic import JsonValue


def parse_strict_json(text: str) -> JsonValue:
    """Parse one JSON value.

    Raises:
        ValueError: not JSON, a duplicate key, NaN, Infinity or a number as large (1e999), or
            nesting beyond all reason.
    """
    try:
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate key")
    return value


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
