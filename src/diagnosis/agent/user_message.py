"""The only user message of a run, measured before anything is asked."""

from __future__ import annotations

import json

from diagnosis.contracts.run import DiagnosisInput, RunLimits
from diagnosis.errors import InvalidInput


def user_message(question: DiagnosisInput, limits: RunLimits) -> str:
    """Exactly `{"query": ..., "previous_turn": ...}` as JSON text; nothing is ever cut.

    Raises:
        InvalidInput: a part or the whole is no text, or has more bytes than the limits allow.
    """
    previous = question.previous_turn
    turn = None if previous is None else previous.model_dump(mode="json")
    message = _json({"query": question.query, "previous_turn": turn})
    _check("query", question.query, limits.query_bytes)
    if turn is not None:
        _check("previous turn", _json(turn), limits.previous_turn_bytes)
    _check("question as a whole", message, limits.input_bytes)
    return message


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _check(what: str, text: str, limit: int) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput(
            f"The {what} is not valid Unicode text.", "Remove the characters that are no text."
        ) from None
    if size > limit:
        raise InvalidInput(
            f"The {what} has {size:,} bytes; at most {limit:,} are taken.",
            "Ask a shorter question; give logs and documents as sources, not as text.",
        )
