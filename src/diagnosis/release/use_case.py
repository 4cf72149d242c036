"""The one decision on what a run may publish: a pure function of draft, records and loop end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from diagnosis.agent.use_case import LoopEnd
from diagnosis.contracts.draft import DiagnosisDraft
from diagnosis.contracts.evidence import EvidenceStatus, InvocationStatus, ToolInvocation
from diagnosis.contracts.progress import ProgressSnapshot, VerifiedFact
from diagnosis.contracts.release import (
    Checks,
    CheckStatus,
    Fallback,
    FallbackType,
    MissingEvidence,
    Release,
    Verification,
    ViolationCode,
)
from diagnosis.contracts.run import EndReason, RunStatus, RunUsage, StopReason
from diagnosis.guards.evidence_guard import check_draft
from diagnosis.release.markdown import fallback_markdown, report_markdown
from diagnosis.release.report import build_report
from diagnosis.release.snapshot import quoted_facts, take_snapshot

_CITATION_CODES = frozenset(ViolationCode) - {
    ViolationCode.QUOTE_MISSING,
    ViolationCode.QUOTE_NOT_BOUND,
    ViolationCode.QUOTE_NOT_FOUND,
    ViolationCode.VALUE_NOT_FOUND,
}
_QUOTE_CODES = frozenset(
    {
        ViolationCode.QUOTE_MISSING,
        ViolationCode.QUOTE_NOT_BOUND,
        ViolationCode.QUOTE_NOT_FOUND,
    }
)
_ALWAYS_FAILED = frozenset({EndReason.OBSERVER_FAILED, EndReason.STORE_FAILED})
_OUT_OF_BUDGET = frozenset(
    {EndReason.TIMED_OUT, EndReason.BUDGET_EXHAUSTED, EndReason.BUDGET_LIMIT_REACHED}
)
_STOPPED = frozenset({EndReason.INFORMATION_SATURATED, EndReason.PROGRESS_PROTOCOL_VIOLATED})


@dataclass(frozen=True, slots=True)
class ReleaseInput:
    """All that release decides on.

    Attributes:
        invocations: all records of the run, by sequence.
        model: the model's name, as shown.
        rule_based: whether that model is rules and no language model.
        tools: names of the evidence tools that the run could have used.
    """

    run_id: str
    query: str
    loop: LoopEnd
    invocations: Sequence[ToolInvocation]
    stop_reason: StopReason | None
    usage: RunUsage
    tools: Sequence[str]
    model: str
    rule_based: bool


@dataclass(frozen=True, slots=True)
class ReleaseDecision:
    """What is published, and under which status."""

    status: RunStatus
    end_reason: EndReason | None
    progress: ProgressSnapshot
    release: Release | None = None
    checks: Checks = field(default_factory=Checks)
    verification: Verification | None = None


def decide_release(given: ReleaseInput) -> ReleaseDecision:
    """Apply the outcome table of the contracts."""
    progress = take_snapshot(given.invocations, given.stop_reason)
    draft, reason = given.loop.draft, given.loop.end_reason
    if draft is not None and draft.conclusion is not None:
        return _with_conclusion(given, draft, progress)
    if draft is not None:
        return _without_conclusion(given, draft, progress)
    if reason is EndReason.CANCELLED:
        return ReleaseDecision(RunStatus.CANCELLED, reason, progress)
    any_ready = any(record.status is InvocationStatus.READY for record in given.invocations)
    if reason in _ALWAYS_FAILED or not any_ready:
        return ReleaseDecision(RunStatus.FAILED, reason, progress)
    if reason in _OUT_OF_BUDGET:
        return _fallback(given, progress, FallbackType.BUDGET_EXHAUSTED)
    if reason in _STOPPED or progress.facts:
        return _fallback(given, progress, FallbackType.INSUFFICIENT_EVIDENCE)
    # a refused draft or an unavailable model, and nothing found that could be told
    return ReleaseDecision(RunStatus.FAILED, reason, progress)


def _without_conclusion(
    given: ReleaseInput, draft: DiagnosisDraft, progress: ProgressSnapshot
) -> ReleaseDecision:
    """Of the draft only quotes that the guard found appear; they come before the other facts."""
    verification = check_draft(draft, given.invocations, run_id=given.run_id)
    quoted = quoted_facts(draft, verification, given.invocations)
    asks = any(limitation.ask_user for limitation in draft.limitations)
    ready = any(record.status is InvocationStatus.READY for record in given.invocations)
    return _fallback(
        given,
        progress,
        FallbackType.INSUFFICIENT_EVIDENCE
        if ready and not asks
        else FallbackType.MISSING_REQUIRED_CONTEXT,
        facts=quoted or progress.facts,
        verification=verification,
    )


def _with_conclusion(
    given: ReleaseInput, draft: DiagnosisDraft, progress: ProgressSnapshot
) -> ReleaseDecision:
    verification = check_draft(draft, given.invocations, run_id=given.run_id)
    checks = _checks(verification)
    if not verification.accepted:
        return _fallback(
            given,
            progress,
            FallbackType.EVIDENCE_VERIFICATION_FAILED,
            checks=checks,
            verification=verification,
        )
    report = build_report(
        draft,
        verification,
        given.invocations,
        query=given.query,
        model=given.model,
        rule_based=given.rule_based,
    )
    fallback = Fallback(
        type=FallbackType.UNVERIFIED,
        checked_scopes=progress.checked_scopes,
        facts=progress.facts,
        missing=_missing(given, progress),
    )
    release = Release(
        report=report,
        fallback=fallback,
        markdown=report_markdown(report, fallback, checks, given.usage),
    )
    return ReleaseDecision(RunStatus.FALLBACK, None, progress, release, checks, verification)


def _fallback(
    given: ReleaseInput,
    progress: ProgressSnapshot,
    fallback_type: FallbackType,
    *,
    facts: tuple[VerifiedFact, ...] | None = None,
    checks: Checks | None = None,
    verification: Verification | None = None,
) -> ReleaseDecision:
    fallback = Fallback(
        type=fallback_type,
        checked_scopes=progress.checked_scopes,
        facts=progress.facts if facts is None else facts,
        missing=_missing(given, progress),
    )
    markdown = fallback_markdown(
        given.query,
        fallback,
        given.usage,
        rule_based=given.rule_based,
        end_reason=given.loop.end_reason,
        detail=given.loop.detail,
    )
    return ReleaseDecision(
        RunStatus.FALLBACK,
        given.loop.end_reason,
        progress,
        Release(fallback=fallback, markdown=markdown),
        checks or Checks(),
        verification,
    )


def _missing(given: ReleaseInput, progress: ProgressSnapshot) -> tuple[MissingEvidence, ...]:
    """Calls that found nothing or failed, then the tools that were never called."""
    used = {scope.tool_name for scope in progress.checked_scopes}
    return (
        *(
            MissingEvidence(
                tool_name=scope.tool_name, error_code=scope.error_code, scope=scope.scope
            )
            for scope in progress.checked_scopes
            if scope.evidence_status is not EvidenceStatus.EVIDENCE_FOUND
        ),
        *(
            MissingEvidence(tool_name=name, error_code=None, scope=None)
            for name in given.tools
            if name not in used
        ),
    )


def _checks(verification: Verification) -> Checks:
    codes = {violation.code for violation in verification.violations}
    return Checks(
        citations=CheckStatus.FAILED if codes & _CITATION_CODES else CheckStatus.PASSED,
        quotes=CheckStatus.FAILED if codes & _QUOTE_CODES else CheckStatus.PASSED,
    )
