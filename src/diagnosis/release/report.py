"""A verified draft as a report: each statement with numbered citations of the calls it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from diagnosis.contracts.draft import AnalysisItem, DiagnosisDraft
from diagnosis.contracts.evidence import EvidenceStatus, ToolInvocation
from diagnosis.contracts.release import (
    Citation,
    Report,
    ReportStatement,
    StatementVerdict,
    Verification,
)
from diagnosis.release.snapshot import shown_result


def build_report(
    draft: DiagnosisDraft,
    verification: Verification,
    invocations: Sequence[ToolInvocation],
    *,
    query: str,
    model: str,
    rule_based: bool,
) -> Report:
    """Resolve every citation of a draft.

    Args:
        verification: the evidence guard's judgement of this draft; it knows every cited id.
        invocations: all records of the run.
        rule_based: whether rules and no language model wrote the draft.
    """
    numbers: dict[str, int] = {}
    records = {record.tool_call_id: record for record in invocations}
    passed = {verdict.target: verdict.passed for verdict in verification.verdicts}
    statements = tuple(
        ReportStatement(
            kind=item.kind,
            statement=item.statement,
            citations=tuple(_citations(item, records, numbers)),
            verdict=StatementVerdict.PASSED if passed[index] else StatementVerdict.FAILED,
        )
        for index, item in enumerate(draft.analysis)
    )
    return Report(
        query=query,
        model=model,
        rule_based=rule_based,
        conclusion=draft.conclusion,
        statements=statements,
        limitations=draft.limitations,
        actions=draft.recommended_actions,
    )


def _citations(
    item: AnalysisItem, records: Mapping[str, ToolInvocation], numbers: dict[str, int]
) -> Iterator[Citation]:
    """One citation a quote, and one for each cited call without a quote."""
    for tool_call_id in item.tool_call_ids:
        number = numbers.setdefault(tool_call_id, len(numbers) + 1)
        quotes: list[str | None] = [
            quote.text for quote in item.quotes if quote.tool_call_id == tool_call_id
        ]
        for quote in quotes or [None]:
            yield _citation(records[tool_call_id], number, quote)


def _citation(record: ToolInvocation, number: int, quote: str | None) -> Citation:
    return Citation(
        number=number,
        tool_call_id=record.tool_call_id,
        tool_name=record.tool_name,
        evidence_status=record.evidence_status or EvidenceStatus.ERROR,
        quote=quote,
        scope=shown_result(record).get("scope", {}),
        at=record.finished_at or record.started_at,
    )
