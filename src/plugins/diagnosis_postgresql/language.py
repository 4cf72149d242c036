"""PostgreSQL's SQL as the shared policy needs to know it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sqlglot import exp

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected
from diagnosis_postgresql.allowed import (
    BEFORE_PARENTHESIS,
    CATALOG_TABLES,
    EXTENSION_VIEWS,
    FUNCTIONS,
    NEVER_INFORMATION,
    NEVER_SHOWN,
    NEVER_WORDS,
    WITHOUT_PARENTHESES,
)
from diagnosis_postgresql.dialect import VerbatimPostgres
from diagnosis_postgresql.settings import SERVER_SCHEMAS
from diagnosis_sql.language import Spelling, SqlLanguage

_DIALECT = VerbatimPostgres()

# standard_conforming_strings is on in every session: a backslash is a character like any other
_TOKEN = re.compile(
    r"""
      (?P<string> [xXbB]?'(?:[^']|'')*')
    | (?P<name> "(?:[^"\0]|"")+")
    | (?P<number> (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w$]))
    | (?P<word> [A-Za-z_][A-Za-z0-9_]*)
    | (?P<open> \()
    | (?P<other> [ ),.+%=<>!&|^~@?\#\[\]:] | \*(?!/) | -(?!-) | /(?![*]))
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

_SETTING = re.compile(r"[a-z_][a-z0-9_]*\Z")
_SHOW_WORDS = {
    ("TIME", "ZONE"): "TIME ZONE",
    ("TRANSACTION", "ISOLATION", "LEVEL"): "TRANSACTION ISOLATION LEVEL",
    ("SESSION", "AUTHORIZATION"): "SESSION AUTHORIZATION",
}
_EXPLAIN_OPTIONS = frozenset({"VERBOSE", "COSTS", "SETTINGS", "SUMMARY", "GENERIC_PLAN", "BUFFERS"})
_EXPLAIN_FORMATS = frozenset({"TEXT", "JSON", "XML", "YAML"})
_BOOLEANS = frozenset({"TRUE", "FALSE", "ON", "OFF", "1", "0"})


def respell(sql: str, tokens: Sequence[Any]) -> Spelling:
    """Take SHOW and EXPLAIN apart, which sqlglot does not parse for PostgreSQL.

    Raises:
        QueryRejected: STATEMENT_NOT_ALLOWED for a setting that may hold a secret, for EXPLAIN
            ANALYZE, which runs what it explains, and for options that are not known.
    """
    first = tokens[0].text.upper() if tokens else ""
    if first not in {"SHOW", "EXPLAIN"}:
        return Spelling(sql)
    # sqlglot takes what follows these words for one string
    sql = sql[tokens[0].end + 1 :]
    tokens = _DIALECT.tokenize(sql)
    words = [token.text.upper() for token in tokens]
    while words and words[-1] == ";":
        words.pop()
    if first == "SHOW":
        if ";" in words:
            raise QueryRejected(QueryRejection.MULTIPLE_STATEMENTS)
        return Spelling("", _show(tuple(" ".join(words).split(" "))), describes=True)
    options, used = _explain_options(words)
    if used >= len(words):
        raise QueryRejected(QueryRejection.SYNTAX_ERROR)
    prefix = f"EXPLAIN ({', '.join(options)}) " if options else "EXPLAIN "
    return Spelling(sql[tokens[used].start :], prefix, describes=True)


def _show(words: tuple[str, ...]) -> str:
    if words in _SHOW_WORDS:
        return f"SHOW {_SHOW_WORDS[words]}"
    name = words[0].lower() if len(words) == 1 else ""
    # a name with a dot is an application's own, where some keep secrets
    if not _SETTING.match(name) or name in NEVER_SHOWN:
        known = bool(words[0])
        reason = QueryRejection.STATEMENT_NOT_ALLOWED if known else QueryRejection.SYNTAX_ERROR
        raise QueryRejected(reason)
    return "SHOW ALL" if name == "all" else f'SHOW "{name}"'


def _explain_options(words: list[str]) -> tuple[list[str], int]:
    """The options of EXPLAIN, and how many tokens they take."""
    options: list[str] = []
    if words[:1] != ["("] or words[1:2] in (["SELECT"], ["WITH"], ["VALUES"], ["("]):
        used = 1 if words[:1] == ["VERBOSE"] else 0
        return ["VERBOSE"][:used], used
    end = words.index(")") if ")" in words else 0
    for option in " ".join(words[1:end]).split(" , "):
        name, _, value = option.partition(" ")
        known = name in _EXPLAIN_OPTIONS and (not value or value in _BOOLEANS)
        # ANALYZE FALSE is what leaving it out means
        if name == "ANALYZE" and value in {"FALSE", "OFF", "0"}:
            continue
        if not (known or (name == "FORMAT" and value in _EXPLAIN_FORMATS)):
            raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED)
        options.append(option)
    return options, end + 1


def readable(schema: str | None, table: str) -> bool:
    """Whether a table may be read; pg_catalog comes first where no schema is named."""
    if schema == "information_schema":
        return table not in NEVER_INFORMATION and not table.startswith("_")
    if schema == "pg_catalog" or (schema is None and table.startswith("pg_")):
        return table in CATALOG_TABLES or (schema is None and table in EXTENSION_VIEWS)
    return True


def named_schemas(statement: exp.Expr) -> Iterator[str]:
    """Schemas of user-defined types."""
    for dot in statement.find_all(exp.Dot):
        if isinstance(dot.parent, exp.DataType):
            yield dot.this.name


def parsed(statement: exp.Expr) -> exp.Expr:
    """Fold names as the server does; take escapes and `pg_catalog.` before calls away."""

    def fold(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Identifier) and not node.quoted:
            lowered = "".join(char.lower() if char.isascii() else char for char in node.this)
            return exp.Identifier(this=lowered, quoted=_needs_quotes(node))
        if isinstance(node, exp.ByteString | exp.RawString):
            return exp.Literal.string(node.name)
        if isinstance(node, exp.Concat):  # literals in a row; calls are not parsed to this
            return exp.Literal.string("".join(part.name for part in node.expressions))
        return node

    # in place and first: `transform` does not look into what it has replaced
    for node in list(statement.find_all(exp.Dot, exp.Column, exp.Table)):
        if (plain := _without_catalog(node)) is not node:
            node.replace(plain)
    return statement.transform(fold)


def _without_catalog(node: exp.Expr) -> exp.Expr:
    """The call alone, where it is written `pg_catalog.f(x)`: it is sent so in any case."""
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
        return node.expression if node.this.name.lower() == "pg_catalog" else node
    if isinstance(node, exp.Column) and node.table.lower() == "pg_catalog":
        return node if isinstance(node.this, exp.Identifier | exp.Star) else node.this
    calls = isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous)
    if calls and node.text("db").lower() == "pg_catalog" and not node.args.get("catalog"):
        node.set("db", None)
    return node


def _needs_quotes(identifier: exp.Identifier) -> bool:
    column = identifier.parent
    bare = isinstance(column, exp.Column) and not column.table
    return not (bare and identifier.name.upper() in WITHOUT_PARENTHESES)


def rendered(statement: exp.Expr) -> exp.Expr:
    """Undo what quoting every name would break: USER, which is a function."""

    def restore(node: exp.Expr) -> exp.Expr:
        if (
            isinstance(node, exp.Column)
            and isinstance(node.this, exp.Identifier)
            and not node.this.quoted
            and not node.table
            and node.name.upper() in WITHOUT_PARENTHESES
        ):
            return exp.Var(this=node.name.upper())
        return node

    return statement.transform(restore)


def executes_comment(_text: str) -> bool:
    """No comment is more than a comment to PostgreSQL."""
    return False


def is_description(_statement: exp.Expr) -> bool:
    """SHOW and EXPLAIN are taken apart before the tree is made."""
    return False


LANGUAGE = SqlLanguage(
    name="PostgreSQL",
    dialect=_DIALECT,
    functions=FUNCTIONS,
    before_parenthesis=BEFORE_PARENTHESIS,
    never_words=NEVER_WORDS,
    opening_words=frozenset({"SELECT", "WITH", "SHOW", "EXPLAIN", "VALUES"}),
    token=_TOKEN,
    server_schemas=frozenset(SERVER_SCHEMAS),
    never_schemas=frozenset({"pg_toast", "pg_temp"}),
    respell=respell,
    is_description=is_description,
    readable=readable,
    parsed=parsed,
    rendered=rendered,
    executes_comment=executes_comment,
    named_schemas=named_schemas,
    never_nodes=(exp.UnicodeString, exp.Copy, exp.National),
    column_notation=True,
    whole_rows=True,
)
"""The value that the shared policy is given."""
