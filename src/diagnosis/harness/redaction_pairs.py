"""Secrets whose name is itself a value, or stands apart: rows of settings, XML, YAML, prose.

`{"name": "DB_PASSWORD", "value": "x"}`, `<property name="password" value="x"/>`, `password: |` with
the password on the next line, `setPassword("x")`, `password%3Dx`, "the password is x".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from diagnosis.harness.redaction_names import (
    WORDS,
    Named,
    SecretKind,
    Span,
    is_plain,
    looks_random,
    named_secret,
    value_end,
    value_span,
)

_ANY_WORD = "|".join(word for _, word in WORDS)
_WORD_START = re.compile(_ANY_WORD)
_NAME_TAIL = re.compile(r"[\w.\-]{1,64}\Z")
_ASSIGNED_NAME = re.compile(r"""[:=][ \t]{0,4}["'`]?[\w.\-]{1,64}\Z""")

_VALUE_BESIDE = re.compile(
    rf"""(?:{_ANY_WORD})(?P<quote>\\{{0,8}}["'`])?
        (?P<gap>(?:[\s,;]|\\{{1,8}}[nrt]){{1,60}})
        \\{{0,8}}["'`]?val(?:ue)?(?:\\{{0,8}}["'`])?\s{{0,4}}[:=]\s{{0,4}}""",
    re.VERBOSE,
)
_ELEMENT_TEXT = re.compile(
    rf"""(?:{_ANY_WORD})
        (?:\\{{0,8}}["'][^<>\n]{{0,80}}(?<!/)>
        |</(?:\w{{1,20}}[:\-])?(?:name|key)>(?:\s|\\{{1,8}}[nrt]){{0,60}}<(?:\w{{1,20}}[:\-])?(?:value|string)>)
        (?P<value>[^<\n]{{1,2048}})<""",
    re.VERBOSE,
)
_NEXT_LINE = re.compile(
    rf"""(?:{_ANY_WORD})["']?[ \t]{{0,4}}:[ \t]{{0,4}}
        (?P<block>[|>][-+0-9]{{0,2}})?[ \t]{{0,4}}\r?\n
        (?P<indent>[ \t]{{1,60}})(?P<value>[^\s][^\r\n]{{0,2048}})""",
    re.VERBOSE,
)
_ONE_WORD = re.compile(r"[^\s:=\-][^\s:=]*\Z")
_CALL = re.compile(r"""(?:password|passwd|pwd)\(\s{0,4}\\{0,8}["']([^"'\n\\]{1,200})""")
_ENCODED = re.compile(
    rf"(?:{_ANY_WORD})(?:%2[27])?%3[ad](?:%20|\+)?(?:%2[27])?(?P<value>[^%&\s\"'`<>;,]{{1,2048}})"
)
_PROSE = re.compile(
    r"(?:pass(?:word|wd|phrase|code)|pwd)(?: (?:for|of) [^\s]{1,40})?"
    r"(?: (?:is|was|to|set to|changed to)| ?->)?:?[ \t]{1,4}[\"'`]?"
    r"(?P<value>[^\s\"'`,;()<>]{8,256})"
)

# --- rows ------------------------------------------------------------------------------------

_LAST_WORD = re.compile(r"(?:[A-Z]?[a-z]+|[A-Z]+|[^\x00-\x7f]+)\Z")
_NAMING = frozenset(
    {"name", "key", "k", "property", "prop", "variable", "var", "param", "parameter", "option"}
    | {"setting", "env", "item", "config", "field", "attribute", "label", "名称", "键", "参数"}
)
_VALUES = frozenset({"value", "val", "v", "setting", "content", "data", "default", "current", "值"})
_MOST_FIELDS = 64


def paired(fields: Mapping[str, JsonValue]) -> dict[str, SecretKind]:
    """The fields of a row that hold the secret which another of its fields names.

    Args:
        fields: an object such as `{"name": "smtp.password", "value": "x"}`.
    """
    if not 2 <= len(fields) <= _MOST_FIELDS:
        return {}
    named = next(filter(None, map(_named_by, fields, fields.values())), None)
    if named is None:
        return {}
    return {
        key: named.kind
        for key, value in fields.items()
        if isinstance(value, str) and _word(key) in _VALUES and not is_plain(value)
        and named_secret(value) is None
    }  # fmt: skip


def _named_by(key: str, value: JsonValue) -> Named | None:
    if not isinstance(value, str) or len(value) > 64 or _word(key) not in _NAMING:
        return None
    return named_secret(value) if _NAME_TAIL.fullmatch(value) else None


def _word(key: str) -> str:
    found = _LAST_WORD.search(key[-32:]) if isinstance(key, str) else None
    return found[0].lower() if found else ""


# --- text ------------------------------------------------------------------------------------


def _name_at(text: str, end: int) -> Named | None:
    """What the name that ends here says; None where it names no secret."""
    found = _NAME_TAIL.search(text[max(0, end - 64) : end])
    return named_secret(found[0]) if found else None


def _word_end(found: re.Match[str]) -> int:
    word = _WORD_START.match(found[0].lower())
    return found.start() + (word.end() if word else 0)


def values_beside(text: str, low: str) -> Iterator[Span]:
    """Find `value` beside a name that is itself a value: JSON, YAML, XML attributes, logfmt."""
    position = 0
    while found := _VALUE_BESIDE.search(low, position):
        end_of_name = _word_end(found)
        position = found.start() + 1
        named = _name_at(text, end_of_name)
        if named is None:
            continue
        apart = found["quote"] or found["gap"].strip(" \t")
        if not apart and not _ASSIGNED_NAME.search(text[max(0, end_of_name - 72) : end_of_name]):
            continue  # "invalid token value: x" is a remark
        span = value_span(text, found.end())
        if span is None or span[0] == span[1] or is_plain(text[span[0] : span[1]]):
            continue
        start, end, quoted = span
        position = end = end if quoted else value_end(text, start, end)
        yield start, end, named.kind


def element_texts(text: str, low: str) -> Iterator[Span]:
    """Find the text of XML elements that an attribute or a sibling names."""
    for found in _ELEMENT_TEXT.finditer(low):
        named = _name_at(text, _word_end(found))
        if named and not is_plain(text[found.start("value") : found.end("value")].strip()):
            yield found.start("value"), found.end("value"), named.kind


def next_lines(text: str, low: str) -> Iterator[Span]:
    """Find a value on the line below its name, as YAML has them."""
    for found in _NEXT_LINE.finditer(low):
        named = _name_at(text, _word_end(found))
        value = text[found.start("value") : found.end("value")]
        line = text[text.rfind("\n", max(0, found.start() - 80), found.start()) + 1 : found.start()]
        deeper = len(found["indent"]) > len(line) - len(line.lstrip(" \t"))
        whole = found["block"] is not None or _ONE_WORD.match(value) is not None
        if named and deeper and whole and not is_plain(value):
            yield found.start("value"), found.end("value"), named.kind


def calls(text: str, low: str) -> Iterator[Span]:
    """Find passwords given to a function: SET PASSWORD = PASSWORD('x'), setPassword("x")."""
    for found in _CALL.finditer(low):
        if not is_plain(text[found.start(1) : found.end(1)]):
            yield found.start(1), found.end(1), SecretKind.PASSWORD


def encoded(text: str, low: str) -> Iterator[Span]:
    """Find values behind a percent-encoded separator."""
    for found in _ENCODED.finditer(low):
        named = _name_at(text, _word_end(found))
        if named and not is_plain(text[found.start("value") : found.end("value")]):
            yield found.start("value"), found.end("value"), named.kind


def prose(text: str, low: str) -> Iterator[Span]:
    """Find passwords in sentences, where letters and digits mixed give them away."""
    for found in _PROSE.finditer(low):
        start, end = found.span("value")
        if looks_random(text[start:end]) and not is_plain(text[start:end]):
            yield start, end, SecretKind.PASSWORD
