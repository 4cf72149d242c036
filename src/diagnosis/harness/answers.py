"""What the boundary answers besides a result: errors and repairs, as the JSON text models see."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from diagnosis.contracts.evidence import (
    ErrorCode,
    EvidenceStatus,
    InformationGain,
    QueryRejection,
    ToolAnswer,
    ViolationType,
)

_MAX_INVALID_FIELDS = 10
_MAX_PATH_CHARACTERS = 80


def to_json(value: Any) -> str:
    """Compact JSON text, Chinese and all as it is.

    Raises:
        ValueError: NaN, Infinity or a value that is not JSON.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def error_answer(
    tool_call_id: str,
    code: ErrorCode,
    *,
    reason: QueryRejection | None = None,
    invalid: ValidationError | None = None,
    stop_required: bool = False,
) -> ToolAnswer:
    """An error: its code, and where there is one a reason or the invalid fields, never values."""
    body: dict[str, Any] = {
        "evidence_status": EvidenceStatus.ERROR,
        "tool_call_id": tool_call_id,
        "error_code": code,
    }
    if invalid is not None:
        body["invalid_fields"] = _invalid_fields(invalid)
    if reason is not None:
        body["reason"] = reason
    if stop_required:
        body["signal"] = "STOP_REQUIRED"
    return ToolAnswer(text=to_json(body), evidence_status=EvidenceStatus.ERROR, error_code=code)


def repair_answer(
    tool_call_id: str,
    violation: ViolationType,
    *,
    expected_previous: str | None,
    stop_required: bool = False,
) -> ToolAnswer:
    """A call whose envelope is broken: what is wrong, and what would be right."""
    body: dict[str, Any] = {
        "repair_required": True,
        "tool_call_id": tool_call_id,
        "violation_type": violation,
        "expected_previous_tool_call_id": expected_previous,
        "allowed_information_gain": [gain.value for gain in InformationGain],
    }
    if stop_required:
        body["signal"] = "STOP_REQUIRED"
    return ToolAnswer(
        text=to_json(body),
        evidence_status=EvidenceStatus.ERROR,
        error_code=ErrorCode.PROTOCOL_VIOLATION,
    )


def _invalid_fields(error: ValidationError) -> list[dict[str, str]]:
    details = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        {
            "path": ".".join(str(part) for part in detail["loc"])[:_MAX_PATH_CHARACTERS],
            "rule": detail["type"],
        }
        for detail in details[:_MAX_INVALID_FIELDS]
    ]
