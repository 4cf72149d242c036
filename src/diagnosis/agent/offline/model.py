"""The offline model: rules instead of a language model, behind PydanticAI's model interface.

It drives the same loop through the same boundary as any model: it reads the question, the tools it
is offered and the results it got, and answers with tool calls or a draft. It sees nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from diagnosis.agent.offline.draft import write_draft
from diagnosis.agent.offline.history import History, read_history
from diagnosis.agent.offline.investigation import Investigation, Step
from diagnosis.contracts.evidence import InformationGain

MODEL_NAME = "offline-rules"


class OfflineModel(Model):
    """A rule-based model. Stateless: one instance serves any number of runs at once.

    Attributes:
        rule_based: no language model is asked; whoever shows its answer says so.
    """

    rule_based: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__(
            profile=ModelProfile(supports_json_schema_output=True, supports_json_object_output=True)
        )

    @property
    def model_name(self) -> str:
        """The name shown in events and reports."""
        return MODEL_NAME

    @property
    def system(self) -> str:
        """The provider's name: none but this machine."""
        return "offline"

    @property
    def provider(self) -> None:
        """There is no provider."""
        return

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The next tool calls, or the draft as JSON text. Tokens are reported as not measured."""
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        history = read_history(messages)
        offered = {tool.name: tool for tool in parameters.function_tools}
        investigation = Investigation.resume(history, offered)
        stopped = history.stop or (settings or {}).get("tool_choice") == "none"
        steps = [] if stopped else investigation.next_steps()
        parts: list[ToolCallPart | TextPart] = [
            ToolCallPart(step.tool, _arguments(step, investigation, offered[step.tool]))
            for step in steps
        ]
        if not parts:
            parts = [TextPart(write_draft(investigation).model_dump_json())]
        return ModelResponse(
            parts=parts,
            model_name=self.model_name,
            provider_name=self.system,
            # nothing was counted: that is not the same as zero tokens
            usage=RequestUsage(unmeasured_requests=1),
        )


def _arguments(step: Step, investigation: Investigation, tool: ToolDefinition) -> str:
    """The call's JSON: the request in its envelope, or bare where the tool's schema has none."""
    properties = tool.parameters_json_schema.get("properties", {})
    if "input" not in properties:
        return _json(step.request)
    refused = investigation.refused
    if refused is not None:
        judgement = _as_demanded(refused.answer, investigation)
    else:
        judgement = _judgement(investigation.history, investigation)
    return _json({"previous_observation": judgement, "input": step.request})


def _judgement(history: History, investigation: Investigation) -> dict[str, str] | None:
    """What the latest result was worth, unless it has been judged already."""
    latest = history.unjudged
    if latest is None:
        return None
    gained = any(
        investigation.gained(observation)
        for observation in history.observations
        if observation.response == latest.response
    )
    gain = InformationGain.GAINED if gained else InformationGain.NO_GAIN
    return {"tool_call_id": latest.tool_call_id, "information_gain": gain.value}


def _as_demanded(repair: Mapping[str, Any], investigation: Investigation) -> dict[str, str] | None:
    """The judgement that a refused call should have brought."""
    expected = repair.get("expected_previous_tool_call_id")
    if not isinstance(expected, str):
        return None
    judged = next(
        (o for o in investigation.history.observations if o.tool_call_id == expected), None
    )
    gained = judged is not None and investigation.gained(judged)
    wanted = InformationGain.GAINED if gained else InformationGain.NO_GAIN
    allowed = repair.get("allowed_information_gain")
    if isinstance(allowed, list) and allowed and wanted.value not in allowed:
        return {"tool_call_id": expected, "information_gain": str(allowed[0])}
    return {"tool_call_id": expected, "information_gain": wanted.value}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
