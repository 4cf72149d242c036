"""A recorded result as the model was shown it: its integrity checked, its items with their text.

The JSON is walked rather than parsed and written anew, so that an item's text and a number's
digits are those the model saw, whoever wrote them.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from diagnosis.contracts.evidence import EvidenceStatus, ToolInvocation


class ShownNumber(str):
    """A JSON number, as the digits that were shown."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ShownItem:
    """One item of a result.

    Attributes:
        text: its JSON text exactly as shown.
        value: the parsed text; numbers are `ShownNumber`.
    """

    text: str
    value: Any


@dataclass(frozen=True, slots=True)
class ShownResult:
    """What a projection says.

    Attributes:
        evidence_status: EVIDENCE_FOUND or NO_EVIDENCE.
        truncated: whether more may match than is shown.
    """

    evidence_status: EvidenceStatus
    items: tuple[ShownItem, ...]
    truncated: bool


def read_result(record: ToolInvocation) -> ShownResult | None:
    """The result that a READY record holds.

    Returns:
        None when the text cannot be trusted: it does not have the recorded sha256, is no
        agent_result, or belongs to another call or another evidence status than the record says.
    """
    text = record.projection
    if text is None:
        return None
    # a lone surrogate cannot be in a text that was shown, and must not raise here either
    if hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest() != record.projection_sha256:
        return None
    try:
        members, items = _Walk(text).result()
        status = EvidenceStatus(members["evidence_status"])
        truncated = members["truncated"] is not None
        shown_id = members["tool_call_id"]
    except (ValueError, KeyError, RecursionError):
        return None
    if shown_id != record.tool_call_id or status != record.evidence_status:
        return None
    if status is EvidenceStatus.ERROR:
        return None
    return ShownResult(status, items, truncated)


class _Walk:
    """One pass over a projection, from its first character to its last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def result(self) -> tuple[dict[str, Any], tuple[ShownItem, ...]]:
        """The object's members without `items`, and its items.

        Raises:
            ValueError: not one JSON object with a list of items, or a member named twice.
            RecursionError: nested beyond all reason.
        """
        members: dict[str, Any] = {}
        items: tuple[ShownItem, ...] | None = None
        self._expect("{")
        while True:
            key = self._value()
            if type(key) is not str or key in members or (key == "items" and items is not None):
                raise ValueError("not a member's name, or one that was there before")
            self._expect(":")
            if key == "items":
                items = self._elements()
            else:
                members[key] = self._value()
            if self._take("}"):
                break
            self._expect(",")
        self._skip_white_space()
        if items is None or self._at != len(self._text):
            raise ValueError("no items, or text behind the object")
        return members, items

    def _elements(self) -> tuple[ShownItem, ...]:
        items: list[ShownItem] = []
        self._expect("[")
        if self._take("]"):
            return ()
        while True:
            self._skip_white_space()
            start = self._at
            value = self._value()
            items.append(ShownItem(self._text[start : self._at], value))
            if not self._take(","):
                break
        self._expect("]")
        return tuple(items)

    def _value(self) -> Any:
        self._skip_white_space()
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def _take(self, token: str) -> bool:
        self._skip_white_space()
        taken = self._text.startswith(token, self._at)
        self._at += len(token) if taken else 0
        return taken

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise ValueError(f"no {token}")

    def _skip_white_space(self) -> None:
        if match := _WHITE_SPACE.match(self._text, self._at):
            self._at = match.end()


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_WHITE_SPACE = re.compile(r"[ \t\r\n]+")
_DECODER = json.JSONDecoder(
    parse_float=ShownNumber, parse_int=ShownNumber, parse_constant=_refuse_constant
)
