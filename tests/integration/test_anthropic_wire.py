"""The same loop on PydanticAI's real Anthropic client, whose arguments are objects, not text."""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from diagnosis import DiagnosisInput, EndReason, RunLimits, RunStatus
from diagnosis.testing import FakeTool, answer, call, calls, draft_json, found, open_for_testing

NULL_DRAFT = answer(draft_json())


def message(response: ModelResponse) -> dict[str, Any]:
    """What the Messages API sends for the response."""
    content = [
        {
            "type": "tool_use",
            "id": part.tool_call_id,
            "name": part.tool_name,
            "input": part.args_as_dict(),
        }
        if isinstance(part, ToolCallPart)
        else {"type": "text", "text": part.content}
        for part in response.parts
    ]
    called = any(block["type"] == "tool_use" for block in content)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test-model",
        "content": content,
        "stop_reason": "tool_use" if called else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": response.usage.input_tokens,
            "output_tokens": response.usage.output_tokens,
        },
    }


async def diagnose(chat, *steps, tool=None, **options):
    """One run on the Anthropic client; its outcome and its records."""
    chat.plays(
        *(
            chat.reply(200, message(step)) if isinstance(step, ModelResponse) else step
            for step in steps
        )
    )
    provider = AnthropicProvider(api_key="test-key", base_url=chat.url)
    async with (
        AnthropicModel("test-model", provider=provider) as model,
        open_for_testing(model, tool or FakeTool()) as diagnosis,
    ):
        outcome = await diagnosis.run(DiagnosisInput(query="why?"), **options)
        return outcome, await diagnosis.invocations(outcome.run_id)


def shown(chat) -> list[str]:
    """Every tool result of the last request, as received."""
    blocks = [
        block
        for message in chat.requests[-1].messages("user")
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    return [
        content if isinstance(content, str) else "".join(part["text"] for part in content)
        for content in (block["content"] for block in blocks)
    ]


async def test_results_are_the_recorded_projections_byte_for_byte(chat) -> None:
    outcome, records = await diagnose(
        chat,
        calls(call(id="a"), call("rm_rf", id="b"), call(id="a")),
        NULL_DRAFT,
        tool=FakeTool(found('tab\t "quoted" \\ 磁盘已满 \U0001f4a5 on node-7')),
    )
    first, unknown, third = shown(chat)
    assert (first, third) == (records[0].projection, records[2].projection)
    assert json.loads(unknown)["error_code"] == "TOOL_NOT_ALLOWED"
    assert len({record.tool_call_id for record in records}) == 3
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, None)
    assert outcome.usage.total_tokens == 30


async def test_the_last_call_may_not_call_tools_and_still_has_their_definitions(chat) -> None:
    limits = RunLimits(model_calls=5, reserved_model_calls=3, max_output_tokens=777)
    outcome, _ = await diagnose(chat, calls(call(id="a")), NULL_DRAFT, limits=limits)
    first, last = (request.json for request in chat.requests)
    assert first["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert last["tool_choice"] == {"type": "none"}
    for sent in (first, last):
        assert [tool["name"] for tool in sent["tools"]] == ["look_up"]
        assert sent["max_tokens"] == 777
    assert outcome.end_reason is None


async def test_an_overloaded_server_is_asked_once(chat) -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "do-not-show"}}
    outcome, _ = await diagnose(chat, calls(call()), chat.reply(529, body), NULL_DRAFT)
    assert (outcome.status, outcome.end_reason) == (
        RunStatus.FALLBACK,
        EndReason.MODEL_UNAVAILABLE,
    )
    assert outcome.detail == "The model test-model answered HTTP 529."
    assert len(chat.requests) == 2
