"""What the model sends to `query_mysql`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class QueryMysqlRequest(BaseModel):
    """One read-only statement."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sql: str = Field(
        min_length=1,
        max_length=8_000,
        description="Exactly one SELECT (also WITH, UNION), SHOW, DESCRIBE or EXPLAIN SELECT, in "
        "the server's own dialect. Aggregate and filter in SQL: rows and long texts are cut.",
    )
    database: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="The schema that unqualified table names mean; null: the configured one.",
    )
