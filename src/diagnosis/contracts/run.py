"""What goes into a run, what bounds it, and how it can end."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, field_validator, model_validator

from diagnosis.contracts.base import Contract


class RunStatus(StrEnum):
    """How a run ended, as users and tables see it."""

    SUCCESS = "SUCCESS"
    FALLBACK = "FALLBACK"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class StopReason(StrEnum):
    """Why the harness stopped collecting; never shown to the model, but for the last one."""

    INFORMATION_SATURATED = "INFORMATION_SATURATED"
    BUDGET_LIMIT_REACHED = "BUDGET_LIMIT_REACHED"
    PROGRESS_PROTOCOL_VIOLATED = "PROGRESS_PROTOCOL_VIOLATED"


class DraftFailure(StrEnum):
    """How a model's final answer breaks the draft contract."""

    EMPTY = "EMPTY"
    TOO_LARGE = "TOO_LARGE"
    NOT_STRICT_JSON = "NOT_STRICT_JSON"
    SCHEMA_INVALID = "SCHEMA_INVALID"


class EndReason(StrEnum):
    """Why a run ended as it did, where its status alone does not say."""

    INFORMATION_SATURATED = "INFORMATION_SATURATED"
    BUDGET_LIMIT_REACHED = "BUDGET_LIMIT_REACHED"
    PROGRESS_PROTOCOL_VIOLATED = "PROGRESS_PROTOCOL_VIOLATED"
    EMPTY = "EMPTY"
    TOO_LARGE = "TOO_LARGE"
    NOT_STRICT_JSON = "NOT_STRICT_JSON"
    SCHEMA_INVALID = "SCHEMA_INVALID"
    TIMED_OUT = "TIMED_OUT"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    MODEL_UNAVAILABLE = "MODEL_UNAVAILABLE"
    GUARD_UNAVAILABLE = "GUARD_UNAVAILABLE"
    OBSERVER_FAILED = "OBSERVER_FAILED"
    STORE_FAILED = "STORE_FAILED"
    INTERRUPTED = "INTERRUPTED"
    CANCELLED = "CANCELLED"


class PreviousTurn(Contract):
    """The turn before a follow-up question: context, never evidence.

    Its tool_call_ids are not citable in this run.
    """

    run_id: str
    query: str
    answer: str = Field(description="The brief that release built for it; at most 8 KiB.")
    status: RunStatus

    @field_validator("answer")
    @classmethod
    def _bounded(cls, answer: str) -> str:
        if len(answer.encode()) > 8_192:
            raise ValueError("the answer of a previous turn has at most 8,192 bytes")
        return answer


class DiagnosisInput(Contract):
    """One question. The query is kept exactly as given and never truncated."""

    query: str
    previous_turn: PreviousTurn | None = None

    @field_validator("query")
    @classmethod
    def _not_blank(cls, query: str) -> str:
        if not query.strip():
            raise ValueError("the query is blank")
        try:
            query.encode()
        except UnicodeEncodeError:
            raise ValueError("the query is not valid Unicode text") from None
        return query


class RunLimits(Contract):
    """Every bound of one run. Bytes are UTF-8 bytes of serialised JSON; `_s` are seconds.

    The `reserved_*` parts of a limit are kept for evidence repair and the semantic guard.
    """

    query_bytes: int = Field(default=8_192, gt=0)
    previous_turn_bytes: int = Field(default=16_384, gt=0)
    input_bytes: int = Field(default=32_768, gt=0)
    draft_bytes: int = Field(default=32_768, gt=0)

    model_calls: int = Field(default=12, gt=0)
    reserved_model_calls: int = Field(default=3, ge=0)
    tool_calls: int = Field(default=20, gt=0)
    tool_calls_per_tool: int = Field(default=10, gt=0)

    input_tokens: int = Field(default=600_000, gt=0)
    output_tokens: int = Field(default=100_000, gt=0)
    total_tokens: int = Field(default=700_000, gt=0)
    reserved_input_tokens: int = Field(default=150_000, ge=0)
    reserved_output_tokens: int = Field(default=24_000, ge=0)

    canonical_bytes: int = Field(default=1_048_576, gt=0)
    arguments_bytes: int = Field(default=8_192, gt=0)
    agent_result_bytes: int = Field(default=16_384, ge=1_024)
    review_bytes: int = Field(default=98_304, gt=0)

    deadline_s: float = Field(default=300, gt=0, allow_inf_nan=False)
    reserved_s: float = Field(default=60, ge=0, allow_inf_nan=False)
    model_timeout_s: float = Field(default=90, gt=0, allow_inf_nan=False)
    tool_timeout_s: float = Field(default=30, gt=0, allow_inf_nan=False)
    max_output_tokens: int = Field(default=8_000, gt=0)

    no_gain_limit: int = Field(default=3, gt=0)
    protocol_violation_limit: int = Field(default=3, gt=0)

    @model_validator(mode="after")
    def _reserves_below_totals(self) -> Self:
        pairs = (
            ("reserved_model_calls", "model_calls"),
            ("reserved_input_tokens", "input_tokens"),
            ("reserved_output_tokens", "output_tokens"),
            ("reserved_s", "deadline_s"),
        )
        for reserved, total in pairs:
            if getattr(self, reserved) >= getattr(self, total):
                raise ValueError(f"{reserved} must be below {total}")
        if self.reserved_input_tokens + self.reserved_output_tokens >= self.total_tokens:
            raise ValueError("the reserved tokens must be below total_tokens")
        needed = self.input_bytes + self.draft_bytes + self.agent_result_bytes
        if needed > self.canonical_bytes:
            raise ValueError("canonical_bytes must hold the input, one result and the draft")
        return self


class RunUsage(Contract):
    """What one run really consumed, beyond a limit where that is the truth."""

    model_calls: int = 0
    tool_calls: int = 0
    tool_calls_per_tool: dict[str, int] = Field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    calls_without_token_usage: int = Field(
        default=0, description="Model calls for which the provider reported no tokens."
    )
    canonical_bytes: int = 0
    seconds: float = 0.0
