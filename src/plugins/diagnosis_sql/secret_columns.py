"""Where a statement shows or asks for columns that hold secrets, read from its tree.

Such a column may stand in what is selected, alone or in a function: its values are masked. Whether
it is NULL and how many there are may be asked. To compare, sort, group or join by it is refused:
the answer would tell the secret bit by bit (`WHERE password LIKE 'a%'`). Names that a subquery
gives to a secret are secret too, everywhere in the statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pydantic import JsonValue
from sqlglot import exp

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected
from diagnosis_sql.secret_names import names_a_secret
from diagnosis_sql.text import words

_COUNTS = frozenset({"COUNT"})
_JSON_READERS = words(
    """
    JSON_EXTRACT JSON_VALUE JSON_QUERY JSON_UNQUOTE JSON_TABLE JSON_EXTRACT_PATH
    JSON_EXTRACT_PATH_TEXT JSONB_EXTRACT_PATH JSONB_EXTRACT_PATH_TEXT JSONB_PATH_QUERY
    JSONB_PATH_QUERY_FIRST JSONB_PATH_QUERY_ARRAY
    """
)
_ROW_TO_JSON = words(
    """
    COUNT ROW_TO_JSON TO_JSON TO_JSONB JSON_AGG JSONB_AGG PG_COLUMN_SIZE
    """
)
_JSON_NODES = (
    exp.JSONExtract,
    exp.JSONExtractScalar,
    exp.JSONBExtract,
    exp.JSONBExtractScalar,
)
_LAST_NAME = re.compile(r"(\w+)\W*\Z")


@dataclass(frozen=True, slots=True)
class SecretOutput:
    """Which columns of a result hold secrets.

    Attributes:
        computed: positions whose values come from a secret in some function.
        plain: positions that are a secret column itself, under whatever name.
        names: names, case-folded, that the statement gives to secrets; behind `*` only they tell.
    """

    computed: frozenset[int] = frozenset()
    plain: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()

    def hides(self, position: int, label: str, value: JsonValue) -> bool:
        """Whether a value must not be shown.

        Numbers, yes and no in a column of that name are no secrets; what a function made of a
        secret always is.
        """
        if value is None:
            return False
        if position in self.computed or label.casefold() in self.names:
            return True
        if position not in self.plain and not names_a_secret(label):
            return False
        return not (isinstance(value, bool | int | float) or value == "")


def secret_output(statement: exp.Expr, *, whole_rows: bool) -> SecretOutput:
    """Find the secrets in what a statement selects.

    Args:
        statement: one query, SHOW or EXPLAIN.
        whole_rows: whether a table's name may stand for its whole row.

    Raises:
        QueryRejected: COLUMN_NOT_ALLOWED where a secret is more than selected, or where it cannot
            be told what a renamed `*` brings.
    """
    reading = _Reading(statement, whole_rows=whole_rows)
    reading.check()
    query = statement.this if isinstance(statement, exp.Describe) else statement
    found = reading.outputs(query)
    return replace(found, names=frozenset(reading.aliases))


class _Reading:
    def __init__(self, statement: exp.Expr, *, whole_rows: bool) -> None:
        self._statement = statement
        tables = list(statement.find_all(exp.Table, exp.Subquery, exp.CTE)) if whole_rows else []
        self._rows = {table.alias_or_name for table in tables}
        self._named = {table.alias for table in tables if isinstance(table, exp.Table)}
        self.aliases: set[str] = set()
        while True:
            found = set(self._secret_aliases())
            if found <= self.aliases:
                break
            self.aliases |= found

    # --- what names a secret --------------------------------------------------------------

    def _is_secret(self, name: str) -> bool:
        return name.casefold() in self.aliases or names_a_secret(name)

    def _secret_nodes(self, inside: exp.Expr) -> Iterator[exp.Expr]:
        """Columns and JSON paths that name a secret, where more than their number is asked."""
        for node in inside.find_all(exp.Column, exp.Literal):
            if isinstance(node, exp.Column):
                named = self._is_secret(node.name)
            else:
                named = node.is_string and _is_json_path(node) and _path_names_secret(node.name)
            if named and not _only_counted(node):
                yield node

    def _secret_aliases(self) -> Iterator[str]:
        for alias in self._statement.find_all(exp.Alias):
            if any(self._secret_nodes(alias.this)):
                yield alias.alias.casefold()
        for renaming in self._statement.find_all(exp.TableAlias):
            yield from self._renamed(renaming)

    def _renamed(self, alias: exp.TableAlias) -> Iterator[str]:
        """Names that `AS x(a, b)` gives to secrets."""
        named = alias.args.get("columns") or []
        source = alias.parent
        if not named or source is None:
            return
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            raise QueryRejected(QueryRejection.COLUMN_NOT_ALLOWED)
        query = source.this
        if isinstance(source, exp.Subquery | exp.CTE) and isinstance(query, exp.Query):
            secret = self.outputs(query)
            if not secret.computed | secret.plain and not _selects_star(query):
                return
            if _selects_star(query):
                raise QueryRejected(QueryRejection.COLUMN_NOT_ALLOWED)
            for position in secret.computed | secret.plain:
                if position < len(named):
                    yield named[position].name.casefold()

    # --- what may not be done with it -----------------------------------------------------

    def check(self) -> None:
        for node in self._secret_nodes(self._statement):
            if not _only_selected(node):
                raise QueryRejected(QueryRejection.COLUMN_NOT_ALLOWED)
        for join in self._statement.find_all(exp.Join):
            if any(self._is_secret(name.name) for name in join.args.get("using") or ()):
                raise QueryRejected(QueryRejection.COLUMN_NOT_ALLOWED)
        for node in self._statement.find_all(exp.Column):
            if node.name in self._rows and not node.table and self._asks_for_row(node):
                raise QueryRejected(QueryRejection.COLUMN_NOT_ALLOWED)

    def _asks_for_row(self, column: exp.Expr) -> bool:
        """Whether a whole row, its secrets among it, is compared or loses its columns' names.

        A table's own name may be that of one of its columns: only a name that the statement gives
        to it, or a function of rows, tells that the row is meant.
        """
        if _is_read_as_text(column):
            return True
        meant = column.name in self._named or _name_of(column.parent) in _ROW_TO_JSON
        return meant and not _only_selected(column) and not _only_counted(column)

    # --- what is selected -----------------------------------------------------------------

    def outputs(self, query: exp.Expr | None) -> SecretOutput:
        """The positions of secrets among the columns of a query."""
        if isinstance(query, exp.SetOperation):
            left, right = self.outputs(query.left), self.outputs(query.right)
            if _selects_star(query.right) and not (
                _only_star(query.left) and _only_star(query.right)
            ):
                raise QueryRejected(QueryRejection.COLUMN_NOT_ALLOWED)
            return SecretOutput(left.computed | right.computed, left.plain | right.plain)
        if isinstance(query, exp.Subquery):
            return self.outputs(query.this)
        if not isinstance(query, exp.Select):
            return SecretOutput()
        computed, plain = set(), set()
        for position, selected in enumerate(query.expressions):
            value = selected.unalias()
            if isinstance(value, exp.Column) and self._is_secret(value.name):
                plain.add(position)
            elif any(self._secret_nodes(value)):
                computed.add(position)
        if _selects_star(query):
            return self._beside_star(query)
        return SecretOutput(frozenset(computed), frozenset(plain))

    def _beside_star(self, query: exp.Select) -> SecretOutput:
        """Behind a star no position is known: only a name can tell, and there must be one."""
        for selected in query.expressions:
            named = selected.alias or isinstance(selected, exp.Column)
            if not named and any(self._secret_nodes(selected)):
                raise QueryRejected(QueryRejection.COLUMN_NOT_ALLOWED)
        return SecretOutput()


def _selects_star(query: exp.Expr | None) -> bool:
    if isinstance(query, exp.SetOperation):
        return _selects_star(query.left) or _selects_star(query.right)
    if isinstance(query, exp.Subquery):
        return _selects_star(query.this)
    return isinstance(query, exp.Select) and any(each.is_star for each in query.expressions)


def _only_star(query: exp.Expr | None) -> bool:
    """Whether a query is `SELECT * FROM table`, for tables of one shape (or unions of those)."""
    if isinstance(query, exp.SetOperation):
        return _only_star(query.left) and _only_star(query.right)
    if isinstance(query, exp.Subquery):
        return _only_star(query.this)
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return False
    source = query.args.get("from_")
    plain = source is not None and isinstance(source.this, exp.Table)
    return query.expressions[0].is_star and plain and not query.args.get("joins")


def _name_of(call: exp.Expr | None) -> str:
    if isinstance(call, exp.Anonymous):
        return str(call.this).upper()
    return call.sql_name() if isinstance(call, exp.Func) else ""


def _is_json_path(literal: exp.Expr) -> bool:
    parent = literal.parent
    if isinstance(parent, _JSON_NODES):
        return literal is not parent.this
    if isinstance(parent, exp.JSONColumnDef):
        return True
    return parent is not None and _name_of(parent) in _JSON_READERS


def _path_names_secret(path: str) -> bool:
    found = _LAST_NAME.search(path)
    return found is not None and names_a_secret(found[1])


def _only_counted(node: exp.Expr) -> bool:
    """Whether only its presence is asked: `x IS NULL`, `COUNT(x)`, `COUNT(DISTINCT x)`."""
    parent = node.parent
    if isinstance(parent, exp.Is) and parent.this is node:
        return isinstance(parent.expression, exp.Null | exp.Not)
    if isinstance(parent, exp.Distinct) and parent.parent is not None:
        parent = parent.parent
    return parent is not None and _name_of(parent) in _COUNTS


def _only_selected(node: exp.Expr) -> bool:
    """Whether a node stands in what a query selects, uncompared, up to the statement."""
    child, parent = node, node.parent
    selected = False
    while parent is not None:
        key = child.arg_key
        if isinstance(parent, exp.Predicate):
            return False
        if isinstance(parent, exp.Case | exp.If) and key == "this":
            return False
        # the order within a window or an aggregate, and what parts it
        if isinstance(parent, exp.Order) or (isinstance(parent, exp.Window) and key != "this"):
            return False
        if isinstance(parent, exp.Join) and key != "this":
            return False
        if isinstance(parent, exp.Select):
            # FROM, JOIN and WITH hold queries, whose own list has the node; all else compares
            holds_query = selected and key in {"from_", "joins", "with_", "laterals"}
            if key != "expressions" and not holds_query:
                return False
            selected = True
        elif isinstance(parent, exp.SetOperation) and key == "order":
            return False
        child, parent = parent, parent.parent
    return selected


def _is_read_as_text(column: exp.Expr) -> bool:
    """Whether a whole row is handed to something that loses the names of its columns."""
    parent = column.parent
    if isinstance(parent, exp.Cast | exp.DPipe):
        return True
    name = _name_of(parent)
    return bool(name) and name not in _ROW_TO_JSON
