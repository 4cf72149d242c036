"""What holds for every draft and every set of records, sound or not."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from diagnosis.contracts.draft import (
    Action,
    AnalysisItem,
    Conclusion,
    DiagnosisDraft,
    Limitation,
    Quote,
    StatementKind,
)
from diagnosis.contracts.evidence import EvidenceStatus, InvocationStatus, ToolInvocation
from diagnosis.guards.evidence_guard import check_draft

IDS = st.sampled_from(["a", "b", "c", "d", ""])
RUNS = st.sampled_from(["mine", "mine", "mine", "other"])
TEXTS = st.sampled_from(
    ["request timed out", "连接池已耗尽", "[REDACTED:jwt]", "\ud800 alone", "503"]
) | st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def _projections(draw: st.DrawFn, tool_call_id: str) -> str | None:
    items = draw(st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), max_size=3))
    result: dict[str, Any] = {
        "tool_call_id": tool_call_id,
        "evidence_status": "EVIDENCE_FOUND" if items else "NO_EVIDENCE",
        "scope": {},
        "items": items,
        "truncated": draw(st.sampled_from([None, None, "SCAN"])),
    }
    if draw(st.integers(0, 5)) == 0:
        result[draw(st.sampled_from(list(result)))] = draw(VALUES)
    text = json.dumps(result, ensure_ascii=draw(st.booleans()))
    return draw(st.sampled_from([text] * 6 + [text[:-3], "", None]) | st.text(max_size=9))


@st.composite
def _invocations(draw: st.DrawFn) -> ToolInvocation:
    tool_call_id = draw(IDS)
    projection = draw(_projections(tool_call_id))
    fitting = hashlib.sha256((projection or "").encode(errors="surrogatepass")).hexdigest()
    found = '"EVIDENCE_FOUND"' in (projection or "")
    status = EvidenceStatus.EVIDENCE_FOUND if found else EvidenceStatus.NO_EVIDENCE
    return ToolInvocation(
        run_id=draw(RUNS),
        tool_call_id=tool_call_id,
        sequence=draw(st.integers(1, 9)),
        model_step=1,
        tool_name="query_logs",
        arguments="{}",
        arguments_sha256="",
        status=draw(st.sampled_from([InvocationStatus.READY] * 4 + list(InvocationStatus))),
        evidence_status=draw(st.sampled_from([status] * 6 + [None, *EvidenceStatus])),
        projection=projection,
        projection_sha256=draw(st.sampled_from([fitting] * 6 + [None, "0"])),
        reference=draw(st.booleans()),
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


RECORDS = st.lists(
    _invocations(), max_size=6, unique_by=lambda each: (each.run_id, each.tool_call_id)
)
DRAFTS = st.builds(
    DiagnosisDraft,
    conclusion=st.none() | st.builds(Conclusion, root_cause=TEXTS),
    analysis=st.lists(
        st.builds(
            AnalysisItem,
            statement=TEXTS,
            tool_call_ids=st.lists(IDS, min_size=1, max_size=4, unique=True).map(tuple),
            quotes=st.lists(st.builds(Quote, tool_call_id=IDS, text=TEXTS), max_size=3).map(tuple),
        ),
        max_size=5,
    ).map(tuple),
    limitations=st.lists(st.builds(Limitation), max_size=1).map(tuple),
    recommended_actions=st.lists(st.builds(Action), max_size=1).map(tuple),
)


@given(DRAFTS, RECORDS)
def test_every_draft_gets_a_verdict_and_always_the_same(
    draft: DiagnosisDraft, records: list[ToolInvocation]
) -> None:
    verification = check_draft(draft, records, run_id="mine")

    targets: list[str | int] = list(range(len(draft.analysis)))
    if draft.conclusion is not None:
        targets.append("conclusion")
    assert [verdict.target for verdict in verification.verdicts] == targets
    faulty = {violation.target for violation in verification.violations}
    assert [verdict.passed for verdict in verification.verdicts] == [
        target not in faulty for target in targets
    ]
    assert verification.accepted is (not verification.violations)
    assert check_draft(draft, records, run_id="mine") == verification
    assert check_draft(draft, records[::-1], run_id="mine") == verification


@given(DRAFTS, RECORDS)
def test_what_passes_cites_finished_results_of_its_own_run_only(
    draft: DiagnosisDraft, records: list[ToolInvocation]
) -> None:
    verification = check_draft(draft, records, run_id="mine")
    own = {record.tool_call_id: record for record in records if record.run_id == "mine"}
    for statement, verdict in zip(draft.analysis, verification.verdicts, strict=False):
        if not verdict.passed:
            continue
        cited = [own[tool_call_id] for tool_call_id in statement.tool_call_ids]
        assert {record.status for record in cited} == {InvocationStatus.READY}
        statuses = {record.evidence_status for record in cited}
        match statement.kind:
            case StatementKind.OBSERVATION:
                assert statuses == {EvidenceStatus.EVIDENCE_FOUND}
                assert statement.quotes
            case StatementKind.NEGATIVE_OBSERVATION:
                assert statuses == {EvidenceStatus.NO_EVIDENCE}
                assert not statement.quotes
            case StatementKind.INFERENCE:
                assert EvidenceStatus.EVIDENCE_FOUND in statuses
        assert {quote.tool_call_id for quote in statement.quotes} <= set(statement.tool_call_ids)
