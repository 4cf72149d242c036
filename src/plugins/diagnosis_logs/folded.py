"""Lines that hold several records each: an array of objects that alone tell times, unfolded.

CloudTrail writes a file as one line `{"Records":[{...},{...}]}`, an export of a cloud's console as
`[{...},{...}]`, OpenTelemetry's collector a batch a line, with the records three arrays deep;
events of XML may stand one behind the other. Each record becomes a line of its own; lines are then
counted so, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import islice

from pydantic import JsonValue

from diagnosis_logs.keys import learn_keys
from diagnosis_logs.markup import fields_of
from diagnosis_logs.packing import Readable
from diagnosis_logs.places import FAR_FUTURE
from diagnosis_logs.structured import Fields
from diagnosis_logs.valuetimes import ValueTimes

# A longer line is no batch, or one that cannot be held: it stays as it is.
_LINE_BYTES = 16 << 20
_STRING_BYTES = 1 << 20
_LINES_LOOKED_AT = 50
_ARRAYS_LOOKED_AT = 20
_ELEMENTS_LOOKED_AT = 20
_DEPTH = 12
_MARK = b"\xef\xbb\xbf"

_ARRAY = re.compile(r"\[\s*\{")
_TEXT_TOKEN = re.compile(r'"((?:[^"\\]+|\\.)*+)"(\s*:)?|([\[{])|[\]}]', re.DOTALL)
_TOKEN = re.compile(rb'"((?:[^"\\]+|\\.)*+)(")?|[\[{]|[\]}]|,|\n', re.DOTALL)
_ELEMENT = re.compile(r"<([A-Za-z][\w:.-]{0,63})(?=[\s>])")
_SIMPLE_HEAD = re.compile(r'\s*(?:\{\s*"\w{1,64}"\s?:\s?)?\[\s*\Z')
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Folding:
    """Where in a line its records stand.

    Attributes:
        path: the keys of the arrays, from the outermost inwards; "" for an array in none. The name
            of the element of markup, where depth is 0.
        depth: how many brackets are open in the innermost array.
        parted: whether what stands before the first record is no part of its line.
    """

    path: tuple[str, ...]
    depth: int
    parted: bool


def folding_of(head: str) -> Folding | None:
    """How the lines of a file fold several records, told by its beginning; None if they do not."""
    lines = (line for line in head.split("\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT] if line.strip())
    for line in lines:
        bare = line.lstrip("\ufeff \t")
        if bare.startswith(("<?", "<!")):
            continue
        if not bare.startswith(("{", "[")):
            return _of_elements(bare) if bare.startswith("<") else None
        if _ARRAY.search(line) and (found := _in_line(line)) is not None:
            return found
    return None


def _of_elements(line: str) -> Folding | None:
    """The element that a line holds several of, itself or in the one around them."""
    for found in islice(_ELEMENT.finditer(line), 2):
        opening = found[0]
        pieces = re.split(rf"(?<=>)[ \t\r]{{0,8}}(?={re.escape(opening)}[\s>])", line)
        begun = [piece for piece in pieces if piece.startswith(opening)]
        told = [fields for piece in begun[:3] if (fields := fields_of(piece)) is not None]
        if len(begun) > 1 and told and _tells_time(told):
            return Folding((found[1],), 0, parted=True)
    return None


def _in_line(line: str) -> Folding | None:
    """The outermost array of several objects that tell times, in an object that tells none."""
    opened: list[tuple[str, str]] = []
    looked_at = 0
    key = ""
    for token in _TEXT_TOKEN.finditer(line):
        text = token[0]
        if token[1] is not None:
            key = token[1] if token[2] else key
        elif token[3]:
            opened.append((text, key if opened else ""))
            if len(opened) > _DEPTH:
                return None
            if text == "[" and _ARRAY.match(line, token.start()):
                looked_at += 1
                if (count := _records(line, token.end())) > 0:
                    return _folding(line, token.end(), opened, count)
        elif opened:
            opened.pop()
        if looked_at >= _ARRAYS_LOOKED_AT:
            break
    return None


def _folding(line: str, at: int, opened: Sequence[tuple[str, str]], count: int) -> Folding | None:
    path = tuple(key for bracket, key in opened if bracket == "[")
    closers = "".join("}" if bracket == "{" else "]" for bracket, _ in reversed(opened[:-1]))
    before = line[:at].lstrip("\ufeff")
    try:
        around = json.loads(f"{before}0]{closers}")
    except (ValueError, RecursionError):
        return None
    while isinstance(around, list) and around:
        around = around[0]
    if isinstance(around, dict) and _tells_time([around]):
        return None
    if len(path) > 1:
        count = sum(1 for _ in islice(_unfolded_line(line, path), 2))
    if count < 2:
        return None
    return Folding(path, len(opened), _SIMPLE_HEAD.match(before) is None)


def _records(line: str, at: int) -> int:
    """How many objects that tell times begin an array; 0 where they tell none of their own."""
    elements: list[Fields] = []
    while len(elements) < _ELEMENTS_LOOKED_AT:
        begin = line.find("{", at)
        if begin < 0 or line[at:begin].strip(" \t\r,"):
            break
        try:
            element, at = _decoder.raw_decode(line, begin)
        except (ValueError, RecursionError):
            break
        elements.append(_own(element))
    return len(elements) if elements and _tells_time(elements) else 0


def _own(element: Fields) -> Fields:
    """An object without the lists of objects in it."""
    kept: Fields = {}
    for key, value in element.items():
        if isinstance(value, dict):
            kept[key] = _own(value)
        elif not (isinstance(value, list) and value and isinstance(value[0], dict)):
            kept[key] = value
    return kept


def _tells_time(objects: Sequence[Fields]) -> bool:
    return learn_keys(objects, ValueTimes(UTC, FAR_FUTURE).instant).timed


class Unfolded:
    """A stream whose folded lines are one line for each record.

    Args:
        source: UTF-8.
        folding: of its lines.
    """

    def __init__(self, source: Readable, folding: Folding) -> None:
        self._source = source
        self._folding = folding
        self._buffer = b""
        self._ended = False
        self._opened: list[bool | None] = []  # None for an object, else: is it the array?
        self._name = folding.path[-1].encode()
        self._key = b""
        self._unfold = self._regrouped if len(folding.path) > 1 else self._parted
        if folding.depth == 0:
            self._unfold = self._elements
            # a piece is cut before a `>`: what ends there is a whole name
            self._between = re.compile(
                rb"(?<=>)[ \t\r]{0,8}(?=<%b(?:[\s>]|\Z))" % re.escape(self._name)
            )

    def read(self, size: int, /) -> bytes:
        """About the next `size` bytes; none at the end."""
        while not self._ended:
            block = self._source.read(size)
            self._ended = not block
            self._buffer += block
            if given := self._unfold():
                return given
        return b""

    def _parted(self) -> bytes:
        """What was read, with an end of line behind each record of an array."""
        pieces: list[bytes] = []
        buffer, opened = self._buffer, self._opened
        at = 0
        end = len(buffer)
        for token in _TOKEN.finditer(buffer):
            text = token[0]
            if text[:1] == b'"':
                if token[2] is None and not self._ended and end - token.start() < _STRING_BYTES:
                    end = token.start()  # the rest of it is still to come
                    break
                self._key = token[1]
            elif text in b"[{":
                is_it = len(opened) + 1 == self._folding.depth and (
                    self._key == self._name or not opened
                )
                opened.append(is_it if text == b"[" else None)
                if self._folding.parted and opened[-1]:
                    pieces += [buffer[at : token.end()], b"\n"]
                    at = token.end()
            elif text == b"\n":
                opened.clear()
            elif text == b",":
                if opened and opened[-1]:
                    pieces += [buffer[at : token.end()], b"\n"]
                    at = token.end()
            elif opened:
                opened.pop()
        pieces.append(buffer[at:end])
        self._buffer = buffer[end:]
        return b"".join(pieces)

    def _elements(self) -> bytes:
        """What was read, with an end of line before each element."""
        size = len(self._buffer)
        whole = self._ended or size > _LINE_BYTES
        end = size if whole else max(0, self._buffer.rfind(b">"))
        given, self._buffer = self._buffer[:end], self._buffer[end:]
        return self._between.sub(b"\n", given)

    def _regrouped(self) -> bytes:
        """The whole lines that were read, each as often as it holds records, with one of them."""
        end = self._buffer.rfind(b"\n") + 1
        if self._ended or (not end and len(self._buffer) > _LINE_BYTES):
            end = len(self._buffer)
        lines, self._buffer = self._buffer[:end], self._buffer[end:]
        return b"".join(
            piece for line in lines.splitlines(keepends=True) for piece in self._regroup(line)
        )

    def _regroup(self, line: bytes) -> Iterator[bytes]:
        none = True
        for record in _unfolded_line(
            line.removeprefix(_MARK).decode("utf-8", "replace"), self._folding.path
        ):
            none = False
            text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
            yield text.encode("utf-8", "replace") + b"\n"
        if none:
            yield line


def _unfolded_line(line: str, path: Sequence[str]) -> Iterator[JsonValue]:
    """The object of a line, as often as there are records at the path, with one of them each."""
    try:
        data = json.loads(line.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return iter(())
    return _unfolded(data, path)


def _unfolded(data: JsonValue, path: Sequence[str]) -> Iterator[JsonValue]:
    if not path:
        yield data
    elif isinstance(data, list) and not path[0]:
        for element in data:
            yield from _unfolded(element, path[1:])
    elif isinstance(data, dict) and isinstance(elements := data.get(path[0]), list):
        for element in elements:
            for record in _unfolded(element, path[1:]):
                yield {**data, path[0]: [record]}
