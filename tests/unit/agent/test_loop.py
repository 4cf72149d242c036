"""The agent's loop in the harness: one id, observations, sequence, budget, events, metadata."""

import asyncio
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic_ai.messages import ModelRequest, RetryPromptPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.test import TestModel

from diagnosis import DiagnosisInput, EndReason, PreviousTurn, RunLimits, RunStatus
from diagnosis.testing import (
    FakeTool,
    RecordingObserver,
    ScriptedModel,
    answer,
    call,
    calls,
    draft_json,
    found,
    nothing,
    open_for_testing,
)

NULL_DRAFT = answer(draft_json())


async def diagnose(model, *tools, query="why?", **options):
    """One run of the real application; its outcome, its records, its events."""
    observer = RecordingObserver()
    async with open_for_testing(model, *(tools or (FakeTool(),))) as diagnosis:
        outcome = await diagnosis.run(DiagnosisInput(query=query), observers=[observer], **options)
        return outcome, await diagnosis.invocations(outcome.run_id), observer


async def test_what_the_model_is_shown_is_the_recorded_projection_byte_for_byte():
    model = ScriptedModel(calls(call(id="a"), call(id="b")), NULL_DRAFT)
    _, records, _ = await diagnose(model, FakeTool(found("磁盘已满 on node-7")))
    assert model.results() == [record.projection for record in records]
    assert [record.tool_call_id for record in records] == ["a", "b"]
    assert json.loads(model.results()[0])["tool_call_id"] == "a"


async def test_history_call_record_and_result_share_the_frameworks_id():
    model = ScriptedModel(calls(call(id="call-of-provider")), NULL_DRAFT)
    _, records, observer = await diagnose(model)
    called = [p for m in model.seen[-1] for p in m.parts if isinstance(p, ToolCallPart)]
    returned = [p for m in model.seen[-1] for p in m.parts if isinstance(p, ToolReturnPart)]
    events = [e.tool_call_id for e in observer.events if hasattr(e, "tool_call_id")]
    assert {
        called[0].tool_call_id,
        returned[0].tool_call_id,
        records[0].tool_call_id,
        *events,
    } == {"call-of-provider"}


async def test_empty_and_repeated_ids_are_replaced_everywhere():
    model = ScriptedModel(
        calls(call(id="call_0"), call(id="call_0"), call(id="")),
        calls(call(id="call_0")),
        NULL_DRAFT,
    )
    _, records, _ = await diagnose(model)
    ids = [record.tool_call_id for record in records]
    assert ids[0] == "call_0"
    assert len(set(ids)) == 4
    assert all(ids)
    assert [json.loads(result)["tool_call_id"] for result in model.results()] == ids
    called = [
        p.tool_call_id for m in model.seen[-1] for p in m.parts if isinstance(p, ToolCallPart)
    ]
    assert called == ids


async def test_unknown_tools_are_answered_beside_their_siblings_and_never_offered():
    model = ScriptedModel(calls(call("rm_rf", id="a"), call(id="b")), NULL_DRAFT)
    outcome, records, _ = await diagnose(model)
    assert [(record.tool_name, record.error_code) for record in records] == [
        ("rm_rf", "TOOL_NOT_ALLOWED"),
        ("look_up", None),
    ]
    assert outcome.status is RunStatus.FALLBACK
    assert model.tools_seen == [["look_up"], ["look_up"]]


async def test_the_name_of_the_sink_is_an_unknown_tool_like_any_other():
    model = ScriptedModel(calls(call("unknown-tool", id="a")), NULL_DRAFT)
    _, records, _ = await diagnose(model)
    assert records[0].error_code == "TOOL_NOT_ALLOWED"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("{bad", "INVALID_ARGUMENTS"),
        ('{"input":{"about":5}}', "INVALID_ARGUMENTS"),
        ('{"about":"x"}', "PROTOCOL_VIOLATION"),
        ("[]", "PROTOCOL_VIOLATION"),
        ('{"input":{"about":"' + "x" * 9_000 + '"}}', "ARGUMENTS_TOO_LARGE"),
    ],
)
async def test_bad_arguments_are_observations_and_the_loop_goes_on(raw, code):
    model = ScriptedModel(calls(call(id="a", raw=raw), call(id="b")), NULL_DRAFT)
    outcome, records, _ = await diagnose(model)
    assert [record.error_code for record in records] == [code, None]
    assert outcome.status is RunStatus.FALLBACK
    retries = [p for m in model.seen[-1] for p in m.parts if isinstance(p, RetryPromptPart)]
    assert retries == []


async def test_a_failing_tool_is_an_observation_and_the_loop_goes_on():
    model = ScriptedModel(calls(call(id="a")), NULL_DRAFT)
    outcome, _, _ = await diagnose(model, FakeTool(RuntimeError("password=hunter2")))
    assert json.loads(model.results()[0]) == {
        "evidence_status": "ERROR",
        "tool_call_id": "a",
        "error_code": "TOOL_FAILED",
    }
    assert outcome.usage.model_calls == 2


async def test_tools_of_one_response_run_one_after_another():
    running, most = 0, 0

    async def look(request, context):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return nothing()

    model = ScriptedModel(calls(*(call(id=f"c{n}") for n in range(4))), NULL_DRAFT)
    await diagnose(model, FakeTool(look))
    assert most == 1


async def test_every_request_carries_the_harness_settings():
    model = ScriptedModel(calls(call()), NULL_DRAFT)
    await diagnose(model, limits=RunLimits(max_output_tokens=777, model_timeout_s=11))
    for settings in model.settings_seen:
        assert settings["max_retries"] == 0
        assert settings["parallel_tool_calls"] is False
        assert settings["max_tokens"] == 777
        assert settings["timeout"] == 11


async def test_the_user_message_is_exactly_query_and_previous_turn():
    previous = PreviousTurn(run_id="r0", query="old", answer="brief", status=RunStatus.FALLBACK)
    model = ScriptedModel(NULL_DRAFT)
    async with open_for_testing(model, FakeTool()) as diagnosis:
        await diagnosis.run(DiagnosisInput(query=" 为什么？ ", previous_turn=previous))
    (request,) = model.seen[0]
    assert isinstance(request, ModelRequest)
    (part,) = request.parts
    assert json.loads(part.content) == {
        "query": " 为什么？ ",
        "previous_turn": {
            "run_id": "r0",
            "query": "old",
            "answer": "brief",
            "status": "FALLBACK",
        },
    }


async def test_the_instructions_hold_the_schema_and_end_with_the_reference_time():
    model = ScriptedModel(NULL_DRAFT)
    time = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=8)))
    await diagnose(model, reference_time=time)
    instructions = model.seen[0][0].instructions
    assert '"fault_category"' in instructions
    assert "$" not in instructions.replace("$ref", "").replace("$defs", "")
    assert instructions.endswith(
        "Reference time (now): 2026-03-01T12:00:00+08:00\nTime zone: UTC+08:00"
    )


async def test_runs_carry_their_ids_as_framework_metadata():
    seen = {}

    async def look(messages):
        seen["run_id"] = messages[-1].run_id
        seen["conversation_id"] = messages[-1].conversation_id
        return answer(draft_json())

    outcome, _, _ = await diagnose(ScriptedModel(look), session_id="s-7")
    assert seen == {"run_id": outcome.run_id, "conversation_id": "s-7"}


async def test_events_tell_the_whole_run_in_order_and_no_content():
    model = ScriptedModel(calls(call(request={"about": "hunter2"})), NULL_DRAFT)
    outcome, _, observer = await diagnose(model, FakeTool(found("hunter2 everywhere")))
    assert observer.names == [
        "RunStarted",
        "ModelCallStarted",
        "ModelCallFinished",
        "ToolCallStarted",
        "ToolCallFinished",
        "ModelCallStarted",
        "ModelCallFinished",
        "DraftReceived",
        "GuardFinished",
        "Released",
        "RunEnded",
    ]
    assert {event.run_id for event in observer.events} == {outcome.run_id}
    assert "hunter2" not in "".join(event.model_dump_json() for event in observer.events)


async def test_tokens_are_recorded_and_missing_ones_are_missing():
    model = ScriptedModel(calls(call(), tokens=None), answer(draft_json(), tokens=(100, 7)))
    outcome, _, observer = await diagnose(model)
    usage = outcome.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (100, 7, 107)
    assert usage.calls_without_token_usage == 1
    assert [event.input_tokens for event in observer.of("ModelCallFinished")] == [None, 100]


async def test_the_last_call_of_the_loop_must_be_the_draft():
    model = ScriptedModel(calls(call(id="a")), calls(call(id="b"), call(id="c")), NULL_DRAFT)
    limits = RunLimits(model_calls=6, reserved_model_calls=3)
    outcome, _, observer = await diagnose(model, limits=limits)
    assert [settings.get("tool_choice") for settings in model.settings_seen] == [None, None, "none"]
    assert model.tools_seen[-1] == ["look_up"]  # definitions stay
    signals = [json.loads(result).get("signal") for result in model.results()]
    assert signals == [None, None, "STOP_REQUIRED"]
    assert outcome.status is RunStatus.FALLBACK
    assert outcome.usage.model_calls == 3
    assert outcome.progress.stop_reason == "BUDGET_LIMIT_REACHED"
    assert observer.names.count("CollectionStopped") == 1


async def test_a_model_that_still_calls_ends_the_loop_with_the_stop_reason():
    limits = RunLimits(model_calls=5, reserved_model_calls=3)
    outcome, records, _ = await diagnose(ScriptedModel(calls(call(id=""))), limits=limits)
    assert (outcome.status, outcome.end_reason) == (
        RunStatus.FALLBACK,
        EndReason.BUDGET_LIMIT_REACHED,
    )
    assert outcome.release.fallback.type == "BUDGET_EXHAUSTED"
    assert len(records) == 1
    assert outcome.usage.model_calls == 2


async def test_the_tool_total_stops_collecting_but_not_the_draft():
    model = ScriptedModel(calls(*(call(id=f"c{n}") for n in range(4))), NULL_DRAFT)
    outcome, records, _ = await diagnose(model, limits=RunLimits(tool_calls=2))
    codes = [json.loads(result).get("error_code") for result in model.results()]
    assert codes == [None, None, "TOOL_LIMIT_REACHED", "COLLECTION_STOPPED"]
    assert [record.tool_call_id for record in records] == ["c0", "c1", "c2"]
    assert model.settings_seen[-1]["tool_choice"] == "none"
    assert outcome.status is RunStatus.FALLBACK
    assert outcome.end_reason is None


async def test_tokens_over_the_limit_are_recorded_and_nothing_more_starts():
    model = ScriptedModel(calls(call(id="a"), tokens=(700_000, 5)), NULL_DRAFT)
    outcome, records, _ = await diagnose(model)
    assert outcome.usage.input_tokens == 700_000
    assert len(model.seen) == 1
    assert records[0].status == "READY"  # what the response asked for is still answered
    assert (outcome.status, outcome.end_reason) == (
        RunStatus.FALLBACK,
        EndReason.BUDGET_EXHAUSTED,
    )


async def test_the_ledger_counts_the_bytes_of_question_results_and_draft():
    draft = draft_json()
    model = ScriptedModel(calls(call(id="a"), call("nope", id="b")), answer(draft))
    outcome, records, _ = await diagnose(model, query="为什么？")
    message = model.seen[0][0].parts[0].content
    shown = sum(record.projection_bytes for record in records)
    assert outcome.usage.canonical_bytes == len(message.encode()) + shown + len(draft.encode())


async def test_no_limit_of_the_framework_stops_a_run_before_the_ledger_does():
    rounds = [calls(call(id=f"c{number}")) for number in range(55)]
    limits = RunLimits(model_calls=60, tool_calls=60, tool_calls_per_tool=60)
    outcome, records, _ = await diagnose(ScriptedModel(*rounds, NULL_DRAFT), limits=limits)
    assert (outcome.end_reason, outcome.usage.model_calls, len(records)) == (None, 56, 55)


async def test_a_draft_that_itself_goes_over_the_limit_is_not_lost():
    model = ScriptedModel(calls(call()), answer(draft_json(), tokens=(900_000, 5)))
    outcome, _, _ = await diagnose(model)
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, None)
    assert outcome.usage.input_tokens == 900_010


async def test_the_frameworks_own_test_model_runs_through_the_boundary():
    model = TestModel(custom_output_text=draft_json())
    outcome, records, _ = await diagnose(model)
    assert [(record.tool_name, record.status) for record in records] == [("look_up", "READY")]
    assert outcome.status is RunStatus.FALLBACK


async def test_runs_of_one_application_do_not_see_each_other():
    async def about(request, context):
        await asyncio.sleep(0.01)
        return found(f"{request.about} in {context.run_id}")

    def model_for():
        async def step(messages):
            query = json.loads(messages[0].parts[0].content)["query"]
            if len(messages) == 1:
                return calls(call(request={"about": query}, id="same-id"))
            return answer(draft_json())

        return ScriptedModel(step)

    async with open_for_testing(model_for(), FakeTool(about)) as diagnosis:
        outcomes = await asyncio.gather(
            *(diagnosis.run(DiagnosisInput(query=f"q{number}")) for number in range(20))
        )
        for number, outcome in enumerate(outcomes):
            (record,) = await diagnosis.invocations(outcome.run_id)
            assert f"q{number} in {outcome.run_id}" in record.projection
            assert outcome.usage.tool_calls == 1


async def test_a_naive_reference_time_is_read_in_the_zone():
    seen = []

    async def look(request, context):
        seen.append((context.reference_time, context.zone))
        return nothing()

    zone = timezone(timedelta(hours=2))
    model = ScriptedModel(calls(call()), NULL_DRAFT)
    await diagnose(model, FakeTool(look), reference_time=datetime(2026, 1, 1), zone=zone)  # noqa: DTZ001 - the case
    assert seen == [(datetime(2026, 1, 1, tzinfo=zone), zone)]
    assert seen[0][0] != datetime(2026, 1, 1, tzinfo=UTC)
