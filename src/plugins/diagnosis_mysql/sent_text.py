"""The last look at the text that is about to be sent, by a reader that shares nothing with sqlglot.

The policy judges a tree; the server reads text. This module reads the rendered text the way the
server does and refuses whatever the tree could have hidden: comments, a second statement, user
variables, unknown calls. As every name is rendered in backticks, each bare word is a keyword, a
type, a unit or a function.
"""

from __future__ import annotations

import re

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected
from diagnosis_mysql.allowed import BEFORE_PARENTHESIS, FUNCTIONS, NEVER_WORDS

# A quote inside a string is always doubled and a backslash never stands before a quote, so that the
# string ends at the same place with and without NO_BACKSLASH_ESCAPES.
_TOKEN = re.compile(
    r"""
      (?P<string> '(?:[^'\\]|\\[^']|'')*')
    | (?P<name> `(?:[^`]|``)+`)
    | (?P<system> @@(?:(?:global|session|local)\.)?(?:[A-Za-z_]\w*|`\w+`))
    | (?P<number> (?:0x[0-9A-Fa-f]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w$]))
    | (?P<word> [A-Za-z_][A-Za-z0-9_]*)
    | (?P<open> \()
    | (?P<other> [ ),.+*%=<>!&|^~] | -(?!-) | /(?![*]))
    """,
    re.VERBOSE | re.DOTALL | re.ASCII | re.IGNORECASE,
)

# a parenthesis may also follow a name, an operator or nothing
_BEFORE_PARENTHESIS = FUNCTIONS | BEFORE_PARENTHESIS | {""}

_OPENING_WORDS = frozenset({"SELECT", "WITH", "SHOW", "DESCRIBE"})


def check_sent_text(sql: str) -> None:
    """Read the rendered statement once more.

    Raises:
        QueryRejected: SYNTAX_ERROR for text that is not plainly one statement,
            STATEMENT_NOT_ALLOWED for a word no query needs, FUNCTION_NOT_ALLOWED for a call of
            anything but a listed function.
    """
    position = 0
    previous = ""
    first = ""
    while position < len(sql):
        match = _TOKEN.match(sql, position)
        if match is None:
            raise QueryRejected(QueryRejection.SYNTAX_ERROR)
        position = match.end()
        text = match.group()
        if text == " ":
            continue
        if match.lastgroup == "open" and previous not in _BEFORE_PARENTHESIS:
            raise QueryRejected(QueryRejection.FUNCTION_NOT_ALLOWED)
        previous = ""
        if match.lastgroup == "word":
            previous = text.upper()
            first = first or previous
            # SHOW CREATE TABLE is a question
            if previous in NEVER_WORDS and first != "SHOW":
                raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED)
    if first not in _OPENING_WORDS:
        raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED)
