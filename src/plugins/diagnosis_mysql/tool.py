"""The evidence tool `query_mysql`: vet, run read-only, read no more than can be shown."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, JsonValue

from diagnosis.errors import QueryRejected, SourceError
from diagnosis.plugin import EvidenceContext, EvidenceItem, EvidenceResult, Truncation
from diagnosis_mysql.policy import QueryPolicy, VettedStatement
from diagnosis_mysql.pool import SessionPool
from diagnosis_mysql.request import QueryMysqlRequest
from diagnosis_mysql.session import CONNECT_FAILURES, error_number
from diagnosis_mysql.settings import NEVER_READABLE, SERVER_SCHEMAS, MysqlSettings
from diagnosis_mysql.url import ServerAddress, server_address
from diagnosis_mysql.values import Column, to_json

_DESCRIPTION = """\
Runs one read-only SQL statement on the configured MySQL or MariaDB server and returns rows as \
objects. Use it for what the database itself knows: data that looks wrong, table sizes, indexes, \
locks, running statements, status counters, EXPLAIN. Discover with SHOW TABLES, DESCRIBE t, SHOW \
CREATE TABLE t or information_schema. No rows mean that nothing matches in that schema at that \
moment, not that nothing happened. Binary values are shown as their size and SHA-256; times carry \
no zone and stand in the scope's time_zone."""

# The server's own limit ends a statement first; the tool's clock, for statements and servers that
# have none, comes later, and both before the boundary's: time to stop the statement and to answer.
_STEP_S = 0.25


@dataclass(frozen=True, slots=True)
class _Rows:
    columns: list[Column]
    rows: list[dict[str, JsonValue]]
    complete: bool


class MysqlTool:
    """`query_mysql` over one server. `open()` before the first call, `close()` after the last."""

    name = "query_mysql"
    description = _DESCRIPTION
    request: type[BaseModel] = QueryMysqlRequest
    reference = False

    def __init__(self, settings: MysqlSettings) -> None:
        self._settings = settings
        self._address = server_address(settings)
        self._schemas = _readable_schemas(settings, self._address)
        self._policy = QueryPolicy(self._schemas)
        self._pool = SessionPool(
            self._address,
            connections=settings.connections,
            connect_timeout_s=settings.connect_timeout_s,
        )

    def describe(self) -> str:
        """The database and the schemas that may be read; at most 1 KiB, no credentials."""
        default = self._address.database
        text = f"Default database: {default}." if default else "No default database: name one."
        text += f" Readable schemas: {', '.join(self._schemas)}."
        encoded = text.encode()
        return text if len(encoded) <= 1_024 else encoded[:1_000].decode("utf-8", "ignore") + "…"

    def normalise(self, request: QueryMysqlRequest) -> dict[str, JsonValue]:
        """The re-rendered SQL and its database, so that spacing and comments make no new query."""
        database = request.database or self._address.database
        try:
            sql = self._policy.vet(request.sql, database).sql
        except QueryRejected:
            sql = request.sql
        return {"sql": sql, "database": database}

    async def open(self) -> None:
        """Connect once.

        Raises:
            SourceError: the server cannot be reached, refuses the account or has no such database.
        """
        await check_server(self._pool, self._address)

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    async def collect(self, request: QueryMysqlRequest, context: EvidenceContext) -> EvidenceResult:
        """Run one statement.

        Raises:
            QueryRejected: the policy or the server refuses it.
            SourceUnavailable: the server does not answer.
            TimeoutError: the statement took longer than `timeout_s` or than the call has left.
        """
        database = request.database or self._address.database
        statement = self._policy.vet(request.sql, database)
        limit_s = max(0.05, min(self._settings.timeout_s, context.remaining_s - 2 * _STEP_S))
        clock_s = max(limit_s, min(limit_s + 4 * _STEP_S, context.remaining_s - _STEP_S))
        async with (
            asyncio.timeout(clock_s),
            # one row beyond the cap tells whether the cap cut anything
            self._pool.lend(database, limit_s, self._settings.row_limit + 1) as session,
        ):
            columns, rows = await session.stream(statement.sql)
            async with aclosing(rows):
                found = await self._read(columns, rows, statement, context.byte_budget)
            time_zone = session.time_zone
        return self._result(found, statement, database, time_zone)

    async def _read(
        self,
        columns: list[Column],
        rows: AsyncIterator[tuple[Any, ...]],
        statement: VettedStatement,
        byte_budget: int,
    ) -> _Rows:
        """Rows until the row cap or the byte budget is full, and whether there were more."""
        text_bytes = byte_budget if statement.describes else self._settings.text_bytes
        kept: list[dict[str, JsonValue]] = []
        held = 0
        async for row in rows:
            if len(kept) == self._settings.row_limit or held >= byte_budget:
                return _Rows(columns, kept, complete=False)
            fields = {
                column.label: to_json(
                    column, raw, text_bytes=text_bytes, describes=statement.describes
                )
                for column, raw in zip(columns, row, strict=True)
            }
            held += len(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))
            kept.append(fields)
        return _Rows(columns, kept, complete=True)

    def _result(
        self, found: _Rows, statement: VettedStatement, database: str | None, time_zone: str
    ) -> EvidenceResult:
        scope: dict[str, JsonValue] = {
            "database": database,
            "sql": statement.sql,
            "columns": {column.label: column.type_name for column in found.columns},
            "limit": self._settings.row_limit,
            "time_zone": time_zone,
        }
        query = hashlib.sha256(f"{database}\0{statement.sql}".encode()).hexdigest()[:16]
        return EvidenceResult(
            items=tuple(_items(found.rows, query)),
            scope=scope,
            matched=len(found.rows) if found.complete else None,
            truncated=None if found.complete else Truncation.ITEMS,
        )


def _items(rows: list[dict[str, JsonValue]], query: str) -> list[EvidenceItem]:
    """A row has no name of its own: its query, its content and a count of equals identify it."""
    seen: Counter[str] = Counter()
    items = []
    for fields in rows:
        text = json.dumps(fields, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        seen[digest] += 1
        items.append(EvidenceItem(identity=f"{query}:{digest}:{seen[digest]}", fields=fields))
    return items


def _readable_schemas(settings: MysqlSettings, address: ServerAddress) -> tuple[str, ...]:
    """What may be read; the URL's database must be among it.

    Raises:
        SourceError: it is not, so that no unqualified name could ever be read.
    """
    own = address.database
    schemas = settings.schemas
    if schemas is None:
        schemas = tuple(dict.fromkeys((*((own,) if own else ()), *SERVER_SCHEMAS)))
    if own and (own.casefold() in NEVER_READABLE or own not in schemas):
        raise SourceError(
            f"The database {own!r} of the MySQL URL may not be read.",
            "Name another database in the URL, or add it to schemas of [plugins.mysql]; "
            "mysql and sys can never be read.",
        )
    return schemas


async def check_server(pool: SessionPool, address: ServerAddress) -> str:
    """Connect and return the server's version.

    Raises:
        SourceError: with what is wrong and how to mend it; never a password.
    """
    where = address.label
    try:
        return (await pool.open()).server_version
    except TimeoutError:
        raise SourceError(
            f"MySQL at {where} does not answer.",
            "Check the host and port, or raise connect_timeout_s of [plugins.mysql].",
        ) from None
    except RuntimeError:
        raise SourceError(
            f"MySQL at {where} asks this user to log in in a way that needs a further package.",
            "Install cryptography (for caching_sha2_password) or pynacl (for client_ed25519).",
        ) from None
    except CONNECT_FAILURES as error:
        number = error_number(error)
    if number in {1045, 1698}:
        raise SourceError(
            f"MySQL at {where} refuses the user {address.user!r} or the password.",
            "Correct the user and password in the URL; special characters are percent-encoded.",
        )
    if number in {1044, 1049}:
        raise SourceError(
            f"MySQL at {where} has no database {address.database!r} that this user may read.",
            "Correct the database in the URL, or grant the user SELECT on it.",
        )
    raise SourceError(
        f"MySQL at {where} cannot be used (error {number}).",
        "Check that the server runs, listens there and accepts connections from this host"
        + (", and that its certificate fits tls_ca and the URL's host." if address.tls else "."),
    )
