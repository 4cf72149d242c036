"""The last look at what is sent: it holds without any help of the tree."""

from __future__ import annotations

import pytest

from diagnosis.errors import QueryRejected
from diagnosis_mysql.allowed import BEFORE_PARENTHESIS, FUNCTIONS, NEVER_WORDS
from diagnosis_mysql.language import LANGUAGE
from diagnosis_sql.sent_text import check_sent_text


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("SELECT 1; SELECT 2", "SYNTAX_ERROR"),
        ("SELECT 1 /* x */", "SYNTAX_ERROR"),
        ("SELECT 1 -- x", "SYNTAX_ERROR"),
        ("SELECT 1 # x", "SYNTAX_ERROR"),
        ("SELECT @a", "SYNTAX_ERROR"),
        ("SELECT 'a\\' , SLEEP(1) , '", "SYNTAX_ERROR"),
        ("SELECT 1a", "SYNTAX_ERROR"),
        ("SELECT a\x0b", "SYNTAX_ERROR"),
        ("SELECT 1 INTO OUTFILE 'x'", "STATEMENT_NOT_ALLOWED"),
        ("SELECT 1 FOR UPDATE", "STATEMENT_NOT_ALLOWED"),
        ("DELETE FROM `t`", "STATEMENT_NOT_ALLOWED"),
        ("'SELECT'", "STATEMENT_NOT_ALLOWED"),
        ("SELECT SLEEP(1)", "FUNCTION_NOT_ALLOWED"),
        ("SELECT sleep  (1)", "FUNCTION_NOT_ALLOWED"),
    ],
)
def test_the_last_look_does_not_depend_on_the_tree(sent: str, expected: str) -> None:
    with pytest.raises(QueryRejected) as rejected:
        check_sent_text(sent, LANGUAGE)
    assert rejected.value.reason == expected


def test_no_word_is_both_allowed_and_never_needed() -> None:
    assert not NEVER_WORDS & (FUNCTIONS | BEFORE_PARENTHESIS)
    for waits_or_leaks in ("SLEEP", "BENCHMARK", "LOAD_FILE", "GET_LOCK", "NEXTVAL", "SYS_EXEC"):
        assert waits_or_leaks not in FUNCTIONS
