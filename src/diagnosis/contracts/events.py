"""What happens in a run, as typed events. Identities, states, times and sizes: never content."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from diagnosis.contracts.base import Contract
from diagnosis.contracts.evidence import ErrorCode, EvidenceStatus
from diagnosis.contracts.run import DraftFailure, EndReason, RunStatus, RunUsage, StopReason


class _Event(Contract):
    run_id: str
    at: datetime


class RunStarted(_Event):
    """The run exists; nothing has been asked yet."""

    type: Literal["RunStarted"] = "RunStarted"
    session_id: str
    tools: tuple[str, ...]
    model: str


class ModelCallStarted(_Event):
    """One request to the model is about to be sent."""

    type: Literal["ModelCallStarted"] = "ModelCallStarted"
    step: int


class ModelCallFinished(_Event):
    """The model answered. Token counts are null where the provider reported none."""

    type: Literal["ModelCallFinished"] = "ModelCallFinished"
    step: int
    input_tokens: int | None
    output_tokens: int | None
    tool_calls: int
    seconds: float


class ToolCallStarted(_Event):
    """The boundary took a call."""

    type: Literal["ToolCallStarted"] = "ToolCallStarted"
    step: int
    tool_call_id: str
    tool_name: str


class ToolCallFinished(_Event):
    """The boundary answered a call."""

    type: Literal["ToolCallFinished"] = "ToolCallFinished"
    step: int
    tool_call_id: str
    tool_name: str
    evidence_status: EvidenceStatus
    error_code: ErrorCode | None
    matched: int | None
    shown: int | None
    projection_bytes: int
    seconds: float


class ToolCallAborted(_Event):
    """A call ended without an answer: cancelled, or the run's time was over."""

    type: Literal["ToolCallAborted"] = "ToolCallAborted"
    step: int
    tool_call_id: str
    tool_name: str


class CollectionStopped(_Event):
    """No further evidence is collected in this run."""

    type: Literal["CollectionStopped"] = "CollectionStopped"
    reason: StopReason


class DraftReceived(_Event):
    """The model's final answer satisfies the draft contract."""

    type: Literal["DraftReceived"] = "DraftReceived"
    draft_bytes: int
    statements: int
    has_conclusion: bool


class DraftRefused(_Event):
    """The model's final answer breaks the draft contract and is discarded."""

    type: Literal["DraftRefused"] = "DraftRefused"
    failure: DraftFailure


class GuardFinished(_Event):
    """The evidence guard judged a draft."""

    type: Literal["GuardFinished"] = "GuardFinished"
    accepted: bool
    violations: tuple[str, ...]


class RepairFinished(_Event):
    """The one evidence repair ended."""

    type: Literal["RepairFinished"] = "RepairFinished"
    accepted: bool


class SemanticCheckFinished(_Event):
    """The semantic guard judged a draft, or could not."""

    type: Literal["SemanticCheckFinished"] = "SemanticCheckFinished"
    supported: bool | None


class Released(_Event):
    """Release decided what may be published."""

    type: Literal["Released"] = "Released"
    status: RunStatus
    fallback_type: str | None


class RunEnded(_Event):
    """The last event of every run."""

    type: Literal["RunEnded"] = "RunEnded"
    status: RunStatus
    end_reason: EndReason | None
    usage: RunUsage


RunEvent = (
    RunStarted
    | ModelCallStarted
    | ModelCallFinished
    | ToolCallStarted
    | ToolCallFinished
    | ToolCallAborted
    | CollectionStopped
    | DraftReceived
    | DraftRefused
    | GuardFinished
    | RepairFinished
    | SemanticCheckFinished
    | Released
    | RunEnded
)
