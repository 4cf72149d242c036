"""What leaves a run: the guard's verification, the report, the fallback, the outcome."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from diagnosis.contracts.base import Contract
from diagnosis.contracts.draft import (
    Action,
    Conclusion,
    DiagnosisDraft,
    Limitation,
    StatementKind,
)
from diagnosis.contracts.evidence import ErrorCode, EvidenceStatus
from diagnosis.contracts.progress import CheckedScope, ProgressSnapshot, VerifiedFact
from diagnosis.contracts.run import EndReason, RunStatus, RunUsage


class ViolationCode(StrEnum):
    """The evidence guard's violations."""

    UNKNOWN_TOOL_CALL_ID = "UNKNOWN_TOOL_CALL_ID"
    FOREIGN_RUN = "FOREIGN_RUN"
    INVOCATION_NOT_READY = "INVOCATION_NOT_READY"
    INVOCATION_ERROR = "INVOCATION_ERROR"
    PROJECTION_TAMPERED = "PROJECTION_TAMPERED"
    NO_EVIDENCE_CITED_AS_EVIDENCE = "NO_EVIDENCE_CITED_AS_EVIDENCE"
    NEGATIVE_OBSERVATION_WITHOUT_EMPTY_RESULT = "NEGATIVE_OBSERVATION_WITHOUT_EMPTY_RESULT"
    TRUNCATED_NEGATIVE = "TRUNCATED_NEGATIVE"
    QUOTE_MISSING = "QUOTE_MISSING"
    QUOTE_NOT_BOUND = "QUOTE_NOT_BOUND"
    QUOTE_NOT_FOUND = "QUOTE_NOT_FOUND"
    VALUE_NOT_FOUND = "VALUE_NOT_FOUND"
    CONCLUSION_WITHOUT_EVIDENCE = "CONCLUSION_WITHOUT_EVIDENCE"


class ValueSupport(StrEnum):
    """How a stated value is supported by evidence."""

    EXACT = "EXACT"
    COMPARED = "COMPARED"
    GIVEN = "GIVEN"
    DERIVED = "DERIVED"


class SupportedValue(Contract):
    """A value stated in the draft, and its support."""

    text: str
    support: ValueSupport


class Violation(Contract):
    """One rule that a draft breaks.

    Attributes:
        target: "conclusion", or the index of the statement in `analysis`.
        detail: the offending id, quote or value.
    """

    code: ViolationCode
    target: str | int
    detail: str


class Verdict(Contract):
    """The guard's judgement of the conclusion or of one statement."""

    target: str | int
    passed: bool
    values: tuple[SupportedValue, ...] = ()


class Verification(Contract):
    """The guard's judgement of a whole draft; accepted means no violation."""

    accepted: bool
    verdicts: tuple[Verdict, ...]
    violations: tuple[Violation, ...]


class Citation(Contract):
    """A numbered reference from a statement to the call it rests on.

    Attributes:
        number: unique in the report; one number per call.
        quote: verbatim from that result, or null.
        scope: what that call really searched.
        at: when the call finished.
    """

    number: int
    tool_call_id: str
    tool_name: str
    evidence_status: EvidenceStatus
    quote: str | None
    scope: dict[str, JsonValue]
    at: datetime


class StatementVerdict(StrEnum):
    """What the checks that ran say of a statement."""

    PASSED = "PASSED"
    FAILED = "FAILED"


class ReportStatement(Contract):
    """One statement of the analysis with its citations."""

    kind: StatementKind
    statement: str
    citations: tuple[Citation, ...]
    verdict: StatementVerdict


class CheckStatus(StrEnum):
    """Whether a check ran on this run's draft, and what it found."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    NOT_RUN = "NOT_RUN"


class Checks(Contract):
    """Which checks stand behind what is shown.

    Attributes:
        citations: every cited id is a finished call of this run.
        quotes: every quote stands verbatim in the result it cites.
        values: every number, time and identifier stands in the cited results.
        semantic_check: the semantic guard's verdict.
    """

    citations: CheckStatus = CheckStatus.NOT_RUN
    quotes: CheckStatus = CheckStatus.NOT_RUN
    values: CheckStatus = CheckStatus.NOT_RUN
    semantic_check: CheckStatus = CheckStatus.NOT_RUN


class Report(Contract):
    """A diagnosis as it is shown: conclusion first, each statement with its evidence.

    Attributes:
        rule_based: true when the offline rules wrote it and no language model did.
        actions: proposals only; nothing is executed.
    """

    query: str
    model: str
    rule_based: bool
    conclusion: Conclusion | None
    statements: tuple[ReportStatement, ...]
    limitations: tuple[Limitation, ...]
    actions: tuple[Action, ...]


class FallbackType(StrEnum):
    """Why no diagnosis was published. UNVERIFIED goes when the evidence guard is complete."""

    INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"
    MISSING_REQUIRED_CONTEXT = "MISSING_REQUIRED_CONTEXT"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    EVIDENCE_VERIFICATION_FAILED = "EVIDENCE_VERIFICATION_FAILED"
    SEMANTIC_VERIFICATION_FAILED = "SEMANTIC_VERIFICATION_FAILED"
    UNVERIFIED = "UNVERIFIED"


class MissingEvidence(Contract):
    """A call that brought nothing to reason from, or a tool that was never called.

    Attributes:
        error_code: why the call failed; null where it ran and nothing matched.
        scope: what was searched; null for a failed call and for a tool that was never called.
    """

    tool_name: str
    error_code: ErrorCode | None
    scope: dict[str, JsonValue] | None


class Fallback(Contract):
    """The honest answer where there is no diagnosis: what was checked, found and is missing.

    No model writes any of it. Of a draft, only quotes of statements that passed the guard appear.
    """

    type: FallbackType
    checked_scopes: tuple[CheckedScope, ...]
    facts: tuple[VerifiedFact, ...]
    missing: tuple[MissingEvidence, ...]


class Release(Contract):
    """What may be shown: a report, a fallback, or (while UNVERIFIED exists) both."""

    report: Report | None = None
    fallback: Fallback | None = None
    markdown: str


class DiagnosisOutcome(Contract):
    """How a run ended.

    Attributes:
        release: null for FAILED and CANCELLED runs.
        draft: the agent's draft, only on SUCCESS.
        detail: one line for the user where something technical ended the run.
    """

    run_id: str
    status: RunStatus
    end_reason: EndReason | None = None
    release: Release | None = None
    draft: DiagnosisDraft | None = None
    checks: Checks = Field(default_factory=Checks)
    usage: RunUsage
    progress: ProgressSnapshot
    detail: str | None = None
