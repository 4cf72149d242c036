"""One page of a listing: the items after the cursor that fit the limit and the byte budget."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

from diagnosis.plugin import EvidenceItem, Truncation
from diagnosis_logs.cursor import SortKey

# Kept free of the budget for the envelope, the cursor, and what redaction may add.
_RESERVED_BYTES = 512
_RESERVED_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Page:
    """What is shown, and what is not.

    Attributes:
        items: in order.
        last: the key of the last item where more come after it, else None.
        truncated: why the rest is missing.
    """

    items: tuple[EvidenceItem, ...]
    last: SortKey | None
    truncated: Truncation | None


def page_of(
    candidates: Iterable[tuple[SortKey, EvidenceItem]],
    scope: dict[str, JsonValue],
    limit: int,
    byte_budget: int,
) -> Page:
    """Take items in order until the limit or the bytes are used up; the first always fits.

    The page, not the projection, minds the bytes, so that the cursor goes on right after the last
    item that the model sees.
    """
    left = byte_budget * (1 - _RESERVED_SHARE) - _RESERVED_BYTES - _size(scope)
    items: list[EvidenceItem] = []
    last: SortKey | None = None
    for key, item in candidates:
        if len(items) == limit:
            return Page(tuple(items), last, Truncation.ITEMS)
        left -= _size(item.fields)
        if items and left < 0:
            return Page(tuple(items), last, Truncation.BYTES)
        items.append(item)
        last = key
    return Page(tuple(items), None, None)


def shortened(text: str, characters: int) -> str:
    """The text, or its beginning and its end (where a trace tells its cause) around a mark."""
    if len(text) <= characters:
        return text
    tail = characters // 4
    head = characters - tail
    left_out = len(text) - head - tail
    return f"{text[:head]} [{left_out:,} characters left out] {text[-tail:]}"


def _size(fields: dict[str, JsonValue]) -> int:
    # with the comma that follows
    return len(json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()) + 1
