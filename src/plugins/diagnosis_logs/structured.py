"""Lines that are data: JSON objects, and logfmt's `key=value` pairs as objects of text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic import JsonValue

Fields = dict[str, JsonValue]
# Keys from the outermost inwards: ("log", "level").
Path = tuple[str, ...]

_DEPTH = 4
_MOST_LEAVES = 200
_PREFIX_CHARACTERS = 300

_PAIR = re.compile(r'(?<!\S)([\w.@/-]{1,64}+)=(?:"((?:[^"\\]|\\.)*+)"|([^\s"]*+)(?=\s|\Z))')
_LOGFMT_HEAD = re.compile(r'[\w.@/-]{1,64}=(?:"|[^\s"=]{0,256}(?:\s|\Z))')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def json_object(line: str) -> Fields | None:
    """The object a JSON text holds, or None."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def embedded_at(line: str) -> int:
    """Where an object begins that goes on to the line's end; -1 where there is none."""
    if not line.endswith("}"):
        return -1
    return line.find("{", 0, _PREFIX_CHARACTERS)


def is_logfmt(line: str) -> bool:
    """Whether a line begins as `key=value`."""
    return _LOGFMT_HEAD.match(line) is not None


def logfmt_fields(line: str) -> Fields:
    """The pairs of a line; of a key that stands twice, the first."""
    fields: Fields = {}
    for pair in _PAIR.finditer(line):
        key, quoted, plain = pair.groups()
        if key not in fields:
            fields[key] = plain if quoted is None else _unescaped(quoted)
    return fields


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)


def leaves(data: Fields) -> Iterator[tuple[Path, JsonValue]]:
    """The values that are no objects, each with its path; outer ones first."""
    level: list[tuple[Path, Fields]] = [((), data)]
    count = 0
    while level:
        deeper: list[tuple[Path, Fields]] = []
        for path, fields in level:
            for key, value in fields.items():
                if isinstance(value, dict):
                    if len(path) + 1 < _DEPTH:
                        deeper.append(((*path, key), value))
                else:
                    yield (*path, key), value
                    count += 1
                    if count >= _MOST_LEAVES:
                        return
        level = deeper


def looked_up(data: Fields, path: Path) -> JsonValue:
    """The value at a path, or None."""
    value: JsonValue = data
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
