"""As much of PromQL's words as it takes to tell the metrics that an expression names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<string> "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | `[^`]*` )
  | (?P<comment> \#[^\n]* )
  | (?P<space> \s+ )
  | (?P<number> [0-9][0-9A-Za-z_.]* )
  | (?P<name> [A-Za-z_:][0-9A-Za-z_:]* )
  | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_LABEL_LISTS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_WORDS = _LABEL_LISTS | {"and", "or", "unless", "atan2", "bool", "offset", "inf", "nan"}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def _tokens(expr: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(expr):
        yield _Token(match.lastgroup or "other", match[0])


def quoted(text: str) -> str:
    """A text as a string of PromQL."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def normalised(expr: str) -> str:
    """The expression without comments, and with one space where there is white space."""
    parts: list[str] = []
    for token in _tokens(expr):
        blank = token.kind in {"space", "comment"}
        if not blank or (parts and parts[-1] != " "):
            parts.append(" " if blank else token.text)
    return "".join(parts).strip()


def metric_names(expr: str) -> tuple[str, ...]:
    """The names of the metrics that an expression selects, in order, each once.

    A selector that names none (`{job="api"}`, `{__name__=~"api.*"}`) adds none.
    """
    tokens = [token for token in _tokens(expr) if token.kind not in {"space", "comment"}]
    tokens += [_Token("end", "")] * 2
    names: dict[str, None] = {}
    position = 0
    while position < len(tokens) - 2:
        token, following = tokens[position], tokens[position + 1]
        if token.text == "{":
            end = _closing(tokens, position, "}")
            names |= dict.fromkeys(_named_inside(tokens[position + 1 : end + 1]))
            position = end
        elif token.text == "[":
            position = _closing(tokens, position, "]")
        elif token.text == "@" and following.text in {"start", "end"}:
            position += 1
        elif token.kind == "name" and token.text.lower() in _LABEL_LISTS:
            if following.text == "(":
                position = _closing(tokens, position + 1, ")")
        elif token.kind == "name" and not _is_no_metric(token, following):
            names[token.text] = None
        position += 1
    return tuple(names)


def _is_no_metric(token: _Token, following: _Token) -> bool:
    """Whether a name is a word of the language, a function or an aggregation."""
    called = following.text == "(" or following.text.lower() in {"by", "without"}
    return called or token.text.lower() in _WORDS


def _closing(tokens: list[_Token], position: int, bracket: str) -> int:
    """Where the next bracket of that kind is, or the last token."""
    for at in range(position, len(tokens) - 2):
        if tokens[at].text == bracket:
            return at
    return len(tokens) - 3


def _named_inside(tokens: list[_Token]) -> Iterator[str]:
    """The metric that the matchers between two braces name: `__name__="x"`, or `"x"` alone."""
    separated = [_Token("other", ","), *tokens, _Token("end", ""), _Token("end", "")]
    for before, token, following, value in zip(
        separated, separated[1:], separated[2:], separated[3:], strict=False
    ):
        if before.text != ",":
            continue
        if token.text == "__name__" and following.text == "=" and value.kind == "string":
            yield value.text[1:-1]
        elif token.kind == "string" and following.text in {",", "}"}:
            yield token.text[1:-1]
