"""JSON without leniency: duplicate keys, NaN and text around the value are errors."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue


def parse_strict_json(text: str) -> JsonValue:
    """Parse one JSON value.

    Raises:
        ValueError: not JSON, a duplicate key, NaN or Infinity, or nesting beyond all reason.
    """
    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate key")
    return value


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
