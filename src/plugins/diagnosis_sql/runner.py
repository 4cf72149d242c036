"""One call of a SQL tool: vet, run read-only, read what can be shown, mask what is secret."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from diagnosis.errors import QueryRejected
from diagnosis.plugin import EvidenceContext, EvidenceItem, EvidenceResult, Truncation
from diagnosis_sql.policy import QueryPolicy, VettedStatement
from diagnosis_sql.pool import ResultColumn, SessionPool

MASK = "[REDACTED:secret]"
"""Stands for a value of a column that holds secrets; the shape of the boundary's own masks."""

# The server's own limit ends a statement first; the tool's clock, for statements and servers that
# have none, comes later, and both before the boundary's: time to stop the statement and to answer.
_STEP_S = 0.25


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one call may bring and take: rows, UTF-8 bytes of one text, seconds."""

    row_limit: int
    text_bytes: int
    timeout_s: float


@dataclass(slots=True)
class _Rows:
    columns: Sequence[ResultColumn]
    rows: list[dict[str, JsonValue]] = field(default_factory=list)
    masked: dict[str, None] = field(default_factory=dict)
    complete: bool = True


class StatementRunner:
    """Runs statements of one policy on the sessions of one pool."""

    def __init__(self, policy: QueryPolicy, pool: SessionPool, limits: Limits) -> None:
        self._policy = policy
        self._pool = pool
        self._limits = limits

    def normalise(self, sql: str, database: str | None, schema: str | None) -> dict[str, JsonValue]:
        """The re-rendered SQL and its database, so that spacing and comments make no new query."""
        # a refusal is told when it is collected
        with contextlib.suppress(QueryRejected):
            sql = self._policy.vet(sql, schema).sql
        return {"sql": sql, "database": database}

    async def run(
        self, sql: str, database: str | None, schema: str | None, context: EvidenceContext
    ) -> EvidenceResult:
        """Run one statement.

        Args:
            sql: what the model wrote.
            database: where it runs.
            schema: what the policy takes unqualified names for; None where the server decides.
            context: the call's time and bytes.

        Raises:
            QueryRejected: the policy or the server refuses it.
            SourceUnavailable: the server does not answer.
            TimeoutError: the statement took longer than `timeout_s` or than the call has left.
        """
        statement = self._policy.vet(sql, schema)
        limit_s = max(0.05, min(self._limits.timeout_s, context.remaining_s - 2 * _STEP_S))
        clock_s = max(limit_s, min(limit_s + 4 * _STEP_S, context.remaining_s - _STEP_S))
        budget = context.byte_budget
        text_bytes = budget if statement.describes else self._limits.text_bytes
        async with (
            asyncio.timeout(clock_s),
            # one row beyond the cap tells whether the cap cut anything
            self._pool.lend(database, limit_s, self._limits.row_limit + 1) as session,
        ):
            columns, rows = await session.stream(statement, text_bytes=text_bytes)
            async with aclosing(rows):
                found = await self._read(columns, rows, statement, text_bytes, budget)
            time_zone = session.time_zone
        return self._result(found, statement, database, time_zone)

    async def _read(
        self,
        columns: Sequence[ResultColumn],
        rows: AsyncIterator[Sequence[Any]],
        statement: VettedStatement,
        text_bytes: int,
        byte_budget: int,
    ) -> _Rows:
        """Rows until the row cap or the byte budget is full, and whether there were more."""
        found = _Rows(columns)
        held = 0
        async for row in rows:
            if len(found.rows) == self._limits.row_limit or held >= byte_budget:
                found.complete = False
                break
            fields: dict[str, JsonValue] = {}
            for position, (column, raw) in enumerate(zip(columns, row, strict=True)):
                value = column.to_json(raw, text_bytes=text_bytes, describes=statement.describes)
                hidden = not statement.describes and statement.secrets.hides(
                    position, column.label, value
                )
                if hidden:
                    found.masked[column.label] = None
                fields[column.label] = MASK if hidden else value
            held += len(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))
            found.rows.append(fields)
        return found

    def _result(
        self, found: _Rows, statement: VettedStatement, database: str | None, time_zone: str
    ) -> EvidenceResult:
        scope: dict[str, JsonValue] = {
            "database": database,
            "sql": statement.sql,
            "columns": {column.label: column.type_name for column in found.columns},
            "limit": self._limits.row_limit,
            "time_zone": time_zone,
        }
        if found.masked:
            scope["masked"] = list(found.masked)
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
