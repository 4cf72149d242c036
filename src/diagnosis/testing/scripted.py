"""A model that follows a script, and the parts scripts are made of."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

Step = ModelResponse | BaseException | Callable[[list[ModelMessage]], Awaitable[ModelResponse]]


class ScriptedModel(FunctionModel):
    """Answers one step a request; the last step is repeated when the script is over.

    Attributes:
        seen: the messages of every request, in order.
        settings_seen: the model settings of every request.
        tools_seen: the names of the tools offered in every request.
    """

    def __init__(self, *steps: Step) -> None:
        self._steps = steps
        self.seen: list[list[ModelMessage]] = []
        self.settings_seen: list[dict[str, Any]] = []
        self.tools_seen: list[list[str]] = []
        super().__init__(self._next, model_name="scripted")

    async def _next(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = self._steps[min(len(self.seen), len(self._steps) - 1)]
        self.seen.append(list(messages))
        self.settings_seen.append(dict(info.model_settings or {}))
        self.tools_seen.append([tool.name for tool in info.function_tools])
        if isinstance(step, BaseException):
            raise step
        if callable(step):
            return await step(messages)
        # a script is a constant: the framework and the harness get a response of their own
        return ModelResponse(parts=list(step.parts), usage=step.usage)

    def results(self) -> list[str]:
        """Every tool result the model was shown, in order, byte for byte."""
        return [
            str(part.content)
            for message in (self.seen[-1] if self.seen else [])
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]


def call(
    tool_name: str = "look_up",
    request: dict[str, Any] | None = None,
    *,
    id: str = "call-1",  # noqa: A002 - what the framework calls it
    previous: dict[str, str] | None = None,
    raw: str | None = None,
) -> ToolCallPart:
    """A tool call in its envelope; `raw` replaces the whole arguments text."""
    envelope = {
        "previous_observation": previous,
        "input": {"about": "x"} if request is None else request,
    }
    arguments = json.dumps(envelope, ensure_ascii=False) if raw is None else raw
    return ToolCallPart(tool_name, arguments, tool_call_id=id)


def calls(*parts: ToolCallPart, tokens: tuple[int, int] | None = (10, 5)) -> ModelResponse:
    """A response of tool calls; `tokens` are (input, output), None when not reported."""
    return ModelResponse(parts=list(parts), usage=_usage(tokens))


def answer(text: str, *, tokens: tuple[int, int] | None = (10, 5)) -> ModelResponse:
    """A response of text."""
    return ModelResponse(parts=[TextPart(text)], usage=_usage(tokens))


def draft_json(
    *,
    root_cause: str | None = None,
    statements: Sequence[dict[str, Any]] = (),
    limitations: Sequence[dict[str, Any]] = (),
    actions: Sequence[dict[str, Any]] = (),
) -> str:
    """The JSON text of a draft; its conclusion is null unless a root cause is given."""
    conclusion = None
    if root_cause is not None:
        conclusion = {
            "root_cause": root_cause,
            "fault_category": "OTHER",
            "fault_source": None,
            "fault_target": None,
            "confidence": "LOW",
        }
    draft = {
        "conclusion": conclusion,
        "analysis": list(statements),
        "limitations": list(limitations),
        "recommended_actions": list(actions),
    }
    return json.dumps(draft, ensure_ascii=False)


def _usage(tokens: tuple[int, int] | None) -> RequestUsage:
    if tokens is None:
        return RequestUsage(unmeasured_requests=1)
    return RequestUsage(input_tokens=tokens[0], output_tokens=tokens[1])
