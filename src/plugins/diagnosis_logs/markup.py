"""Records written as markup: an element of XML each, or a bracketed text with attributes behind."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from diagnosis_logs.structured import Fields

_ELEMENT = re.compile(r"[ \t]{0,16}<([A-Za-z][\w.-]{0,63}(?::[\w.-]{1,63})?)(?=[\s>]|\Z)")
# CMTrace's lines: <![LOG[what it says]LOG]!><time="..." date="..." component="..." type="1" ...>
_SECTION = re.compile(r"<!\[(\w{1,16})\[")
_PROLOG = re.compile(r"\s*(?:<[?!]|\Z)")
_ATTRIBUTE = re.compile(r"([\w:.-]{1,64})\s{0,4}=\s{0,4}(?:\"([^\"]*)\"|'([^']*)')")
_TOKEN = re.compile(
    r"<!\[CDATA\[(?P<data>.*?)\]\]>"
    r"|<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]{0,63})(?P<attributes>[^<>]{0,4096}?)(?P<empty>/?)>"
    r"|(?P<text>[^<]+)|<",
    re.DOTALL,
)
_SIMPLE = re.compile(r"<([A-Za-z][\w:.-]{0,63})>([^<]*)</")
# how CMTrace numbers its levels
_SECTION_LEVELS = {"1": "INFO", "2": "WARN", "3": "ERROR"}
_MOST_CHARACTERS = 65_536
_DEPTH = 8
_FEWEST = 2


def learn_opening(lines: Sequence[str]) -> str | None:
    """How the first line of each record of a sample of markup begins, or None."""
    counts: dict[str, int] = {}
    for line in lines:
        if section := _SECTION.match(line):
            counts[section[0]] = counts.get(section[0], 0) + 1
        elif found := _ELEMENT.match(line):
            counts[found[0]] = counts.get(found[0], 0) + 1
    # the outermost comes first, and an element around all of them only once
    opening = next((each for each, count in counts.items() if count >= _FEWEST), None)
    if opening is None:
        return None
    first = next((line for line in lines if not _PROLOG.match(line) or _SECTION.match(line)), "")
    inside = sum(not line or line[:1] in " \t<" for line in lines)
    if _SECTION.match(opening):
        return opening if first.startswith(opening) else None
    return opening if first.lstrip().startswith("<") and 2 * inside > len(lines) else None


def fields_of(text: str) -> Fields | None:
    """What a whole record says: attributes and elements by their names; None if it is not whole."""
    text = text[:_MOST_CHARACTERS]
    if section := _SECTION.match(text):
        said, end, rest = text[section.end() :].partition(f"]{section[1]}]!>")
        if not end:
            return None
        fields: Fields = {section[1].lower(): said, **_attributes(rest)}
        if (level := _SECTION_LEVELS.get(str(fields.pop("type", None)))) is not None:
            fields["level"] = level
        return fields
    return _element(text)


def shown_in(line: str) -> Fields:
    """The attributes and the simple elements of one line, whatever they stand in."""
    found: Fields = {_local(name): html.unescape(text) for name, text in _SIMPLE.findall(line)}
    for key, value in _attributes(line).items():
        found.setdefault(key, value)
    return found


def _attributes(text: str) -> Fields:
    return {
        _local(key): html.unescape(double or single)
        for key, double, single in _ATTRIBUTE.findall(text)
        if not key.startswith("xmlns")
    }


def _local(name: str) -> str:
    return name.rpartition(":")[2]


class _Open:
    """An element whose end is still to come."""

    def __init__(self, name: str, fields: Fields) -> None:
        self.name = name
        self.fields = fields
        self.texts: list[str] = []


def _element(text: str) -> Fields | None:
    opened: list[_Open] = []
    for token in _TOKEN.finditer(text):
        if token["name"] is None:
            if opened:
                said = token["data"]
                opened[-1].texts.append(
                    html.unescape(token["text"] or "") if said is None else said
                )
            continue
        if not token["end"]:
            if len(opened) >= _DEPTH:
                return None
            opened.append(_Open(token["name"], _attributes(token["attributes"])))
        if token["end"] or token["empty"]:
            if not opened or opened[-1].name != token["name"]:
                return None
            closed = opened.pop()
            if not opened:
                return closed.fields
            _put(opened[-1].fields, closed)
    return None


def _put(fields: Fields, closed: _Open) -> None:
    """Add an element to the one around it."""
    said = "".join(closed.texts).strip()
    key = _local(closed.name)
    inner = closed.fields
    if said and isinstance(name := inner.get("Name"), str):
        fields.setdefault(name, said)  # <Data Name="key">value</Data>
    elif not inner:
        before = fields.get(key)
        fields[key] = f"{before} {said}" if isinstance(before, str) and before else said
    else:
        fields.setdefault(key, {**inner, "text": said} if said else inner)
