"""What a run has asked and been answered so far, read back from the framework's messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

STOP_SIGNAL = "STOP_REQUIRED"
_STOPPED = "COLLECTION_STOPPED"


@dataclass(frozen=True, slots=True)
class Observation:
    """One tool call and its answer.

    Attributes:
        request: the tool's own request, without the envelope.
        judged: the tool_call_id that the call's envelope judged, or None.
        answer: the JSON object the boundary returned; empty where it was none.
        response: which model response made the call, counted from 0.
    """

    tool_call_id: str
    tool_name: str
    request: dict[str, Any]
    judged: str | None
    answer: dict[str, Any]
    response: int

    @property
    def ready(self) -> bool:
        """A search that was carried out, whether it found something or not."""
        return self.answer.get("evidence_status") in ("EVIDENCE_FOUND", "NO_EVIDENCE")

    @property
    def found(self) -> bool:
        """It brought evidence."""
        return self.answer.get("evidence_status") == "EVIDENCE_FOUND" and bool(self.items)

    @property
    def empty(self) -> bool:
        """It was carried out to the end and nothing matched."""
        return self.answer.get("evidence_status") == "NO_EVIDENCE" and not self.answer.get(
            "truncated"
        )

    @property
    def repair(self) -> bool:
        """The call's envelope was refused."""
        return self.answer.get("repair_required") is True

    @property
    def stop(self) -> bool:
        """The next answer must be the draft."""
        return self.answer.get("signal") == STOP_SIGNAL or self.answer.get("error_code") == _STOPPED

    @property
    def items(self) -> list[dict[str, Any]]:
        """The items shown."""
        items = self.answer.get("items")
        return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []

    @property
    def scope(self) -> dict[str, Any]:
        """What was really searched."""
        scope = self.answer.get("scope")
        return scope if isinstance(scope, dict) else {}


@dataclass(frozen=True, slots=True)
class History:
    """The question, and every answered call in order."""

    question: str
    previous_question: str | None
    observations: tuple[Observation, ...]

    @property
    def stop(self) -> bool:
        """Some answer demands the draft."""
        return any(observation.stop for observation in self.observations)

    @property
    def unjudged(self) -> Observation | None:
        """The latest READY result, unless a later call has judged it already."""
        ready = [observation for observation in self.observations if observation.ready]
        if not ready:
            return None
        latest = ready[-1]
        judged = {o.judged for o in self.observations if o.judged and not o.repair}
        return None if latest.tool_call_id in judged else latest


def read_history(messages: Sequence[ModelMessage]) -> History:
    """Read the messages of one run. A user message that is not our JSON is the question itself."""
    question, previous = "", None
    calls: dict[str, tuple[ToolCallPart, int]] = {}
    observations: list[Observation] = []
    responses = 0
    for message in messages:
        if isinstance(message, ModelResponse):
            calls.update(
                (part.tool_call_id, (part, responses))
                for part in message.parts
                if isinstance(part, ToolCallPart)
            )
            responses += 1
        elif isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                    question, previous = _read_question(part.content)
                elif isinstance(part, ToolReturnPart) and part.tool_call_id in calls:
                    observations.append(_observation(part, *calls[part.tool_call_id]))
    return History(question, previous, tuple(observations))


def _read_question(content: str) -> tuple[str, str | None]:
    value = _object(content)
    query, turn = value.get("query"), value.get("previous_turn")
    if not isinstance(query, str):
        return content, None
    previous = turn.get("query") if isinstance(turn, dict) else None
    return query, previous if isinstance(previous, str) else None


def _observation(answer: ToolReturnPart, call: ToolCallPart, response: int) -> Observation:
    arguments = call.args if isinstance(call.args, dict) else _object(call.args or "")
    request = arguments.get("input", arguments)
    judgement = arguments.get("previous_observation")
    judged = judgement.get("tool_call_id") if isinstance(judgement, dict) else None
    content = answer.content
    return Observation(
        tool_call_id=answer.tool_call_id,
        tool_name=call.tool_name,
        request=request if isinstance(request, dict) else {},
        judged=judged if isinstance(judged, str) else None,
        answer=content if isinstance(content, dict) else _object(str(content)),
        response=response,
    )


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
