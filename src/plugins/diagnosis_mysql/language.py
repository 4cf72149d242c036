"""MySQL's and MariaDB's SQL as the shared policy needs to know it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from diagnosis_mysql.allowed import (
    BEFORE_PARENTHESIS,
    FUNCTIONS,
    NEVER_TABLES,
    NEVER_WORDS,
    SHOW_STATEMENTS,
    SHOW_SYNONYMS,
    WITHOUT_PARENTHESES,
)
from diagnosis_mysql.dialect import VerbatimMySQL
from diagnosis_mysql.settings import NEVER_READABLE, SERVER_SCHEMAS
from diagnosis_sql.language import Spelling, SqlLanguage

_DIALECT = VerbatimMySQL()

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

# the clauses that name the connection whose running statement is explained
_OTHER_CONNECTION = re.compile(r"EXPLAIN FOR CONNECTION ([0-9]{1,20})\Z")
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)


def respell(sql: str, tokens: Sequence[Any]) -> Spelling:
    """Put SHOW and DESCRIBE in the words sqlglot knows; the meaning stays."""
    words = [token.text.upper() for token in tokens]
    while words and words[-1] == ";":
        words.pop()
    first = words[0] if words else ""
    if first == "SHOW":
        return Spelling(_spell_show_plainly(sql, tokens))
    if first in {"EXPLAIN", "DESCRIBE", "DESC"}:
        other = _OTHER_CONNECTION.match(" ".join(["EXPLAIN", *words[1:]]))
        if other:
            return Spelling("", f"EXPLAIN FOR CONNECTION {other[1]}", describes=True)
        shown = _describe_column(sql, tokens[1 : len(words)])
        if shown is not None:
            return Spelling(shown)
        # information that MySQL 8 and MariaDB give or leave out by themselves
        if words[1:2] in (["EXTENDED"], ["PARTITIONS"]) and words[2:3] == ["SELECT"]:
            return Spelling(f"EXPLAIN {sql[tokens[2].start :]}")
    return Spelling(sql)


def _describe_column(sql: str, tokens: Sequence[Any]) -> str | None:
    """`DESCRIBE table column` is `SHOW COLUMNS FROM table LIKE 'column'`, in the manual's words."""
    dots = [number for number, token in enumerate(tokens) if token.token_type == TokenType.DOT]
    name_length = 3 if dots == [1] else 1
    names = [token for number, token in enumerate(tokens) if number not in dots]
    plain = all(_is_name(token, sql) for token in names[:-1])
    if len(tokens) != name_length + 1 or dots not in ([], [1]) or not plain:
        return None
    column = names[-1]
    if not (_is_name(column, sql) or column.token_type == TokenType.STRING):
        return None
    if names[0].text.upper() in {"FORMAT", "ANALYZE", "SELECT", "TABLE", "VALUES", "EXTENDED"}:
        return None
    table = sql[tokens[0].start : tokens[name_length - 1].end + 1]
    quoted = column.text.replace("\\", "\\\\").replace("'", "''")
    return f"SHOW COLUMNS FROM {table} LIKE '{quoted}'"


def _is_name(token: Any, sql: str) -> bool:
    return sql[token.start] == "`" or (token.text[:1].isalpha() or token.text[:1] == "_")


def _spell_show_plainly(sql: str, tokens: Sequence[Any]) -> str:
    """Replace the synonyms that sqlglot does not know, up to LIKE or WHERE."""
    changed = sql
    for number in range(len(tokens) - 1, 0, -1):
        token = tokens[number]
        word = token.text.upper()
        plain = SHOW_SYNONYMS.get(word)
        if number == 1 and word == "LOCAL":
            plain = "SESSION"
        if number == 2 and word == "SCHEMA":
            plain = "DATABASE"
        quoted = sql[token.start] in "`'\""
        before_filter = not any(
            other.token_type in {TokenType.LIKE, TokenType.WHERE} and other.start < token.start
            for other in tokens
        )
        if plain and not quoted and before_filter:
            changed = changed[: token.start] + plain + changed[token.end + 1 :]
    return changed


def is_description(statement: exp.Expr) -> bool:
    """Whether it is a SHOW of the list, a DESCRIBE of a table or an EXPLAIN of a query."""
    if isinstance(statement, exp.Show):
        return statement.name.upper() in SHOW_STATEMENTS
    if not isinstance(statement, exp.Describe):
        return False
    style = str(statement.args.get("style") or "").upper()
    # ANALYZE runs the statement it explains
    return style != "ANALYZE" and isinstance(statement.this, (*_QUERIES, exp.Table))


def named_schemas(statement: exp.Expr) -> Iterator[str]:
    """Schemas that SHOW names."""
    if isinstance(statement, exp.Show):
        if statement.text("db"):
            yield statement.text("db")
        if statement.name.upper() == "CREATE DATABASE":
            yield statement.text("target")


def readable(schema: str | None, table: str) -> bool:
    """Whether a table may be read: none that holds samples of data or credentials."""
    return (schema or "").casefold() not in SERVER_SCHEMAS or table.upper() not in NEVER_TABLES


def executes_comment(text: str) -> bool:
    """Whether a server runs or obeys a comment: `/*! */`, `/*M! */`, `/*+ */`."""
    return text.lstrip().startswith(("!", "M!", "+")) or "/*!" in text or "/*M!" in text


def _restore_bare_names(statement: exp.Expr) -> exp.Expr:
    """Undo what quoting every name would break: UTC_DATE without parentheses, FROM DUAL."""

    def restore(node: exp.Expr) -> exp.Expr | None:
        if (
            isinstance(node, exp.Column)
            and isinstance(node.this, exp.Identifier)
            and not node.this.quoted
            and not node.table
            and node.name.upper() in WITHOUT_PARENTHESES
        ):
            return exp.Anonymous(this=node.name)
        if (
            isinstance(node, exp.From)
            and isinstance(node.this, exp.Table)
            and node.this.name.upper() == "DUAL"
            and not node.this.text("db")
        ):
            return None
        return node

    # the root is never removed: it is no FROM
    return statement.transform(restore) or statement


def _as_parsed(statement: exp.Expr) -> exp.Expr:
    return statement


LANGUAGE = SqlLanguage(
    name="MySQL",
    dialect=_DIALECT,
    functions=FUNCTIONS,
    before_parenthesis=BEFORE_PARENTHESIS,
    never_words=NEVER_WORDS,
    opening_words=frozenset({"SELECT", "WITH", "SHOW", "DESCRIBE", "EXPLAIN", "VALUES"}),
    token=_TOKEN,
    server_schemas=frozenset({*SERVER_SCHEMAS, "sys"}),
    never_schemas=NEVER_READABLE,
    respell=respell,
    is_description=is_description,
    readable=readable,
    parsed=_as_parsed,
    rendered=_restore_bare_names,
    executes_comment=executes_comment,
    named_schemas=named_schemas,
)
"""The value that the shared policy is given."""
