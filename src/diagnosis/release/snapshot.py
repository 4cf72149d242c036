"""The progress snapshot: projected once, at the end, from the canonical records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from diagnosis.contracts.draft import DiagnosisDraft, StatementKind
from diagnosis.contracts.evidence import EvidenceStatus, InvocationStatus, ToolInvocation
from diagnosis.contracts.progress import CheckedScope, ProgressSnapshot, VerifiedFact
from diagnosis.contracts.release import Verification
from diagnosis.contracts.run import StopReason

_FACTS_PER_CALL = 3
_FACTS = 20
_EXCERPT_CHARACTERS = 400
_TEXT_FIELDS = ("text", "example", "excerpt", "message")
"""Fields in which tools put the passage itself; other items are shown as JSON."""


def take_snapshot(
    invocations: Sequence[ToolInvocation], stop_reason: StopReason | None
) -> ProgressSnapshot:
    """What was checked and found in a run.

    Args:
        invocations: all records of the run, by sequence.
        stop_reason: why the harness stopped collecting, if it did.
    """
    shown = [(record, shown_result(record)) for record in invocations]
    scopes = tuple(_checked_scope(record, result) for record, result in shown)
    statuses = [scope.evidence_status for scope in scopes]
    return ProgressSnapshot(
        checked_scopes=scopes,
        facts=_facts(shown),
        found=statuses.count(EvidenceStatus.EVIDENCE_FOUND),
        not_found=statuses.count(EvidenceStatus.NO_EVIDENCE),
        failed=statuses.count(EvidenceStatus.ERROR),
        stop_reason=stop_reason,
    )


def shown_result(record: ToolInvocation) -> dict[str, Any]:
    """The result a READY record's projection holds; empty for every other record."""
    if record.status is not InvocationStatus.READY or record.projection is None:
        return {}
    value = json.loads(record.projection)
    return value if isinstance(value, dict) else {}


def quoted_facts(
    draft: DiagnosisDraft, verification: Verification, invocations: Sequence[ToolInvocation]
) -> tuple[VerifiedFact, ...]:
    """The quotes of a draft's OBSERVATIONs that passed the evidence guard, in the draft's order."""
    records = {record.tool_call_id: record for record in invocations}
    passed = {verdict.target for verdict in verification.verdicts if verdict.passed}
    facts = [
        VerifiedFact(
            tool_call_id=quote.tool_call_id,
            tool_name=records[quote.tool_call_id].tool_name,
            excerpt=quote.text,
            reference=records[quote.tool_call_id].reference,
        )
        for index, item in enumerate(draft.analysis)
        if item.kind is StatementKind.OBSERVATION and index in passed
        for quote in item.quotes
    ]
    return tuple(dict.fromkeys(facts))[:_FACTS]


def _checked_scope(record: ToolInvocation, result: dict[str, Any]) -> CheckedScope:
    return CheckedScope(
        tool_call_id=record.tool_call_id,
        tool_name=record.tool_name,
        # a call that never finished brought nothing
        evidence_status=record.evidence_status or EvidenceStatus.ERROR,
        error_code=record.error_code,
        scope=result.get("scope"),
        matched=result.get("matched"),
        shown=result.get("shown", 0),
        truncated=result.get("truncated"),
        finished_at=record.finished_at,
    )


def _facts(shown: Iterable[tuple[ToolInvocation, dict[str, Any]]]) -> tuple[VerifiedFact, ...]:
    """Observations first; reference knowledge fills what room is left."""
    facts = [
        VerifiedFact(
            tool_call_id=record.tool_call_id,
            tool_name=record.tool_name,
            excerpt=_excerpt(item),
            reference=record.reference,
        )
        for record, result in shown
        if record.evidence_status is EvidenceStatus.EVIDENCE_FOUND
        for item in result.get("items", ())[:_FACTS_PER_CALL]
    ]
    facts.sort(key=lambda fact: fact.reference)
    return tuple(facts[:_FACTS])


def _excerpt(item: dict[str, Any]) -> str:
    text = next((item[key] for key in _TEXT_FIELDS if isinstance(item.get(key), str)), None)
    if text is None:
        text = json.dumps(item, ensure_ascii=False, separators=(", ", ": "))
    return text if len(text) <= _EXCERPT_CHARACTERS else f"{text[:_EXCERPT_CHARACTERS]}…"
