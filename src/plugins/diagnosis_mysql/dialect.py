"""sqlglot's MySQL dialect, made to give back what was written, for MySQL and MariaDB alike.

sqlglot translates between dialects: it renames functions (IFNULL becomes COALESCE), rewrites JSON
paths and turns REGEXP into REGEXP_LIKE, which MariaDB does not have. Evidence must come from the
statement that was asked, so function calls stay verbatim, and only what needs a grammar of its own
(CAST, EXTRACT, GROUP_CONCAT and the like) is understood.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.generators.mysql import MySQLGenerator
from sqlglot.parsers.mysql import MySQLParser

# the first argument of these is a unit, not a column
_UNIT_FUNCTIONS = frozenset({"TIMESTAMPDIFF", "TIMESTAMPADD"})


def _json_unquote(generator: Any, node: exp.Expr) -> str:
    extract = generator.func("JSON_EXTRACT", node.this, node.expression)
    return f"JSON_UNQUOTE({extract})"


class VerbatimMySQL(MySQL):
    """MySQL as written; the operators `->`, `->>` and REGEXP in the form both servers have."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Keep a JSON path as the literal it is."""
        return path

    class Parser(MySQLParser):
        """Function names stay names."""

        # an arrow in a call is an operator, no lambda
        LAMBDAS: ClassVar[dict[Any, Any]] = {}
        FUNCTIONS: ClassVar[dict[str, Any]] = {
            name: build for name, build in MySQLParser.FUNCTIONS.items() if name in _UNIT_FUNCTIONS
        }

    class Generator(MySQLGenerator):
        """Operators in the form both servers have."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **MySQLGenerator.TRANSFORMS,
            exp.RegexpLike: lambda self, node: self.binary(node, "RLIKE"),
            exp.JSONExtract: lambda self, node: self.func(
                "JSON_EXTRACT", node.this, node.expression
            ),
            exp.JSONExtractScalar: _json_unquote,
            # x'1F' is never a number to MariaDB; 0x1F is one wherever a number is wanted
            exp.HexString: lambda self, node: f"0x{node.name}" if node.name else "''",
        }
