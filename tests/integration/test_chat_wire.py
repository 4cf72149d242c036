"""What PydanticAI's real OpenAI chat client sends and is sent, through the whole application."""

from __future__ import annotations

import json

import pytest

from diagnosis import DiagnosisInput, EndReason, RunLimits, RunStatus
from diagnosis.contracts.evidence import EvidenceItem, EvidenceResult
from diagnosis.testing import (
    FakeTool,
    RecordingObserver,
    answer,
    call,
    calls,
    draft_json,
    found,
    open_for_testing,
)

NULL_DRAFT = answer(draft_json())


async def diagnose(chat, *tools, **options):
    """One run of the real application on the real client; its outcome and its records."""
    async with open_for_testing(chat.model(), *(tools or (FakeTool(),))) as diagnosis:
        outcome = await diagnosis.run(DiagnosisInput(query="why?"), **options)
        return outcome, await diagnosis.invocations(outcome.run_id)


def shown(chat) -> list[str]:
    """Every tool result of the last request, as received."""
    return [message["content"] for message in chat.requests[-1].messages("tool")]


def change_id(value):
    def edit(body):
        for each in body["choices"][0]["message"]["tool_calls"]:
            each["id"] = value

    return edit


# --- requests ------------------------------------------------------------------------------------


async def test_results_are_the_recorded_projections_byte_for_byte(chat) -> None:
    chat.plays(calls(call(id="a"), call(id="b")), NULL_DRAFT)
    text = 'tab\t "quoted" \\ 磁盘已满 \U0001f4a5 \x7f </s> on node-7'
    outcome, records = await diagnose(chat, FakeTool(found(text)))
    assert shown(chat) == [record.projection for record in records]
    assert json.loads(shown(chat)[0])["items"] == [{"text": text}]
    asked = chat.requests[-1].messages("assistant")[0]["tool_calls"]
    answered = chat.requests[-1].messages("tool")
    assert [each["id"] for each in asked] == [each["tool_call_id"] for each in answered]
    assert [each["id"] for each in asked] == [record.tool_call_id for record in records]
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, None)


async def test_a_call_goes_back_to_the_model_with_what_it_asked(chat) -> None:
    written = '{ "previous_observation":null,\n "input": {"about" : "\\u78c1盘", "limit": 2} }'
    chat.plays(calls(call(id="a", raw=written)), NULL_DRAFT)
    tool = FakeTool()
    await diagnose(chat, tool)
    [asked] = chat.requests[-1].messages("assistant")[0]["tool_calls"]
    assert asked["function"]["name"] == "look_up"
    assert json.loads(asked["function"]["arguments"]) == json.loads(written)  # spacing may differ
    assert [(each.about, each.limit) for each in tool.requests] == [("磁盘", 2)]


async def test_every_request_carries_the_bounds_and_the_tools_without_the_sink(chat) -> None:
    chat.plays(calls(call("no_such_tool", id="a")), calls(call(id="b")), NULL_DRAFT)
    await diagnose(chat, limits=RunLimits(max_output_tokens=777))
    assert len(chat.requests) == 3
    for request in chat.requests:
        assert request.line == "POST /v1/chat/completions HTTP/1.1"
        assert request.headers["authorization"] == "Bearer sk-test-0000"
        sent = request.json
        assert sent["model"] == "test-model"
        assert sent["parallel_tool_calls"] is False
        assert sent.get("max_completion_tokens", sent.get("max_tokens")) == 777
        assert not sent.get("stream")
        assert [tool["function"]["name"] for tool in sent["tools"]] == ["look_up"]
        assert sent["tool_choice"] == "auto"
    envelope = chat.requests[0].json["tools"][0]["function"]["parameters"]["properties"]
    assert set(envelope) == {"previous_observation", "input"}


async def test_the_user_message_is_exactly_query_and_previous_turn(chat) -> None:
    chat.plays(NULL_DRAFT)
    await diagnose(chat)
    [message] = chat.requests[0].messages("user")
    assert json.loads(message["content"]) == {"query": "why?", "previous_turn": None}


async def test_the_last_call_may_not_call_tools_and_still_has_their_definitions(chat) -> None:
    chat.plays(calls(call(id="a")), NULL_DRAFT)
    outcome, _ = await diagnose(chat, limits=RunLimits(model_calls=5, reserved_model_calls=3))
    assert [request.json["tool_choice"] for request in chat.requests] == ["auto", "none"]
    assert [tool["function"]["name"] for tool in chat.requests[-1].json["tools"]] == ["look_up"]
    assert json.loads(shown(chat)[0])["signal"] == "STOP_REQUIRED"
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, None)


async def test_a_server_that_calls_tools_in_spite_of_that_ends_the_loop(chat) -> None:
    chat.plays(calls(call(id="a")), calls(call(id="b")))
    outcome, records = await diagnose(chat, limits=RunLimits(model_calls=5, reserved_model_calls=3))
    assert outcome.end_reason is EndReason.BUDGET_LIMIT_REACHED
    assert len(records) == 1
    assert len(chat.requests) == 2


# --- responses of servers that are not OpenAI's --------------------------------------------------


async def test_missing_usage_is_recorded_as_missing(chat) -> None:
    chat.plays(
        calls(call(), tokens=None),
        chat.edited(NULL_DRAFT, lambda body: body.update(usage=None)),
    )
    observer = RecordingObserver()
    outcome, _ = await diagnose(chat, observers=[observer])
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, None)
    assert outcome.usage.calls_without_token_usage == 2
    assert outcome.usage.total_tokens == 0
    assert [event.input_tokens for event in observer.of("ModelCallFinished")] == [None, None]
    assert "not reported" in outcome.release.markdown


async def test_reported_usage_is_recorded(chat) -> None:
    chat.plays(calls(call(), tokens=(100, 7)), answer(draft_json(), tokens=(200, 30)))
    outcome, _ = await diagnose(chat)
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (300, 37)
    assert outcome.usage.calls_without_token_usage == 0


async def test_empty_and_repeated_ids_are_replaced_on_the_wire_too(chat) -> None:
    chat.plays(
        calls(call(id="call_0"), call(id="call_0"), call(id="")),
        calls(call(id="call_0"), call(id="")),
        NULL_DRAFT,
    )
    _, records = await diagnose(chat)
    ids = [record.tool_call_id for record in records]
    assert ids[0] == "call_0"
    assert all(ids)
    assert len(set(ids)) == 5
    last = chat.requests[-1]
    asked = [each["id"] for message in last.messages("assistant") for each in message["tool_calls"]]
    assert asked == ids
    assert [message["tool_call_id"] for message in last.messages("tool")] == ids
    assert [json.loads(content)["tool_call_id"] for content in shown(chat)] == ids


async def test_a_null_id_makes_the_answer_unreadable(chat) -> None:
    chat.plays(calls(call(id="a")), chat.edited(calls(call(id="b")), change_id(None)))
    outcome, records = await diagnose(chat)
    assert (outcome.status, outcome.end_reason) == (
        RunStatus.FALLBACK,
        EndReason.MODEL_UNAVAILABLE,
    )
    assert outcome.detail == "The answer of the model test-model could not be read."
    assert len(records) == 1
    assert len(chat.requests) == 2


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("{bad", "INVALID_ARGUMENTS"),
        ('{"input":{"about":"x"}', "INVALID_ARGUMENTS"),
        ('{"input":{"about":"x"},"input":{"about":"y"}}', "INVALID_ARGUMENTS"),
        ('{"input":{"about":5}}', "INVALID_ARGUMENTS"),
        ('{"about":"x"}', "PROTOCOL_VIOLATION"),
        ("[]", "PROTOCOL_VIOLATION"),
        ("", "PROTOCOL_VIOLATION"),
    ],
)
async def test_bad_arguments_are_answered_and_what_goes_back_is_json(chat, raw, code) -> None:
    chat.plays(calls(call(id="a", raw=raw), call(id="b")), NULL_DRAFT)
    outcome, records = await diagnose(chat)
    assert [record.error_code for record in records] == [code, None]
    assert shown(chat) == [chat.requests[-1].messages("tool")[0]["content"], records[1].projection]
    assert outcome.end_reason is None
    # servers refuse a history whose arguments are not JSON
    for asked in chat.requests[-1].messages("assistant")[0]["tool_calls"]:
        assert isinstance(json.loads(asked["function"]["arguments"]), dict)


async def test_unknown_tools_are_answered_beside_their_siblings(chat) -> None:
    chat.plays(calls(call("rm_rf", id="a"), call(id="b")), NULL_DRAFT)
    outcome, records = await diagnose(chat)
    assert [(each.tool_name, each.error_code) for each in records] == [
        ("rm_rf", "TOOL_NOT_ALLOWED"),
        ("look_up", None),
    ]
    assert json.loads(shown(chat)[0])["error_code"] == "TOOL_NOT_ALLOWED"
    assert outcome.end_reason is None


async def test_a_text_beside_tool_calls_is_kept_and_does_not_win(chat) -> None:
    both = calls(call(id="a"))
    both.parts.append(NULL_DRAFT.parts[0])
    chat.plays(both, NULL_DRAFT)
    _, records = await diagnose(chat)
    assert len(records) == 1
    assert chat.requests[-1].messages("assistant")[0]["content"] == draft_json()


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (f"```json\n{draft_json()}\n```", EndReason.NOT_STRICT_JSON),
        ('{"conclusion":null}', EndReason.SCHEMA_INVALID),
        ("", EndReason.EMPTY),
    ],
)
async def test_a_bad_draft_is_not_asked_for_again(chat, text, failure) -> None:
    chat.plays(calls(call()), answer(text))
    outcome, _ = await diagnose(chat)
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, failure)
    assert len(chat.requests) == 2


# --- what must not reach a model -----------------------------------------------------------------


async def test_five_megabytes_reach_the_model_within_the_limit_and_say_so(chat) -> None:
    items = tuple(
        EvidenceItem(identity=str(number), fields={"line": f"{number} 超时 " + "x" * 1_000})
        for number in range(5_000)
    )
    chat.plays(calls(call(id="a")), NULL_DRAFT)
    big = EvidenceResult(items=items, scope={"source": "big"}, matched=5_000)
    limits = RunLimits()
    await diagnose(chat, FakeTool(big), limits=limits)
    [content] = shown(chat)
    assert limits.agent_result_bytes // 2 < len(content.encode()) <= limits.agent_result_bytes
    result = json.loads(content)
    assert (result["matched"], result["truncated"]) == (5_000, "BYTES")
    assert 0 < result["shown"] == len(result["items"]) < 5_000
    assert result["items"][0] == items[0].fields
    # on the wire only JSON's own escapes are added
    assert len(chat.requests[-1].body) < 3 * limits.agent_result_bytes + len(chat.requests[0].body)


async def test_one_item_of_five_megabytes_is_cut_and_says_so(chat) -> None:
    chat.plays(calls(call(id="a")), NULL_DRAFT)
    await diagnose(chat, FakeTool(found("错误 " * 800_000)))
    [content] = shown(chat)
    assert len(content.encode()) <= RunLimits().agent_result_bytes
    result = json.loads(content)
    assert (result["shown"], result["matched"], result["truncated"]) == (1, 1, "BYTES")
    assert result["items"][0]["text"].startswith("错误 错误 ")


async def test_a_password_and_a_cloud_key_never_reach_the_model(chat) -> None:
    secrets = ["hunter2-Zx9!", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"]
    lines = (
        f"connecting with password={secrets[0]} to db-3",
        f"using access key {secrets[1]} for bucket logs",
        f"aws_secret_access_key = {secrets[2]}",
        f"mysql://app:{secrets[0]}@db-3:3306/orders refused",
    )
    scope = {"url": f"mysql://app:{secrets[0]}@db-3/orders"}
    chat.plays(calls(call(id="a")), NULL_DRAFT)
    outcome, records = await diagnose(chat, FakeTool(found(*lines, **scope)))
    raw = b"".join(request.body for request in chat.requests)
    for secret in secrets:
        assert secret not in chat.wire()
        assert secret.encode() not in raw
        assert secret not in outcome.model_dump_json()
        assert secret not in (records[0].projection or "")
    result = json.loads(shown(chat)[0])
    for text in (*(item["text"] for item in result["items"]), result["scope"]["url"]):
        assert "[REDACTED:" in text
    assert "db-3" in result["items"][0]["text"]


async def test_an_exceptions_text_never_reaches_the_model(chat) -> None:
    chat.plays(calls(call(id="a")), NULL_DRAFT)
    await diagnose(chat, FakeTool(RuntimeError("Access denied for app using hunter2-Zx9!")))
    assert json.loads(shown(chat)[0])["error_code"] == "TOOL_FAILED"
    assert "hunter2" not in chat.wire()
