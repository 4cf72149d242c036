"""The progress snapshot: what a run checked and found, projected once from its records."""

from __future__ import annotations

from datetime import datetime

from pydantic import JsonValue

from diagnosis.contracts.base import Contract
from diagnosis.contracts.evidence import ErrorCode, EvidenceStatus
from diagnosis.contracts.run import StopReason


class CheckedScope(Contract):
    """One call: what was searched, and whether something was found, nothing, or it failed.

    Attributes:
        scope: the effective scope; null for a call that never reached its source.
        truncated: why the result is not complete, or null.
    """

    tool_call_id: str
    tool_name: str
    evidence_status: EvidenceStatus
    error_code: ErrorCode | None = None
    scope: dict[str, JsonValue] | None = None
    matched: int | None = None
    shown: int = 0
    truncated: str | None = None
    finished_at: datetime | None = None


class VerifiedFact(Contract):
    """An excerpt of a found result: an item exactly as the model was shown it, bounded.

    Attributes:
        reference: true for knowledge, which is guidance and not an observation of this incident.
    """

    tool_call_id: str
    tool_name: str
    excerpt: str
    reference: bool = False


class ProgressSnapshot(Contract):
    """The bounded view that release and fallback texts are built from."""

    checked_scopes: tuple[CheckedScope, ...] = ()
    facts: tuple[VerifiedFact, ...] = ()
    found: int = 0
    not_found: int = 0
    failed: int = 0
    stop_reason: StopReason | None = None
