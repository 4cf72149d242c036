"""Text filters of a request, each linear in the length of the text, and how to look for them.

Letter case is ignored by Unicode's simple case folding, one character for one, as RE2 and ripgrep
do it: so a search of a file's bytes finds what the test of a record finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import re2

from diagnosis.plugin import QueryRejected, QueryRejection
from diagnosis_logs.request import LogQuery

_PATTERN_MEMORY = 8 << 20
# What the bytes of a file cannot show: replaced characters, and lines that are put together anew.
_NOT_IN_BYTES = re.compile("[\ufffd\0\r\n]")
# Anchors to the text as a whole, single bytes, and flags that are switched off.
_NOT_IN_BLOCKS = re.compile(r"\\[AzCQ]|\(\?[a-zA-Z]*-|\ufffd|\\x|\0")

TextTest = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class TextFilter:
    """The text filters of a request.

    Attributes:
        passes: whether a record's text passes all of them.
        literal: a text that each record which passes holds, letter case ignored; None where there
            is none that could be searched for in bytes.
        regex: a pattern that is found in each record which passes; None likewise.
        certain: whether each record with a line that holds `literal` in its bytes passes.
    """

    passes: TextTest
    literal: str | None = None
    regex: str | None = None
    certain: bool = False


def text_filter(request: LogQuery) -> TextFilter | None:
    """The text filters of a request; None where it has none.

    Raises:
        QueryRejected: PATTERN_INVALID, or PATTERN_TOO_EXPENSIVE for one that RE2 finds too large.
    """
    tests: list[TextTest] = []
    literals: list[str] = []
    if request.contains is not None:
        tests.append(_contains(request.contains))
        literals.append(request.contains)
    if request.trace_id is not None:
        tests.append(_whole_word(request.trace_id.strip()))
        literals.append(request.trace_id.strip())
    if request.exclude is not None:
        contains = _contains(request.exclude)
        tests.append(lambda text: not contains(text))
    if request.regex is not None:  # last: the slowest
        tests.append(_regex(request.regex))
    if not tests:
        return None
    literals = [text for text in literals if text and not _NOT_IN_BYTES.search(text)]
    regex = request.regex
    if regex is not None and _NOT_IN_BLOCKS.search(regex):
        regex = None
    passes = tests[0] if len(tests) == 1 else lambda text: all(test(text) for test in tests)
    literal = max(literals, key=len, default=None)
    certain = len(tests) == 1 and literal == request.contains and _is_plain(literal)
    return TextFilter(passes, literal, regex, certain)


def compiled(pattern: str, *, encoding: str = "utf-8") -> Any:
    """A pattern of RE2 that searches bytes.

    Args:
        pattern: in RE2's syntax.
        encoding: of the bytes; in any other than UTF-8 the pattern must be a literal.

    Raises:
        QueryRejected: PATTERN_INVALID, or PATTERN_TOO_EXPENSIVE for one that RE2 finds too large.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY
    if encoding != "utf-8":
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        return re2.compile(pattern.encode(encoding), options)
    except re2.error as error:
        too_large = b"too large" in error.args[0] if error.args else False
        raise QueryRejected(
            QueryRejection.PATTERN_TOO_EXPENSIVE if too_large else QueryRejection.PATTERN_INVALID
        ) from error


def _is_plain(literal: str | None) -> bool:
    """Whether every search ignores its letter case alike, whatever Unicode version it knows."""
    return literal is not None and (literal.isascii() or literal.lower() == literal.upper())


def quoted(literal: str) -> str:
    """A pattern that finds a literal, letter case ignored."""
    # re2.escape writes non-ASCII characters as bytes: only punctuation needs a backslash
    return "(?i)" + re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", literal)


def _contains(wanted: str) -> TextTest:
    lowered = wanted.lower()
    search = compiled(quoted(wanted)).search
    if not wanted.isascii():
        return lambda text: search(text.encode("utf-8", "replace")) is not None
    return lambda text: (
        lowered in text.lower()
        if text.isascii()
        else search(text.encode("utf-8", "replace")) is not None
    )


def _whole_word(wanted: str) -> TextTest:
    pattern = re.compile(rf"(?<![0-9A-Za-z]){re.escape(wanted)}(?![0-9A-Za-z])", re.IGNORECASE)
    literal = _contains(wanted)
    return lambda text: literal(text) and pattern.search(text) is not None


def _regex(pattern: str) -> TextTest:
    search = compiled(pattern).search  # bytes: RE2 works on UTF-8, str would be converted both ways
    return lambda text: search(text.encode("utf-8", "replace")) is not None
