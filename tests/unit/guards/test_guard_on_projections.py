"""The guard on what the harness really shows: redacted, cut to its bytes, empty."""

from __future__ import annotations

from typing import Any

import pytest

from diagnosis.contracts.evidence import EvidenceItem, EvidenceResult, EvidenceStatus, Truncation
from diagnosis.guards.evidence_guard import check_draft
from diagnosis.harness.projection import project


def _codes(
    record: Any, statement: Any, draft: Any, run_id: str, result: EvidenceResult, *quotes: str
) -> list[str]:
    shown = project(result, tool_call_id="call", limit=1_024, stop_required=True)
    recorded = record("call", projection=shown.text, evidence_status=shown.evidence_status)
    found = shown.evidence_status is EvidenceStatus.EVIDENCE_FOUND
    kind = "OBSERVATION" if found else "NEGATIVE_OBSERVATION"
    judged = draft(statement(kind, ["call"], [("call", quote) for quote in quotes]))
    verification = check_draft(judged, [recorded], run_id=run_id)
    return [violation.code for violation in verification.violations]


def _lines(*messages: str) -> EvidenceResult:
    items = [
        EvidenceItem(identity=str(number), fields={"line": number, "message": message})
        for number, message in enumerate(messages, 1)
    ]
    return EvidenceResult(items=tuple(items), scope={"source": "checkout.log"})


@pytest.mark.parametrize(
    ("quote", "codes"),
    [
        ('said "no such\ncolumn" 三次', []),
        ('said \\"no such\\ncolumn\\" 三次', []),
        ('{"line":1,"message":"it said', []),
        ("logged in with", []),
        ("hunter2hunter2", ["QUOTE_NOT_FOUND"]),
        ("password=[REDACTED:password]", ["QUOTE_NOT_FOUND"]),
        ("REDACTED:password", ["QUOTE_NOT_FOUND"]),
    ],
)
def test_quotes_come_from_the_redacted_text(
    record: Any, statement: Any, draft: Any, run_id: str, quote: str, codes: list[str]
) -> None:
    result = _lines(
        'it said "no such\ncolumn" 三次', "bob logged in with password=hunter2hunter2 today"
    )
    assert _codes(record, statement, draft, run_id, result, quote) == codes


def test_what_was_cut_off_cannot_be_quoted(
    record: Any, statement: Any, draft: Any, run_id: str
) -> None:
    result = _lines("shown at the front, " + "x" * 4_000 + ", lost at the end")
    assert _codes(record, statement, draft, run_id, result, "shown at the front") == []
    lost = _codes(record, statement, draft, run_id, result, "lost at the end")
    assert lost == ["QUOTE_NOT_FOUND"]


@pytest.mark.parametrize(
    ("truncated", "codes"), [(None, []), (Truncation.SCAN, ["TRUNCATED_NEGATIVE"])]
)
def test_an_empty_result_shows_absence_only_where_all_was_searched(
    record: Any,
    statement: Any,
    draft: Any,
    run_id: str,
    truncated: Truncation | None,
    codes: list[str],
) -> None:
    result = EvidenceResult(scope={"source": "checkout.log"}, truncated=truncated)
    assert _codes(record, statement, draft, run_id, result) == codes
