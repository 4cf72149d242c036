"""Tool calls: their codes, the model's envelope, the canonical record, a tool's result."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import Field, JsonValue, model_validator

from diagnosis.contracts.base import Contract


class EvidenceStatus(StrEnum):
    """What a result means. NO_EVIDENCE never proves health and never rules a cause out."""

    EVIDENCE_FOUND = "EVIDENCE_FOUND"
    NO_EVIDENCE = "NO_EVIDENCE"
    ERROR = "ERROR"


class InvocationStatus(StrEnum):
    """Life of a recorded call; nothing changes after READY or ERROR."""

    PROJECTING = "PROJECTING"
    READY = "READY"
    ERROR = "ERROR"


class InformationGain(StrEnum):
    """Whether a result advanced the diagnosis."""

    GAINED = "GAINED"
    NO_GAIN = "NO_GAIN"


class ErrorCode(StrEnum):
    """Why a call brought no result. The last three stand in records only."""

    TOOL_NOT_ALLOWED = "TOOL_NOT_ALLOWED"
    TOOL_LIMIT_REACHED = "TOOL_LIMIT_REACHED"
    COLLECTION_STOPPED = "COLLECTION_STOPPED"
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    ARGUMENTS_TOO_LARGE = "ARGUMENTS_TOO_LARGE"
    QUERY_REJECTED = "QUERY_REJECTED"
    SOURCE_NOT_FOUND = "SOURCE_NOT_FOUND"
    TOOL_TIMEOUT = "TOOL_TIMEOUT"
    TOOL_UNAVAILABLE = "TOOL_UNAVAILABLE"
    TOOL_FAILED = "TOOL_FAILED"
    RESULT_INVALID = "RESULT_INVALID"

    PROTOCOL_VIOLATION = "PROTOCOL_VIOLATION"
    STOP_DELIVERED = "STOP_DELIVERED"
    ABORTED = "ABORTED"


class ViolationType(StrEnum):
    """How a call's envelope breaks the progress protocol."""

    MISSING_PREVIOUS_OBSERVATION = "MISSING_PREVIOUS_OBSERVATION"
    UNEXPECTED_PREVIOUS_OBSERVATION = "UNEXPECTED_PREVIOUS_OBSERVATION"
    OUT_OF_ORDER_PREVIOUS_OBSERVATION = "OUT_OF_ORDER_PREVIOUS_OBSERVATION"
    INVALID_INFORMATION_GAIN = "INVALID_INFORMATION_GAIN"
    MISSING_INPUT = "MISSING_INPUT"
    MALFORMED_ENVELOPE = "MALFORMED_ENVELOPE"


class QueryRejection(StrEnum):
    """Why a well-formed request is refused: the closed list of QUERY_REJECTED reasons."""

    SYNTAX_ERROR = "SYNTAX_ERROR"
    MULTIPLE_STATEMENTS = "MULTIPLE_STATEMENTS"
    STATEMENT_NOT_ALLOWED = "STATEMENT_NOT_ALLOWED"
    FUNCTION_NOT_ALLOWED = "FUNCTION_NOT_ALLOWED"
    COMMENT_NOT_ALLOWED = "COMMENT_NOT_ALLOWED"
    SCHEMA_NOT_ALLOWED = "SCHEMA_NOT_ALLOWED"
    COLUMN_NOT_ALLOWED = "COLUMN_NOT_ALLOWED"
    UNKNOWN_TABLE = "UNKNOWN_TABLE"
    UNKNOWN_COLUMN = "UNKNOWN_COLUMN"
    QUERY_FAILED = "QUERY_FAILED"
    PATTERN_INVALID = "PATTERN_INVALID"
    PATTERN_TOO_EXPENSIVE = "PATTERN_TOO_EXPENSIVE"
    TIME_INVALID = "TIME_INVALID"
    WINDOW_INVALID = "WINDOW_INVALID"
    WINDOW_TOO_LARGE = "WINDOW_TOO_LARGE"
    RESULT_TOO_LARGE = "RESULT_TOO_LARGE"
    CURSOR_INVALID = "CURSOR_INVALID"
    COMBINATION_NOT_ALLOWED = "COMBINATION_NOT_ALLOWED"


class Truncation(StrEnum):
    """Why a result does not show everything that matched.

    ITEMS: the limit on the number of items. BYTES: the byte bound of what the model sees.
    SCAN: the source could not be searched to the end, so more may match.
    """

    ITEMS = "ITEMS"
    BYTES = "BYTES"
    SCAN = "SCAN"


class EvidenceItem(Contract):
    """One piece of evidence.

    Attributes:
        identity: stable within the source: the same thing has the same identity in every call.
            Never shown to the model.
        fields: what the model may see.
    """

    identity: str = Field(min_length=1)
    fields: dict[str, JsonValue]


class EvidenceResult(Contract):
    """What a tool brings back; no items means NO_EVIDENCE in this scope.

    Attributes:
        items: best or first ones first; the projection keeps as many as fit.
        scope: what was really searched (window with time zone, filters, limits), echoed always.
        matched: how many match in the scope, or null when that is not known.
        truncated: ITEMS when the tool left matching items out, SCAN when it could not search all.
    """

    items: tuple[EvidenceItem, ...] = ()
    scope: dict[str, JsonValue]
    matched: int | None = Field(default=None, ge=0)
    truncated: Truncation | None = None

    @model_validator(mode="after")
    def _matched_covers_items(self) -> Self:
        if self.matched is not None and self.matched < len(self.items):
            raise ValueError("matched is below the number of items")
        return self


class PreviousObservation(Contract):
    """The model's judgement of its latest result."""

    tool_call_id: str
    information_gain: InformationGain = Field(
        description="GAINED if that result advanced the diagnosis, else NO_GAIN."
    )


class ToolCall(Contract):
    """One call as the framework hands it to the boundary.

    Attributes:
        tool_call_id: the framework's id, the only one there is.
        tool_name: the name the model used.
        arguments: the raw JSON text the model sent.
        model_step: which model response of the run it belongs to, counted from 1.
    """

    tool_call_id: str
    tool_name: str
    arguments: str
    model_step: int = Field(ge=1)


class ToolAnswer(Contract):
    """What the boundary answers: the text the model sees, and what it means.

    Attributes:
        text: exactly the bytes the model is shown.
        evidence_status: its meaning.
        error_code: set for errors (PROTOCOL_VIOLATION for a repair).
    """

    text: str
    evidence_status: EvidenceStatus
    error_code: ErrorCode | None = None


class ToolInvocation(Contract):
    """The canonical record of one call: the bounded, redacted truth the model was shown.

    Attributes:
        arguments: the redacted JSON text of the call.
        arguments_sha256: of the arguments as sent.
        fingerprint: sha256 of the normalised tool and scope; null where there is none.
        projection: the text the model was shown.
        reference: true for knowledge, which alone never carries a conclusion.
        judged_tool_call_id, judged_gain: this call's judgement of that earlier result.
    """

    run_id: str
    tool_call_id: str
    sequence: int
    model_step: int
    tool_name: str
    plugin: str | None = None
    arguments: str
    arguments_sha256: str
    fingerprint: str | None = None
    status: InvocationStatus
    evidence_status: EvidenceStatus | None = None
    error_code: ErrorCode | None = None
    projection: str | None = None
    projection_sha256: str | None = None
    projection_bytes: int | None = None
    reference: bool = False
    started_at: datetime
    finished_at: datetime | None = None
    mechanical_gain: InformationGain | None = None
    judged_tool_call_id: str | None = None
    judged_gain: InformationGain | None = None
