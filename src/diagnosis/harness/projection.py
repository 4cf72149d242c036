"""Projection: what of a tool's result the model sees, as one JSON object within its bytes.

Whitelist (the items' fields, scope, matched, truncated: never an identity), then redaction, then
the byte bound: items are kept whole, from the front, as long as they fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from diagnosis.contracts.evidence import EvidenceResult, EvidenceStatus, Truncation
from diagnosis.harness.projection_fitting import fit, is_small, size, to_json
from diagnosis.harness.redaction import ItemRedactor
from diagnosis.harness.redaction_patterns import hinted

# Items shrink when secrets are masked, so more may have to be looked at than can be shown; beyond
# this many times the limit no further item is.
_MOST_LOOKED_AT = 16
# The scope gets a quarter of the bytes, and more only if the items leave room.
_SCOPE_SHARE = 4
# What must be left beside the call's id for the rest.
_LEAST_ROOM = 512

_ITEMS = ',"items":['


@dataclass(frozen=True, slots=True)
class Projection:
    """What the model is shown of one result.

    Attributes:
        text: one JSON object; `len(text.encode())` is at most the limit.
        shown: how many items stand in it, from the front; the first may be cut.
        matched: how many match in the scope, or None where nobody knows.
        truncated: why it is not everything.
    """

    text: str
    shown: int
    matched: int | None
    truncated: Truncation | None
    evidence_status: EvidenceStatus


def project(
    result: EvidenceResult, *, tool_call_id: str, limit: int, stop_required: bool = False
) -> Projection:
    """Project a result into at most `limit` bytes (at least 1,024) of UTF-8.

    Only what can be shown is looked at. The same input gives the same bytes.

    Raises:
        ValueError: something in the result is not JSON (NaN, Infinity, lone surrogates, other
            types), or the id leaves no room.
    """
    return _Projector(result, tool_call_id, limit, stop_required).run()


class _Projector:
    """One projection under way."""

    def __init__(
        self, result: EvidenceResult, tool_call_id: str, limit: int, stop_required: bool
    ) -> None:
        self._items = result.items
        self._scope = result.scope
        self._own = result.truncated
        self._limit = limit
        self._matched = result.matched
        if result.matched is None and result.truncated is None:
            self._matched = len(result.items)
        found = bool(result.items)
        self._status = EvidenceStatus.EVIDENCE_FOUND if found else EvidenceStatus.NO_EVIDENCE
        self._head = (
            f'{{"tool_call_id":{to_json(tool_call_id)},"evidence_status":"{self._status}","scope":'
        )
        self._signal = ',"signal":"STOP_REQUIRED"}' if stop_required else "}"
        if size(self._head) > limit - _LEAST_ROOM:
            raise ValueError("the id of the call leaves no room for its result")

    def run(self) -> Projection:
        """Scope, items, scope again if it has to be cut to what the items leave."""
        scope_text, scope_size = self._whole_scope()
        share = min(scope_size, self._limit // _SCOPE_SHARE)
        scope_cut = scope_size > share
        room = self._limit - size(self._head) - share
        everything = None if scope_cut else self._everything(room)
        if everything is not None:
            items, shown, complete = everything, len(self._items), True
        else:
            texts, whole = self._show_items(room, scope_cut)
            items, shown = ",".join(texts), len(texts)
            complete = shown == len(self._items) and whole
        items = f"{_ITEMS}{items}"
        if scope_text is None or scope_size > self._room_beside(items, shown, complete):
            room = self._room_beside(items, shown, complete=False)
            scope_text, whole = fit(self._scope, room, ItemRedactor())
            complete = complete and whole
        tail = self._tail(shown, self._truncated(complete))
        return Projection(
            text=f"{self._head}{scope_text}{items}{tail}",
            shown=shown,
            matched=self._matched,
            truncated=self._truncated(complete),
            evidence_status=self._status,
        )

    def _room_beside(self, items: str, shown: int, complete: bool) -> int:
        """Bytes that everything but the scope leaves."""
        tail = self._tail(shown, self._truncated(complete))
        return self._limit - size(self._head) - size(items) - size(tail)

    def _truncated(self, complete: bool) -> Truncation | None:
        if complete or self._own is Truncation.SCAN:
            return self._own
        return Truncation.BYTES

    def _tail(self, shown: int, truncated: Truncation | None) -> str:
        return (
            f'],"matched":{to_json(self._matched)},"shown":{shown},'
            f'"truncated":{to_json(truncated)}{self._signal}'
        )

    def _whole_scope(self) -> tuple[str | None, int]:
        """The scope's text, or None where it is too large to be looked at whole."""
        if not is_small(self._scope, 2 * self._limit):
            return None, self._limit
        text = to_json(self._scope)
        if hinted(text):
            text = to_json(ItemRedactor().fields(self._scope))
        return text, size(text)

    def _everything(self, room: int) -> str | None:
        """All items at once, where they fit and none can hold a secret: the usual case."""
        left = room - size(_ITEMS) - size(self._tail(len(self._items), self._own))
        unseen = left
        for item in self._items:
            # the text alone, before more is looked at: too much of it, and the rest is not
            unseen -= sum(len(value) for value in item.fields.values() if type(value) is str)
            if unseen < 0 or not is_small(item.fields, left):
                return None
        text = to_json([item.fields for item in self._items])[1:-1]
        return None if size(text) > left or hinted(text) else text

    def _show_items(self, room: int, scope_cut: bool) -> tuple[list[str], bool]:
        """The texts of the items that fit in `room` bytes with the tail; whether they are whole."""
        texts: list[str] = []
        room -= size(_ITEMS)
        most = size(self._tail(len(self._items), Truncation.BYTES))
        used = 0
        for text in self._redacted_items():
            needed = used + bool(texts) + size(text) if text is not None else room
            if text is None or needed + most > room:
                last = len(texts) + 1 == len(self._items) and not scope_cut
                tail = size(self._tail(len(texts) + 1, self._truncated(last)))
                if text is None or needed + tail > room:
                    break
            texts.append(text)
            used = needed
        if texts or not self._items:
            return texts, True
        text, whole = fit(self._items[0].fields, room - most, ItemRedactor())
        return [text], whole

    def _redacted_items(self) -> Iterator[str | None]:
        """The items' texts in order, as far as they are asked for; None for one too large to show.

        Hints are looked for in many items at once, then only those found in each of them.
        """
        redactor = ItemRedactor()
        position = looked_at = 0
        while position < len(self._items) and looked_at <= _MOST_LOOKED_AT * self._limit:
            block = self._block(position)
            length = sum(len(text) for text in block if text is not None)
            rules = hinted("\n".join(text for text in block if text is not None))
            for text in block:
                if text is None:
                    yield None
                    return
                hits = hinted(text, rules) if rules else ()
                if hits or redactor.inside_key:
                    yield to_json(redactor.fields(self._items[position].fields, hits))
                else:
                    yield text
                position += 1
            looked_at += length + 1

    def _block(self, position: int) -> list[str | None]:
        """The texts of the next items, not redacted, up to about the limit."""
        block: list[str | None] = []
        length = 0
        while position < len(self._items) and length < self._limit:
            fields = self._items[position].fields
            if not is_small(fields, 2 * self._limit):
                block.append(None)
                break
            text = to_json(fields)
            block.append(text)
            length += len(text)
            position += 1
        return block
