"""What may be asked of the server: one read-only statement, judged as a tree and sent re-rendered.

Pure code, no I/O. Four layers, each of which refuses what it does not know: the raw text (comments
that servers execute), the tree (kinds of statement, schemas, names of functions), the rendered text
(`sent_text`), and behind them the server's own read-only transaction (`session`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.expressions.dml import DML
from sqlglot.tokenizer_core import TokenType

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected
from diagnosis_mysql.allowed import (
    FUNCTIONS,
    SHOW_STATEMENTS,
    SHOW_SYNONYMS,
    WITHOUT_PARENTHESES,
)
from diagnosis_mysql.dialect import VerbatimMySQL
from diagnosis_mysql.sent_text import check_sent_text
from diagnosis_mysql.settings import NEVER_READABLE, SERVER_SCHEMAS

_DIALECT = VerbatimMySQL()

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)

_NEVER_NODES = (
    exp.Command,
    exp.DDL,
    DML,
    exp.Hint,
    exp.Into,
    exp.Lock,
    exp.Parameter,
    exp.Placeholder,
    exp.PropertyEQ,
    exp.Set,
)

_READING_WORDS = frozenset({"SELECT", "WITH", "SHOW", "DESC", "DESCRIBE", "EXPLAIN", "("})

# sqlglot warns on its logger whenever it gives up on a statement, and quotes it: data in a log
_SQLGLOT_LOG = logging.getLogger("sqlglot")
if _SQLGLOT_LOG.level == logging.NOTSET:
    _SQLGLOT_LOG.setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class VettedStatement:
    """A statement that may be sent.

    Attributes:
        sql: the re-rendered text; the only text that is ever sent.
        describes: True for SHOW, DESCRIBE and EXPLAIN, which describe and read no rows.
    """

    sql: str
    describes: bool


class QueryPolicy:
    """Vets statements against a list of schemas."""

    def __init__(self, schemas: tuple[str, ...]) -> None:
        self._schemas = frozenset(
            name.casefold() if name.casefold() in SERVER_SCHEMAS else name for name in schemas
        )

    def vet(self, sql: str, database: str | None) -> VettedStatement:
        """Judge one statement.

        Args:
            sql: what the model wrote.
            database: the schema that unqualified names will mean, or None for none.

        Raises:
            QueryRejected: with the first reason found.
        """
        if database is not None:
            self._check_schema(database)
        try:
            statement = _parse(sql)
            _check_kinds(statement)
            self._check_schemas(statement)
            _check_functions(statement)
            rendered = _DIALECT.generate(
                _restore_bare_names(statement),
                comments=False,
                identify=True,
                normalize_functions=False,
            )
        except (SqlglotError, RecursionError, UnicodeError):
            raise QueryRejected(QueryRejection.SYNTAX_ERROR) from None
        check_sent_text(rendered)
        return VettedStatement(rendered, describes=isinstance(statement, exp.Show | exp.Describe))

    def _check_schemas(self, statement: exp.Expr) -> None:
        for schema in _named_schemas(statement):
            self._check_schema(schema)

    def _check_schema(self, schema: str) -> None:
        folded = schema.casefold()
        # the server's own schemas have no case, others may have
        known = folded in self._schemas if folded in SERVER_SCHEMAS else schema in self._schemas
        if not known or folded in NEVER_READABLE:
            raise QueryRejected(QueryRejection.SCHEMA_NOT_ALLOWED)


def _parse(sql: str) -> exp.Expr:
    sql.encode()  # a lone surrogate is not text
    tokens = _DIALECT.tokenize(sql)
    _check_comments(tokens)
    if tokens and tokens[0].text.upper() == "SHOW":
        sql, tokens = _spell_show_plainly(sql, tokens)
    try:
        parsed = _DIALECT.parser().parse(tokens, sql)
    except SqlglotError:
        # INTO OUTFILE, HANDLER, LOAD DATA and the like do not parse: say what is wrong with them
        words = [token.text.upper() for token in tokens if token.token_type != TokenType.STRING]
        if words[0] not in _READING_WORDS or "INTO" in words:
            raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED) from None
        raise
    statements = [one for one in parsed if one is not None and not isinstance(one, exp.Semicolon)]
    if len(statements) > 1:
        raise QueryRejected(QueryRejection.MULTIPLE_STATEMENTS)
    if not statements:
        raise QueryRejected(QueryRejection.SYNTAX_ERROR)
    return statements[0]


def _check_comments(tokens: list[Any]) -> None:
    """Refuse comments that a server would execute or obey; they are invisible to the tree."""
    for token in tokens:
        if token.token_type == TokenType.HINT:
            raise QueryRejected(QueryRejection.COMMENT_NOT_ALLOWED)
        for comment in token.comments:
            text = comment.lstrip()
            if text.startswith(("!", "M!", "+")) or "/*!" in text or "/*M!" in text:
                raise QueryRejected(QueryRejection.COMMENT_NOT_ALLOWED)


def _spell_show_plainly(sql: str, tokens: list[Any]) -> tuple[str, list[Any]]:
    """Replace the synonyms that sqlglot does not know, up to LIKE or WHERE."""
    changed = sql
    for token in reversed(tokens[1:]):
        plain = SHOW_SYNONYMS.get(token.text.upper())
        quoted = sql[token.start] in "`'\""
        before_filter = not any(
            other.token_type in {TokenType.LIKE, TokenType.WHERE} and other.start < token.start
            for other in tokens
        )
        if plain and not quoted and before_filter:
            changed = changed[: token.start] + plain + changed[token.end + 1 :]
    return changed, _DIALECT.tokenize(changed)


def _check_kinds(statement: exp.Expr) -> None:
    """An allow-list for the statement, and nothing in it that writes, locks or assigns."""
    allowed = isinstance(statement, _QUERIES)
    if isinstance(statement, exp.Show):
        allowed = statement.name.upper() in SHOW_STATEMENTS
    elif isinstance(statement, exp.Describe):
        allowed = isinstance(statement.this, (*_QUERIES, exp.Table))
    if not allowed or any(isinstance(node, _NEVER_NODES) for node in statement.walk()):
        raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED)


def _named_schemas(statement: exp.Expr) -> Iterator[str]:
    """Every schema the statement names, in tables, columns and SHOW."""
    for node in statement.find_all(exp.Table, exp.Column):
        if node.args.get("catalog"):
            raise QueryRejected(QueryRejection.SCHEMA_NOT_ALLOWED)
        if node.text("db"):
            yield node.text("db")
    if isinstance(statement, exp.Show):
        if statement.text("db"):
            yield statement.text("db")
        if statement.name.upper() == "CREATE DATABASE":
            yield statement.text("target")


def _check_functions(statement: exp.Expr) -> None:
    """Calls by plain, listed names only: no `schema.function()`, no quoted name."""
    for node in statement.find_all(exp.Anonymous, exp.Dot):
        named = node.this if isinstance(node, exp.Anonymous) else None
        if not isinstance(named, str) or named.upper() not in FUNCTIONS:
            raise QueryRejected(QueryRejection.FUNCTION_NOT_ALLOWED)


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
