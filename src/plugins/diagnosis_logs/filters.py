"""Text filters of a request, each linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Callable

import re2

from diagnosis.plugin import QueryRejected, QueryRejection
from diagnosis_logs.request import LogQuery

_PATTERN_MEMORY = 8 << 20
TextTest = Callable[[str], bool]


def text_test(request: LogQuery) -> TextTest | None:
    """A function that says whether a text passes every text filter; None where there is none.

    Raises:
        QueryRejected: PATTERN_INVALID, or PATTERN_TOO_EXPENSIVE for one that RE2 finds too large.
    """
    tests: list[TextTest] = []
    if request.contains is not None:
        tests.append(_contains(request.contains))
    if request.trace_id is not None:
        tests.append(_whole_word(request.trace_id))
    if request.exclude is not None:
        contains = _contains(request.exclude)
        tests.append(lambda text: not contains(text))
    if request.regex is not None:  # last: the slowest
        tests.append(_regex(request.regex))
    if len(tests) <= 1:
        return tests[0] if tests else None
    return lambda text: all(test(text) for test in tests)


def _contains(wanted: str) -> TextTest:
    lowered = wanted.lower()
    return lambda text: lowered in text.lower()


def _whole_word(wanted: str) -> TextTest:
    pattern = re.compile(
        rf"(?<![0-9A-Za-z]){re.escape(wanted.strip())}(?![0-9A-Za-z])", re.IGNORECASE
    )
    literal = _contains(wanted.strip())
    return lambda text: literal(text) and pattern.search(text) is not None


def _regex(pattern: str) -> TextTest:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY
    try:
        compiled = re2.compile(pattern.encode(), options)
    except re2.error as error:
        too_large = b"too large" in error.args[0] if error.args else False
        raise QueryRejected(
            QueryRejection.PATTERN_TOO_EXPENSIVE if too_large else QueryRejection.PATTERN_INVALID
        ) from error
    search = compiled.search  # bytes: RE2 works on UTF-8, and str would be converted both ways
    return lambda text: search(text.encode()) is not None
