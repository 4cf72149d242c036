"""Builders of records and drafts, and one question: can this be quoted from these items?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from diagnosis.contracts.draft import (
    AnalysisItem,
    Conclusion,
    Confidence,
    DiagnosisDraft,
    FaultCategory,
    Quote,
    StatementKind,
)
from diagnosis.contracts.evidence import EvidenceStatus, InvocationStatus, ToolInvocation
from diagnosis.guards.evidence_guard import check_draft

RUN = "run-1"


def _projection(
    tool_call_id: str, items: Sequence[Any], *, truncated: str | None = None, **changes: Any
) -> str:
    result = {
        "tool_call_id": tool_call_id,
        "evidence_status": "EVIDENCE_FOUND" if items else "NO_EVIDENCE",
        "scope": {"source": "checkout.log"},
        "items": list(items),
        "matched": len(items),
        "shown": len(items),
        "truncated": truncated,
    }
    return json.dumps(result | changes, ensure_ascii=False, separators=(",", ":"))


def _record(
    tool_call_id: str, items: Sequence[Any] = (), *, truncated: str | None = None, **changes: Any
) -> ToolInvocation:
    """A READY record; `changes` replace its columns, `projection` with a sha256 that fits."""
    text = changes.pop("projection", _projection(tool_call_id, items, truncated=truncated))
    sha256 = None if text is None else hashlib.sha256(text.encode()).hexdigest()
    columns: dict[str, Any] = {
        "run_id": RUN,
        "tool_call_id": tool_call_id,
        "sequence": 1,
        "model_step": 1,
        "tool_name": "query_logs",
        "arguments": "{}",
        "arguments_sha256": "0" * 64,
        "status": InvocationStatus.READY,
        "evidence_status": (EvidenceStatus.EVIDENCE_FOUND if items else EvidenceStatus.NO_EVIDENCE),
        "projection": text,
        "projection_sha256": sha256,
        "started_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    return ToolInvocation(**columns | changes)


def _statement(
    kind: str, tool_call_ids: Sequence[str], quotes: Sequence[tuple[str, str]] = ()
) -> AnalysisItem:
    return AnalysisItem(
        kind=StatementKind(kind),
        statement="what is claimed",
        tool_call_ids=tuple(tool_call_ids),
        quotes=tuple(Quote(tool_call_id=each, text=text) for each, text in quotes),
    )


def _draft(*statements: AnalysisItem, root_cause: str | None = None) -> DiagnosisDraft:
    conclusion = root_cause and Conclusion(
        root_cause=root_cause,
        fault_category=FaultCategory.CODE,
        fault_source=None,
        fault_target=None,
        confidence=Confidence.HIGH,
    )
    return DiagnosisDraft(
        conclusion=conclusion or None, analysis=statements, limitations=(), recommended_actions=()
    )


def _can_quote(items: Sequence[Any], quote: str) -> bool:
    draft = _draft(_statement("OBSERVATION", ["call"], [("call", quote)]))
    verification = check_draft(draft, [_record("call", items)], run_id=RUN)
    codes = [violation.code for violation in verification.violations]
    assert codes in ([], ["QUOTE_NOT_FOUND"])
    return not codes


@pytest.fixture(scope="session")
def run_id() -> str:
    return RUN


@pytest.fixture(scope="session")
def projection() -> Callable[..., str]:
    return _projection


@pytest.fixture(scope="session")
def record() -> Callable[..., ToolInvocation]:
    return _record


@pytest.fixture(scope="session")
def statement() -> Callable[..., AnalysisItem]:
    return _statement


@pytest.fixture(scope="session")
def draft() -> Callable[..., DiagnosisDraft]:
    return _draft


@pytest.fixture(scope="session")
def can_quote() -> Callable[[Sequence[Any], str], bool]:
    return _can_quote
