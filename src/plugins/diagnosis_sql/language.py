"""What the policy must know of one server's SQL, as a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from diagnosis_sql.text import words

READING_WORDS = frozenset(
    {"SELECT", "WITH", "SHOW", "DESC", "DESCRIBE", "EXPLAIN", "TABLE", "VALUES", "("}
)
"""Words that questions begin with."""

STATEMENT_WORDS = words(
    """
    ABORT ALTER ANALYSE ANALYZE BACKUP BEGIN BINLOG CACHE CALL CHANGE CHECK CHECKPOINT CHECKSUM
    CLOSE CLUSTER COMMENT COMMIT COPY CREATE DEALLOCATE DECLARE DELETE DISCARD DO DROP END
    EXECUTE FETCH FLUSH GET GRANT HANDLER HELP IMPORT INSERT INSTALL KILL LISTEN LOAD LOCK MERGE
    MOVE NOTIFY OPTIMIZE PREPARE PURGE REASSIGN REFRESH REINDEX RELEASE RENAME REPAIR REPLACE
    RESET RESIGNAL RESTART REVOKE ROLLBACK SAVEPOINT SECURITY SET SHUTDOWN SIGNAL START STOP
    TRUNCATE UNINSTALL UNLISTEN UNLOCK UPDATE USE VACUUM XA
    """
)
"""Words that other statements begin with; a text that begins with none of either is no SQL."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A statement as the parser can take it.

    Attributes:
        sql: what is parsed and judged; empty where `prefix` is the whole statement.
        prefix: text of our own that is sent before what is rendered: `EXPLAIN (FORMAT JSON) `.
        describes: whether the statement describes and reads no rows of a table.
    """

    sql: str
    prefix: str = ""
    describes: bool = False


def _nothing_named(_statement: exp.Expr) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class SqlLanguage:
    """One server's SQL. What is not listed is refused.

    Attributes:
        name: as people know the product.
        dialect: sqlglot's, made to give back what was written.
        functions: names of calls that only compute, in upper case.
        before_parenthesis: words that may stand before a parenthesis without being calls.
        never_words: words that, outside quotes, no query needs (names are sent quoted).
        opening_words: words a sent statement may begin with.
        token: reads one token of a sent text; groups `string`, `name`, `word`, `open`, others.
        server_schemas: schemas in which the server describes itself, case-folded.
        never_schemas: schemas never read, whatever the settings say, case-folded.
        respell: puts a statement in the parser's words.
        is_description: whether a tree is an allowed SHOW, DESCRIBE or EXPLAIN.
        readable: whether a table may be read: its schema (None where not known) and its name.
        parsed: puts a tree in the shape that is judged: names as the server folds them.
        rendered: a last change before rendering, where quoting every name would break one.
        executes_comment: whether a comment (its text, without the marks) is obeyed by a server.
        named_schemas: schemas a tree names in other places than tables and columns.
        never_nodes: kinds of node that no query may hold, beside those of the policy.
        column_notation: whether `(x).f` calls a function, so that a dot may only follow a name.
        whole_rows: whether a table's name may stand for its row, where a column could stand.
    """

    name: str
    dialect: Dialect
    functions: frozenset[str]
    before_parenthesis: frozenset[str]
    never_words: frozenset[str]
    opening_words: frozenset[str]
    token: Any
    server_schemas: frozenset[str]
    never_schemas: frozenset[str]
    respell: Callable[[str, Sequence[Any]], Spelling]
    is_description: Callable[[exp.Expr], bool]
    readable: Callable[[str | None, str], bool]
    parsed: Callable[[exp.Expr], exp.Expr]
    rendered: Callable[[exp.Expr], exp.Expr]
    executes_comment: Callable[[str], bool]
    named_schemas: Callable[[exp.Expr], Iterable[str]] = _nothing_named
    never_nodes: tuple[type[exp.Expr], ...] = ()
    column_notation: bool = False
    whole_rows: bool = False
