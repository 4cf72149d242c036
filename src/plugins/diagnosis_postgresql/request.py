"""What the model sends to `query_postgresql`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class QueryPostgresqlRequest(BaseModel):
    """One read-only statement."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sql: str = Field(
        min_length=1,
        max_length=8_000,
        description="Exactly one SELECT (also WITH, UNION, VALUES), SHOW or EXPLAIN SELECT (never "
        "ANALYZE). Aggregate and filter in SQL: rows and long texts are cut.",
    )
    database: str | None = Field(
        default=None,
        min_length=1,
        max_length=63,
        description="The database to ask; null: the configured one.",
    )
