"""The last look at the text that is about to be sent, by a reader that shares nothing with sqlglot.

The policy judges a tree; the server reads text. This module reads the rendered text the way the
server does and refuses whatever the tree could have hidden: comments, a second statement, user
variables, unknown calls. As every name is rendered in quotes, each bare word is a keyword, a type,
a unit or a function.
"""

from __future__ import annotations

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected
from diagnosis_sql.language import SqlLanguage


def check_sent_text(sql: str, language: SqlLanguage) -> None:
    """Read the rendered statement once more.

    Raises:
        QueryRejected: SYNTAX_ERROR for text that is not plainly one statement,
            STATEMENT_NOT_ALLOWED for a word no query needs, FUNCTION_NOT_ALLOWED for a call of
            anything but a listed function.
    """
    # a parenthesis may also follow a name, an operator or nothing
    before_parenthesis = language.functions | language.before_parenthesis | {""}
    position = 0
    previous, previous_kind = "", ""
    first = ""
    while position < len(sql):
        match = language.token.match(sql, position)
        if match is None:
            raise QueryRejected(QueryRejection.SYNTAX_ERROR)
        position = match.end()
        text, kind = match.group(), match.lastgroup
        if text == " ":
            continue
        calls = kind == "open" and previous not in before_parenthesis
        dotted = text == "." and language.column_notation and previous_kind not in {"name", "word"}
        if calls or dotted:
            raise QueryRejected(QueryRejection.FUNCTION_NOT_ALLOWED)
        previous, previous_kind = "", kind
        if kind == "word":
            previous = text.upper()
            first = first or previous
            # SHOW CREATE TABLE is a question
            if previous in language.never_words and first != "SHOW":
                raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED)
    if first not in language.opening_words:
        raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED)
