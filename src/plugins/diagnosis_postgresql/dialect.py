"""sqlglot's PostgreSQL dialect, made to give back what was written.

sqlglot translates between dialects: it renames functions, rewrites JSON paths and date formats.
Evidence must come from the statement that was asked, so function calls stay verbatim, and only what
needs a grammar of its own (CAST, EXTRACT, SUBSTRING FROM and the like) is understood. Calls are
sent as `pg_catalog.name(...)`, so that no function of that name in another schema can be meant.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import TokenType

from diagnosis_postgresql.allowed import GRAMMAR_FUNCTIONS

_INTERVAL_UNITS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})
# those whose arguments have a grammar of their own
_GRAMMAR = frozenset({"CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM"})


def _interval(generator: Any, node: exp.Interval) -> str:
    """`INTERVAL '1' DAY`, the only form that is left, as the cast that all others are."""
    unit = node.text("unit")
    return str(generator.sql(exp.cast(exp.Literal.string(f"{node.name} {unit}"), "interval")))


class VerbatimPostgres(Postgres):
    """PostgreSQL as written, its functions by their full names."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Keep a JSON path as the literal it is."""
        return path

    class Parser(PostgresParser):
        """Function names stay names."""

        # an arrow in a call is an operator, no lambda
        LAMBDAS: ClassVar[dict[Any, Any]] = {
            token: parse
            for token, parse in PostgresParser.LAMBDAS.items()
            if token != TokenType.ARROW
        }
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parse
            for name, parse in PostgresParser.FUNCTION_PARSERS.items()
            if name in _GRAMMAR
        }

        # an index stays a number: -> 2 is an element, -> '2' is a key
        JSON_OPERATORS: ClassVar[dict[Any, Any]] = {
            **PostgresParser.JSON_OPERATORS,
            TokenType.ARROW: lambda self, this, path: self.expression(
                exp.JSONExtract(this=this, expression=path)
            ),
            TokenType.DARROW: lambda self, this, path: self.expression(
                exp.JSONExtractScalar(this=this, expression=path)
            ),
        }

        def _parse_interval(self, *args: Any, **options: Any) -> Any:
            """`INTERVAL '1 day 02:03'` as one literal, which sqlglot would cut to '1 DAY'."""
            start = self._index
            if self._match(TokenType.INTERVAL) and self._match(TokenType.STRING):
                text = self._prev.text
                if not self._curr or self._curr.text.upper() not in _INTERVAL_UNITS:
                    kind = exp.DataType.build("interval", dialect="postgres")
                    return self.expression(exp.Cast(this=exp.Literal.string(text), to=kind))
            self._retreat(start)
            return super()._parse_interval(*args, **options)

    class Generator(PostgresGenerator):
        """Operators as written, calls qualified."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **PostgresGenerator.TRANSFORMS,
            exp.JSONExtract: lambda self, node: self.binary(node, "->"),
            exp.JSONExtractScalar: lambda self, node: self.binary(node, "->>"),
            exp.JSONBExtract: lambda self, node: self.binary(node, "#>"),
            exp.JSONBExtractScalar: lambda self, node: self.binary(node, "#>>"),
            exp.Interval: _interval,
            exp.Pow: lambda self, node: self.binary(node, "^"),
            exp.Sqrt: lambda self, node: f"|/ {self.sql(node, 'this')}",
            exp.Cbrt: lambda self, node: f"||/ {self.sql(node, 'this')}",
            exp.CurrentRole: lambda *_: "CURRENT_ROLE",
        }

        def anonymous_sql(self, expression: exp.Anonymous) -> str:
            """A call, by the name that only pg_catalog's function has."""
            name = str(expression.this)
            if name.upper() not in GRAMMAR_FUNCTIONS:
                name = f"pg_catalog.{name.lower()}"
            return str(self.func(name, *expression.expressions, normalize=False))
