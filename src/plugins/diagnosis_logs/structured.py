"""Lines that are data: JSON objects, and `key=value` or `key:value` pairs as objects of text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic import JsonValue

Fields = dict[str, JsonValue]
# Keys from the outermost inwards: ("log", "level").
Path = tuple[str, ...]

_DEPTH = 8
_MOST_LEAVES = 200
_PREFIX_CHARACTERS = 300
_SECONDS = ("seconds", "epochSecond", "_seconds")
_REST = ("nanos", "nanoOfSecond", "nanoseconds", "_nanoseconds")
_PLAIN_ZONE = re.compile(r"(?:UTC|Z|[+-]\d\d:\d\d)\Z")
_TIME_PARTS = frozenset({*_SECONDS, *_REST, "date", "timezone", "timezone_type"})
_ELAPSED = frozenset({*_REST, "timezone"})

# `key="a b"`, `key='it''s'` and `key=value`; a comma or semicolon after it only separates.
_PAIR = re.compile(
    r"(?<!\S)([\w.@/-]{1,64}+)="
    r"(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.|'')*+)'(?=[\s,;]|\Z)|([^\s\"]*+)(?=\s|\Z))"
)
_LOGFMT_HEAD = re.compile(r"""[\w.@/-]{1,64}=(?:"|'[^'=]{0,256}'[\s,;]|[^\s"=]{0,256}(?:\s|\Z))""")
# labelled columns (LTSV): `time:...<TAB>status:200`
_LABEL = re.compile(r"[A-Za-z_][\w.-]{0,63}:[^\t]*(?:\t[A-Za-z_][\w.-]{0,63}:[^\t]*)+\Z")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
# an array whose elements stand on lines of their own, bare or as an object's only value
_ARRAY_HEAD = re.compile(r'(?:\{\s{0,4}"\w{1,64}"\s?:\s?)?\[?\s{0,8}(?=\{)')
_ARRAY_TAIL = re.compile(r"[\s,\]}]*\Z|\s*\]\s*,")
_decoder = json.JSONDecoder()


def json_object(line: str) -> Fields | None:
    """The object a JSON text holds, alone or as an element of an array of lines; or None."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return _element(line)
    return data if isinstance(data, dict) else None


def _element(line: str) -> Fields | None:
    head = _ARRAY_HEAD.match(line)
    if head is None or line[-1] not in ",]}":
        return None
    try:
        data, end = _decoder.raw_decode(line, head.end())
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and _ARRAY_TAIL.match(line, end) else None


def embedded_at(line: str) -> int:
    """Where an object begins that goes on to the line's end; -1 where there is none."""
    if not line.endswith(("}", "},", "}]")):
        return -1
    return line.find("{", 0, _PREFIX_CHARACTERS)


def is_logfmt(line: str) -> bool:
    """Whether a line begins as `key=value`, or is made of labelled columns."""
    return _LOGFMT_HEAD.match(line) is not None or ("\t" in line and _LABEL.match(line) is not None)


def logfmt_fields(line: str) -> Fields:
    """The pairs of a line; of a key that stands twice, the first."""
    fields: Fields = {}
    if _LOGFMT_HEAD.match(line) is None:
        for column in line.split("\t"):
            key, _, value = column.partition(":")
            fields.setdefault(key, value)
        return fields
    for pair in _PAIR.finditer(line):
        key, double, single, plain = pair.groups()
        if key not in fields:
            if double is not None:
                fields[key] = _unescaped(double)
            elif single is not None:
                fields[key] = _unescaped(single.replace("''", "'"))
            else:
                fields[key] = plain.rstrip(",;")
    return fields


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)


def is_time_object(value: Fields) -> bool:
    """Whether an object is a time: seconds and the rest of one, or a date and its zone."""
    return 0 < len(value) <= 3 and value.keys() <= _TIME_PARTS and not _ELAPSED.isdisjoint(value)


def leaves(data: Fields) -> Iterator[tuple[Path, JsonValue]]:
    """The values that are no objects, each with its path; outer ones first."""
    level: list[tuple[Path, Fields]] = [((), data)]
    count = 0
    while level:
        deeper: list[tuple[Path, Fields]] = []
        for path, fields in level:
            for key, given in fields.items():
                value = _opened(given)
                if isinstance(value, dict) and not is_time_object(value):
                    if len(path) + 1 < _DEPTH:
                        deeper.append(((*path, key), value))
                else:
                    yield (*path, key), value
                    count += 1
                    if count >= _MOST_LEAVES:
                        return
        level = deeper


def time_parts(value: Fields) -> tuple[JsonValue, int]:
    """The seconds or the date of an object that is a time, and its nanoseconds."""
    whole = next((value[name] for name in (*_SECONDS, "date") if name in value), None)
    rest = next((value[name] for name in _REST if name in value), None)
    zone = value.get("timezone")
    if isinstance(whole, str) and isinstance(zone, str) and _PLAIN_ZONE.match(zone):
        whole += zone
    if isinstance(rest, str) and rest.isdecimal():
        rest = int(rest[:9])
    return whole, rest if isinstance(rest, int) else 0


def looked_up(data: Fields, path: Path) -> JsonValue:
    """The value at a path, or None."""
    value: JsonValue = data
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
        if isinstance(value, list) and value:
            value = _opened(value)
    return value


def _opened(value: JsonValue) -> JsonValue:
    """A list of OpenTelemetry's named values as one object, of others its first; else the value."""
    if not isinstance(value, list) or not value or not isinstance(first := value[0], dict):
        return value
    if "key" not in first or "value" not in first:
        return first
    return {
        str(one["key"]): one["value"] for one in value if isinstance(one, dict) and len(one) == 2
    }
