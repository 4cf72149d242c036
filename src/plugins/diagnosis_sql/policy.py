"""What may be asked of a server: one read-only statement, judged as a tree and sent re-rendered.

Pure code, no I/O. Five layers, each of which refuses what it does not know: the raw text (comments
that servers execute), the tree (kinds of statement, schemas, names of functions), the columns that
hold secrets (`secret_columns`), the rendered text (`sent_text`), and behind them the server's own
read-only transaction (the session).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.expressions.dml import DML
from sqlglot.tokenizer_core import TokenType

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected
from diagnosis_sql.language import READING_WORDS, STATEMENT_WORDS, Spelling, SqlLanguage
from diagnosis_sql.secret_columns import SecretOutput, secret_output
from diagnosis_sql.sent_text import check_sent_text

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)

_NEVER_NODES: tuple[type[exp.Expr], ...] = (
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
        secrets: which columns of its result hold secrets.
    """

    sql: str
    describes: bool
    secrets: SecretOutput


class QueryPolicy:
    """Vets statements of one language against a list of schemas."""

    def __init__(self, language: SqlLanguage, schemas: tuple[str, ...]) -> None:
        self._language = language
        known = language.server_schemas
        self._schemas = frozenset(
            name.casefold() if name.casefold() in known else name for name in schemas
        )

    def vet(self, sql: str, database: str | None = None) -> VettedStatement:
        """Judge one statement.

        Args:
            sql: what the model wrote.
            database: the schema that unqualified names will mean, or None where the server decides.

        Raises:
            QueryRejected: with the first reason found.
        """
        if database is not None:
            self._check_schema(database)
        try:
            spelling = self._spell(sql)
            if not spelling.sql:
                check_sent_text(spelling.prefix, self._language)
                return VettedStatement(spelling.prefix, spelling.describes, SecretOutput())
            statement = self._parse(spelling.sql)
            self._check_kinds(statement, describes=spelling.describes)
            self._check_tables(statement, database)
            self._check_functions(statement)
            secrets = secret_output(statement, whole_rows=self._language.whole_rows)
            rendered = self._language.dialect.generate(
                self._language.rendered(statement),
                comments=False,
                identify=True,
                normalize_functions=False,
            )
        except (SqlglotError, RecursionError, UnicodeError):
            raise QueryRejected(QueryRejection.SYNTAX_ERROR) from None
        check_sent_text(spelling.prefix + rendered, self._language)
        describes = spelling.describes or isinstance(statement, exp.Show | exp.Describe)
        return VettedStatement(spelling.prefix + rendered, describes, secrets)

    def _spell(self, sql: str) -> Spelling:
        sql.encode()  # a lone surrogate is not text
        tokens = self._language.dialect.tokenize(sql)
        self._check_comments(tokens)
        return self._language.respell(sql, tokens)

    def _parse(self, sql: str) -> exp.Expr:
        tokens = self._language.dialect.tokenize(sql)
        try:
            parsed = self._language.dialect.parser().parse(tokens, sql)
        except SqlglotError:
            # INTO OUTFILE, HANDLER, LOAD DATA and the like do not parse: say what is wrong
            bare = {token.text.upper() for token in tokens if token.token_type != TokenType.STRING}
            first = _first_word(tokens)
            if first in STATEMENT_WORDS or (first in READING_WORDS and "INTO" in bare):
                raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED) from None
            raise
        statements = [
            each for each in parsed if each is not None and not isinstance(each, exp.Semicolon)
        ]
        if len(statements) > 1:
            raise QueryRejected(QueryRejection.MULTIPLE_STATEMENTS)
        if not statements or _first_word(tokens) not in READING_WORDS | STATEMENT_WORDS:
            raise QueryRejected(QueryRejection.SYNTAX_ERROR)
        return self._language.parsed(statements[0])

    def _check_comments(self, tokens: Sequence[Any]) -> None:
        """Refuse comments that a server would execute or obey; they are invisible to the tree."""
        for token in tokens:
            hidden = any(self._language.executes_comment(text) for text in token.comments)
            if hidden or token.token_type == TokenType.HINT:
                raise QueryRejected(QueryRejection.COMMENT_NOT_ALLOWED)

    def _check_kinds(self, statement: exp.Expr, *, describes: bool) -> None:
        """An allow-list for the statement, and nothing in it that writes, locks or assigns."""
        allowed = isinstance(statement, _QUERIES)
        allowed = allowed or (not describes and self._language.is_description(statement))
        never: tuple[type[exp.Expr], ...] = (*_NEVER_NODES, *self._language.never_nodes)
        if not allowed or any(isinstance(node, never) for node in statement.walk()):
            raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED)

    def _check_tables(self, statement: exp.Expr, database: str | None) -> None:
        for schema in self._named_schemas(statement):
            self._check_schema(schema)
        for table in statement.find_all(exp.Table):
            if not self._language.readable(table.text("db") or database, table.name):
                raise QueryRejected(QueryRejection.SCHEMA_NOT_ALLOWED)

    def _named_schemas(self, statement: exp.Expr) -> Iterator[str]:
        """Every schema the statement names, in tables, columns and SHOW."""
        for node in statement.find_all(exp.Table, exp.Column):
            if node.args.get("catalog"):
                raise QueryRejected(QueryRejection.SCHEMA_NOT_ALLOWED)
            if node.text("db"):
                yield node.text("db")
        yield from self._language.named_schemas(statement)

    def _check_schema(self, schema: str) -> None:
        folded = schema.casefold()
        # the server's own schemas have no case, others may have
        name = folded if folded in self._language.server_schemas else schema
        if name not in self._schemas or folded in self._language.never_schemas:
            raise QueryRejected(QueryRejection.SCHEMA_NOT_ALLOWED)

    def _check_functions(self, statement: exp.Expr) -> None:
        """Calls by plain, listed names only: no `schema.function()`, no quoted name."""
        for node in statement.find_all(exp.Anonymous, exp.Dot, exp.Column, exp.Table):
            if isinstance(node.parent, exp.DataType):
                continue  # the name of a type
            if isinstance(node, exp.Column | exp.Table):
                # `schema.function(x) FILTER (...)` and `FROM schema.function()`
                called = not isinstance(node.this, exp.Identifier | exp.Star)
                if called and (node.args.get("table") or node.args.get("db")):
                    raise QueryRejected(QueryRejection.FUNCTION_NOT_ALLOWED)
                continue
            named = node.this if isinstance(node, exp.Anonymous) else None
            if not isinstance(named, str) or named.upper() not in self._language.functions:
                raise QueryRejected(QueryRejection.FUNCTION_NOT_ALLOWED)


def _first_word(tokens: Sequence[Any]) -> str:
    # `LOCK TABLES` is one token
    return str(tokens[0].text).upper().split(" ")[0]
