"""Fitting one JSON object into a number of bytes: long strings are cut, then fields are dropped.

The work is bounded by the bytes there are, not by the size of the object: what can never be shown
is neither redacted nor serialised.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import cast

from pydantic import JsonValue

from diagnosis.harness.redaction import ItemRedactor, named_mask, redact_text
from diagnosis.harness.redaction_pairs import paired
from diagnosis.harness.redaction_patterns import mask

# Characters looked at behind a cut, so that a secret that straddles it is recognised.
_LOOK_AHEAD = 8_192
_DEEPEST = 64
_LONGEST_NAME = 128
_SHORTEST_TEXT = 32
_SHORT_TEXT = 256
_MARK_BYTES = 32
_MASK_START = "[REDACTED:"

_SCALARS = frozenset({str, int, float, bool, type(None)})

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_json(value: JsonValue) -> str:
    """Compact JSON.

    Raises:
        ValueError: NaN, Infinity, or a value that JSON does not have.
    """
    try:
        return _encoder.encode(value)
    except (TypeError, RecursionError) as error:
        raise ValueError("not a JSON value") from error


def size(text: str) -> int:
    """Bytes of a text in UTF-8; a lone surrogate is a ValueError."""
    return len(text) if text.isascii() else len(text.encode())


def is_small(value: object, most: int) -> bool:
    """Whether a value has at most so many characters and is not nested too deeply to walk.

    Raises:
        ValueError: something in it is not JSON.
    """
    if type(value) is dict:  # most items are flat: the same as below, three times as fast
        left = most - 2
        for name, inner in value.items():
            if type(name) is not str or type(inner) not in _SCALARS:
                break
            left -= len(name) + 4 + (len(inner) if type(inner) is str else 8)
        else:
            return left >= 0
    return _measure(value, most, 0) >= 0


def _measure(value: object, left: int, depth: int) -> int:
    """What is left of so many characters after a value, negative where it is too large."""
    if isinstance(value, str):
        return left - len(value) - 2
    if value is None or isinstance(value, bool | float):
        return left - 4
    if isinstance(value, int):
        return left - value.bit_length() // 3 - 1
    if not isinstance(value, dict | list):
        raise ValueError(f"not a JSON value: {type(value).__name__}")  # noqa: TRY004 - one error for all bad results
    if depth == _DEEPEST:
        return -1
    left -= 2
    if isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise ValueError("a name in a JSON object is not a string")  # noqa: TRY004 - as above
            left = _measure(inner, left - len(name) - 4, depth + 1)
            if left < 0:
                break
    else:
        for inner in value:
            left = _measure(inner, left - 1, depth + 1)
            if left < 0:
                break
    return left


# --- the part of a large object that can matter -----------------------------------------------


@dataclass(slots=True)
class _Text:
    data: bytes
    left_out: int = 0


@dataclass(slots=True)
class _Branch:
    named: bool
    entries: list[tuple[str, _Node]] = field(default_factory=list)
    left_out: int = 0


_Node = _Text | _Branch | str  # a str is JSON already


class _Bounded:
    """Copies as much of a value as could be shown in so many bytes, redacted."""

    def __init__(self, most: int, redactor: ItemRedactor) -> None:
        self._most = most
        self._left = 2 * most  # what every further value needs at least is taken from this
        self._whole_texts = 8 * most  # and from this the bytes of texts
        self._redactor = redactor
        self._path: set[int] = set()
        self.complete = True

    def copy(self, value: object, key: str | None = None) -> _Node:
        """The redacted copy; ValueError where something in it is not JSON."""
        self._left -= 4
        masked = named_mask(key, value) if key else None  # type: ignore[arg-type] # checked below
        if masked is not None:
            return _Text(masked.encode())
        if isinstance(value, str):
            return self._text(value, key)
        if isinstance(value, dict | list):
            return self._branch(value, key)
        if value is None or isinstance(value, int | float):
            return to_json(value)
        raise ValueError(f"not a JSON value: {type(value).__name__}")

    def _text(self, text: str, key: str | None) -> _Text:
        most = self._most if self._whole_texts > 0 else _SHORT_TEXT
        left_out = 0
        if len(text) > most:
            self.complete = False
            left_out = size(text[most:])
            text = stable_start(text, most)
        shown = self._redactor.value(text, key)
        data = shown.encode() if isinstance(shown, str) else b""
        self._left -= min(len(data), _SHORTEST_TEXT)
        self._whole_texts -= len(data)
        return _Text(data, left_out)

    def _branch(self, value: dict[object, object] | list[object], key: str | None) -> _Branch:
        if id(value) in self._path:
            raise ValueError("a JSON value holds itself")
        branch = _Branch(named=isinstance(value, dict))
        pairs: Iterator[tuple[object, object]]
        pairs = iter(value.items()) if isinstance(value, dict) else ((key, v) for v in value)
        self._path.add(id(value))
        seen: set[str] = set()
        secret = paired(cast("dict[str, JsonValue]", value)) if branch.named else {}
        for name, inner in pairs:
            if self._left <= 0 or len(self._path) > _DEEPEST:
                break
            if branch.named and not isinstance(name, str):
                raise ValueError("a name in a JSON object is not a string")
            shown = self._name(name) if branch.named and isinstance(name, str) else ""
            if branch.named and shown in seen:
                continue
            seen.add(shown)
            self._left -= len(shown)
            node = (
                _Text(mask(secret[name]).encode())
                if isinstance(name, str) and name in secret
                else self.copy(inner, name)  # type: ignore[arg-type] # str or None
            )
            branch.entries.append((shown, node))
        self._path.discard(id(value))
        branch.left_out = len(value) - len(branch.entries)
        self.complete = self.complete and not branch.left_out
        return branch

    def _name(self, name: str) -> str:
        if len(name) > _LONGEST_NAME:
            self.complete = False
            return stable_start(name, _LONGEST_NAME) + "\u2026"
        return self._redactor.name(name)


def stable_start(text: str, length: int) -> str:
    """The redacted start of a long text, without any part of a secret that straddles its end.

    What is the same whether or not the redaction sees what follows holds no half of a secret.
    """
    seen = redact_text(text[: length + _LOOK_AHEAD])
    both = [redact_text(text[:length]), seen]
    return _whole_masks(commonprefix(both))  # noqa: RUF071 - of characters, not of paths


def _whole_masks(text: str) -> str:
    """The text without a mask that is cut at its end."""
    start = text.rfind("[", len(text) - 32 if len(text) > 32 else 0)
    if start >= 0:
        last = text[start:]
        if "]" not in last and (_MASK_START.startswith(last) or last.startswith(_MASK_START)):
            return text[:start]
    return text


# --- cutting ----------------------------------------------------------------------------------


def fit(value: dict[str, JsonValue], room: int, redactor: ItemRedactor) -> tuple[str, bool]:
    """The JSON text of an object, redacted, in at most `room` bytes, and whether it is all there.

    Args:
        value: the object; only what could be shown of it is looked at.
        room: bytes of UTF-8, at least 48.
        redactor: what masks its secrets.

    Raises:
        ValueError: something in the part that is looked at is not JSON.
    """
    bounded = _Bounded(room, redactor)
    node = bounded.copy(value)
    everything = 2 * room

    def text(longest: int, entries: int, depth: int) -> str | None:
        rendered = _render(node, longest, entries, depth)
        return rendered if size(rendered) <= room else None

    whole = text(everything, everything, _DEEPEST)
    if whole is not None and bounded.complete:
        return whole, True
    whole = whole or _largest(lambda n: text(n, everything, _DEEPEST), _SHORTEST_TEXT, room)
    for depth in (_DEEPEST, 3, 1):
        if whole is not None:
            break
        entries = _largest_number(lambda n, d=depth: text(_SHORTEST_TEXT, n, d), 1, room)  # type: ignore[misc] # default binds the loop's depth
        if entries:
            whole = _largest(lambda n, e=entries, d=depth: text(n, e, d), _SHORTEST_TEXT, room)  # type: ignore[misc] # as above
    return whole or f'{{"\u2026":"[{len(value):,} fields cut]"}}', False


def _largest_number(attempt: Callable[[int], str | None], low: int, high: int) -> int:
    """The largest number for which an attempt succeeds, or 0; it fails for all larger ones."""
    found = 0
    while low <= high:
        middle = (low + high) // 2
        if attempt(middle) is None:
            high = middle - 1
        else:
            found, low = middle, middle + 1
    return found


def _largest(attempt: Callable[[int], str | None], low: int, high: int) -> str | None:
    number = _largest_number(attempt, low, high)
    return attempt(number) if number else None


def _render(node: _Node, longest: int, entries: int, depth: int) -> str:
    """JSON text with strings, containers and nesting no larger than given."""
    if isinstance(node, str):
        return node
    if isinstance(node, _Text):
        return _encoder.encode(_cut(node, longest))
    count = len(node.entries) + node.left_out
    if depth == 0 and count:
        return f'"\u2026[{count:,} nested values cut]"'
    shown = node.entries[:entries]
    parts = [_render(inner, longest, entries, depth - 1) for _, inner in shown]
    missing = count - len(shown)
    if not node.named:
        if missing:
            parts.append(f'"\u2026[{missing:,} more values cut]"')
        return f"[{','.join(parts)}]"
    pairs = [
        f"{_encoder.encode(name)}:{part}" for (name, _), part in zip(shown, parts, strict=True)
    ]
    if missing:
        pairs.append(f'"\u2026":"[{missing:,} more fields cut]"')
    return f"{{{','.join(pairs)}}}"


def _cut(text: _Text, longest: int) -> str:
    if not text.left_out and len(text.data) <= longest + _MARK_BYTES:
        return text.data.decode()
    kept = _whole_masks(text.data[:longest].decode(errors="ignore"))
    left_out = len(text.data) + text.left_out - len(kept.encode())
    return f"{kept}\u2026[{left_out:,} bytes cut]"
