"""Every rule of the boundary, in its order; whatever a tool does, the answer is an observation."""

import asyncio
import hashlib
import json
from datetime import UTC

import pytest

from diagnosis.contracts.evidence import (
    ErrorCode,
    EvidenceItem,
    EvidenceResult,
    EvidenceStatus,
    InvocationStatus,
    QueryRejection,
    ToolCall,
    Truncation,
)
from diagnosis.contracts.run import RunLimits, StopReason
from diagnosis.errors import (
    DeadlineExceeded,
    ObserverFailed,
    QueryRejected,
    RunCancelledError,
    SourceNotFound,
    SourceUnavailable,
    StoreFailed,
)
from diagnosis.harness.invocation_store import InMemoryInvocationStore
from diagnosis.testing import (
    FakeClock,
    FakeTool,
    RecordingObserver,
    found,
    make_boundary,
    make_context,
    nothing,
)


def envelope(request=None, previous=None):
    return json.dumps({"previous_observation": previous, "input": request or {"about": "x"}})


class Case:
    """One run against one boundary."""

    def __init__(self, *tools, limits=None, observer=None, clock=None, store=None):
        self.store = store or InMemoryInvocationStore()
        self.boundary = make_boundary(*(tools or (FakeTool(),)), store=self.store)
        self.observer = observer or RecordingObserver()
        self.context = make_context(limits=limits, observers=[self.observer], clock=clock)

    async def ask(self, arguments=None, *, name="look_up", call_id="c1", step=1):
        call = ToolCall(
            tool_call_id=call_id,
            tool_name=name,
            arguments=envelope() if arguments is None else arguments,
            model_step=step,
        )
        answer = await self.boundary.answer(self.context, call)
        return json.loads(answer.text)

    async def records(self):
        return await self.store.of_run(self.context.run_id)

    async def record(self):
        (record,) = await self.records()
        return record


async def test_a_found_result_is_projected_recorded_and_counted():
    case = Case(FakeTool(found("disk full on node-7", source="syslog")))
    body = await case.ask()
    assert body == {
        "tool_call_id": "c1",
        "evidence_status": "EVIDENCE_FOUND",
        "scope": {"source": "syslog"},
        "items": [{"text": "disk full on node-7"}],
        "matched": 1,
        "shown": 1,
        "truncated": None,
    }
    record = await case.record()
    assert record.status is InvocationStatus.READY
    assert json.loads(record.projection) == body
    assert record.projection_sha256 == hashlib.sha256(record.projection.encode()).hexdigest()
    assert record.projection_bytes == len(record.projection.encode())
    assert record.fingerprint is not None
    usage = case.context.budget.usage()
    assert (usage.tool_calls, usage.tool_calls_per_tool) == (1, {"look_up": 1})
    assert usage.canonical_bytes == record.projection_bytes
    assert case.observer.names == ["ToolCallStarted", "ToolCallFinished"]


async def test_nothing_found_says_what_was_searched():
    body = await Case(FakeTool(nothing(window="14:00/14:30"))).ask()
    assert body["evidence_status"] == "NO_EVIDENCE"
    assert body["scope"] == {"window": "14:00/14:30"}
    assert body["items"] == []


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (QueryRejected(QueryRejection.PATTERN_INVALID), ErrorCode.QUERY_REJECTED),
        (SourceNotFound(), ErrorCode.SOURCE_NOT_FOUND),
        (SourceUnavailable("host db1 password=hunter2"), ErrorCode.TOOL_UNAVAILABLE),
        (TimeoutError(), ErrorCode.TOOL_TIMEOUT),
        (RuntimeError("password=hunter2"), ErrorCode.TOOL_FAILED),
        (KeyError("hunter2"), ErrorCode.TOOL_FAILED),
        (asyncio.CancelledError(), ErrorCode.TOOL_FAILED),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
async def test_a_failing_tool_is_an_observation_without_its_text(failure, code, caplog):
    async def fail(request, context):
        raise failure

    case = Case(FakeTool(fail))
    body = await case.ask()
    assert body["evidence_status"] == "ERROR"
    assert body["error_code"] == code
    assert body["tool_call_id"] == "c1"
    assert ("reason" in body) is (code is ErrorCode.QUERY_REJECTED)
    record = await case.record()
    assert (record.status, record.error_code) == (InvocationStatus.ERROR, code)
    assert "hunter2" not in record.model_dump_json() + caplog.text


@pytest.mark.parametrize(
    "result",
    [
        None,
        {"items": []},
        EvidenceResult.model_construct(
            items=(EvidenceItem.model_construct(identity="1", fields={"x": float("nan")}),),
            scope={},
            matched=None,
            truncated=None,
        ),
        EvidenceResult.model_construct(
            items=(EvidenceItem.model_construct(identity="1", fields={"x": object()}),),
            scope={},
            matched=None,
            truncated=None,
        ),
        EvidenceResult.model_construct(
            items=(), scope={"x": "\ud800"}, matched=None, truncated=None
        ),
    ],
    ids=["none", "dict", "nan", "object", "surrogate"],
)
async def test_a_result_that_is_no_result_is_invalid(result):
    async def give(request, context):
        return result

    body = await Case(FakeTool(give)).ask()
    assert body["error_code"] == ErrorCode.RESULT_INVALID


async def test_an_unknown_tool_is_answered_and_recorded_under_the_name_the_model_used():
    case = Case()
    assert (await case.ask(name="rm_rf"))["error_code"] == ErrorCode.TOOL_NOT_ALLOWED
    record = await case.record()
    assert (record.tool_name, record.plugin) == ("rm_rf", None)
    assert case.context.budget.usage().tool_calls == 1


@pytest.mark.parametrize(
    "arguments",
    ["", "{", '{"input":{},"input":{}}', "nope", '{"a":NaN}', '{"a":1e999}', '{"a":-1E999}'],
)
async def test_arguments_that_are_no_strict_json_are_invalid(arguments):
    assert (await Case().ask(arguments))["error_code"] == ErrorCode.INVALID_ARGUMENTS


async def test_invalid_fields_are_named_with_their_rule_and_never_with_their_value():
    case = Case()
    body = await case.ask(envelope({"limit": "hunter2", "other": 1}))
    assert body["error_code"] == ErrorCode.INVALID_ARGUMENTS
    assert {(field["path"], field["rule"]) for field in body["invalid_fields"]} == {
        ("about", "missing"),
        ("limit", "int_parsing"),
        ("other", "extra_forbidden"),
    }
    assert "hunter2" not in json.dumps(body)
    assert case.context.budget.usage().tool_calls == 1


async def test_arguments_over_the_limit_are_refused_and_not_kept():
    case = Case()
    secret = "s" * 9_000
    body = await case.ask(envelope({"about": secret}))
    assert body["error_code"] == ErrorCode.ARGUMENTS_TOO_LARGE
    assert secret not in (await case.record()).arguments


async def test_a_lone_surrogate_in_arguments_is_invalid():
    body = await Case().ask('{"previous_observation":null,"input":{"about":"\\ud800"}}')
    assert body["error_code"] == ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("arguments", "violation"),
    [
        ('{"about":"x"}', "MALFORMED_ENVELOPE"),
        ('{"previous_observation":null}', "MISSING_INPUT"),
        (
            envelope(previous={"tool_call_id": "c0", "information_gain": "MAYBE"}),
            "INVALID_INFORMATION_GAIN",
        ),
    ],
)
async def test_a_broken_envelope_is_answered_with_a_repair_and_does_not_use_the_tools_share(
    arguments, violation
):
    case = Case()
    await case.ask(call_id="c0", step=1)
    body = await case.ask(arguments, call_id="c1", step=2)
    assert body == {
        "repair_required": True,
        "tool_call_id": "c1",
        "violation_type": violation,
        "expected_previous_tool_call_id": "c0",
        "allowed_information_gain": ["GAINED", "NO_GAIN"],
    }
    record = (await case.records())[-1]
    assert record.error_code is ErrorCode.PROTOCOL_VIOLATION
    usage = case.context.budget.usage()
    assert (usage.tool_calls, usage.tool_calls_per_tool) == (2, {"look_up": 1})


async def test_a_judgement_is_recorded_and_any_previous_id_is_accepted():
    case = Case()
    await case.ask(envelope(previous={"tool_call_id": "any", "information_gain": "GAINED"}))
    record = await case.record()
    assert (record.judged_tool_call_id, record.judged_gain) == ("any", "GAINED")


async def test_the_share_of_one_tool_ends_and_the_others_go_on():
    case = Case(FakeTool(), FakeTool(name="other"), limits=RunLimits(tool_calls_per_tool=1))
    await case.ask(call_id="c1")
    assert (await case.ask(call_id="c2"))["error_code"] == ErrorCode.TOOL_LIMIT_REACHED
    assert (await case.ask(call_id="c3", name="other"))["evidence_status"] == "EVIDENCE_FOUND"
    assert not case.context.collection.stopped


async def test_the_total_ends_collecting_and_what_follows_is_neither_run_nor_recorded():
    tool = FakeTool()
    case = Case(tool, limits=RunLimits(tool_calls=1))
    await case.ask(call_id="c1")
    second = await case.ask(call_id="c2")
    assert second["error_code"] == ErrorCode.TOOL_LIMIT_REACHED
    assert second["signal"] == "STOP_REQUIRED"
    third = await case.ask(call_id="c3")
    assert third == {
        "evidence_status": "ERROR",
        "tool_call_id": "c3",
        "error_code": "COLLECTION_STOPPED",
    }
    assert case.context.collection.stop_reason is StopReason.BUDGET_LIMIT_REACHED
    assert [record.tool_call_id for record in await case.records()] == ["c1", "c2"]
    assert len(tool.requests) == 1
    assert case.observer.names.count("CollectionStopped") == 1


async def test_the_signal_stands_on_the_last_call_of_the_response_only():
    case = Case(limits=RunLimits(model_calls=5, reserved_model_calls=3))
    case.context.budget.reserve_model_call()
    case.context.collection.begin_response([("c1", "look_up"), ("c2", "look_up")], ["c1", "c2"])
    assert "signal" not in await case.ask(call_id="c1")
    assert (await case.ask(call_id="c2"))["signal"] == "STOP_REQUIRED"
    assert case.context.collection.stopped


async def test_bytes_kept_for_the_draft_are_never_given_to_results():
    limits = RunLimits(
        canonical_bytes=40_000, input_bytes=2_000, draft_bytes=32_768, agent_result_bytes=4_096
    )
    case = Case(FakeTool(found(*("x" * 500 for _ in range(20)))), limits=limits)
    codes = [(await case.ask(call_id=f"c{n}")).get("error_code") for n in range(3)]
    assert codes[-1] in (ErrorCode.TOOL_LIMIT_REACHED, ErrorCode.COLLECTION_STOPPED)
    used = case.context.budget.usage().canonical_bytes
    assert used + limits.draft_bytes <= limits.canonical_bytes + 1_024


async def test_five_megabytes_reach_the_model_within_the_limit_and_say_what_was_left_out():
    lines = [f"line {number} " + "y" * 1_000 for number in range(5_000)]
    body = await Case(FakeTool(found(*lines))).ask()
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    assert len(text.encode()) <= RunLimits().agent_result_bytes
    assert body["truncated"] == Truncation.BYTES
    assert body["matched"] == 5_000
    assert 0 < body["shown"] == len(body["items"]) < 20


async def test_a_tool_may_ask_for_fewer_bytes_but_never_for_more():
    for wanted in (2_000, 1_000_000):
        case = Case(FakeTool(found(*("z" * 200 for _ in range(500))), agent_result_bytes=wanted))
        await case.ask()
        record = await case.record()
        assert record.projection_bytes <= min(wanted, RunLimits().agent_result_bytes)


async def test_secrets_reach_neither_the_model_nor_the_record():
    secrets = ["hunter2secret", "AKIAIOSFODNN7EXAMPLE"]
    text = f"login password={secrets[0]} key {secrets[1]}"
    case = Case(FakeTool(found(text, note=f"password={secrets[0]}")))
    arguments = envelope({"about": f"password={secrets[0]}"})
    body = await case.ask(arguments)
    seen = json.dumps(body) + (await case.record()).model_dump_json()
    assert not any(secret in seen for secret in secrets)
    assert "[REDACTED:password]" in json.dumps(body)


async def test_a_hanging_tool_times_out_and_is_really_stopped():
    stopped = asyncio.Event()

    async def hang(request, context):
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    case = Case(FakeTool(hang, timeout_s=0.05))
    assert (await case.ask())["error_code"] == ErrorCode.TOOL_TIMEOUT
    assert stopped.is_set()


async def test_a_tool_that_ignores_its_cancellation_is_left_behind(caplog):
    release = asyncio.Event()

    async def stubborn(request, context):
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return found("late")

    case = Case(FakeTool(stubborn, timeout_s=0.05))
    assert (await case.ask())["error_code"] == ErrorCode.TOOL_TIMEOUT
    assert "ignores its cancellation" in caplog.text
    release.set()
    await asyncio.sleep(0.01)
    assert (await case.record()).error_code is ErrorCode.TOOL_TIMEOUT


async def test_cancelling_the_run_stops_the_tool_and_records_the_call_as_aborted():
    running, stopped = asyncio.Event(), asyncio.Event()

    async def hang(request, context):
        running.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    case = Case(FakeTool(hang))
    task = asyncio.create_task(case.ask())
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()
    record = await case.record()
    assert (record.status, record.error_code) == (InvocationStatus.ERROR, ErrorCode.ABORTED)
    assert case.observer.names == ["ToolCallStarted", "ToolCallAborted"]


async def test_nothing_runs_in_a_run_that_is_cancelled_or_out_of_time():
    tool, clock = FakeTool(), FakeClock()
    late = Case(tool, clock=clock)
    clock.advance(10_000)
    with pytest.raises(DeadlineExceeded):
        await late.ask()
    cancelled = Case(tool)
    cancelled.context.cancellation.cancel()
    with pytest.raises(RunCancelledError):
        await cancelled.ask()
    assert tool.requests == []
    assert await late.records() == await cancelled.records() == ()


@pytest.mark.parametrize("event", ["ToolCallStarted", "ToolCallFinished"])
async def test_a_failing_required_observer_leaves_no_open_record(event):
    case = Case(observer=RecordingObserver(required=True, fail_on=event))
    with pytest.raises(ObserverFailed):
        await case.ask()
    assert (await case.record()).status is not InvocationStatus.PROJECTING


class BrokenStore(InMemoryInvocationStore):
    async def save(self, invocation):
        raise OSError("disk full")


async def test_a_failing_store_ends_the_run():
    with pytest.raises(StoreFailed):
        await Case(store=BrokenStore()).ask()


async def test_the_tool_learns_what_it_needs_and_nothing_else():
    seen = []

    async def look(request, context):
        seen.append(context)
        return nothing()

    case = Case(FakeTool(look, timeout_s=3))
    await case.ask()
    (context,) = seen
    assert (context.run_id, context.tool_call_id) == (case.context.run_id, "c1")
    assert context.reference_time == case.context.reference_time
    assert context.zone is UTC
    assert context.remaining_s == 3
    assert context.byte_budget == RunLimits().agent_result_bytes
    assert not hasattr(context, "budget")


async def test_a_call_is_on_record_before_its_tool_runs():
    seen = []

    async def look(request, context):
        seen.extend(await case.records())
        return nothing()

    case = Case(FakeTool(look))
    await case.ask()
    assert [(record.status, record.projection) for record in seen] == [
        (InvocationStatus.PROJECTING, None)
    ]


async def test_the_same_scope_has_the_same_fingerprint_and_another_has_not():
    case = Case()
    for number, about in enumerate(("x", "x", "y")):
        await case.ask(envelope({"about": about}), call_id=f"c{number}")
    first, second, third = [record.fingerprint for record in await case.records()]
    assert first == second != third


async def test_status_is_told_beside_the_text():
    case = Case(FakeTool(nothing()))
    call = ToolCall(tool_call_id="c", tool_name="look_up", arguments=envelope(), model_step=1)
    answer = await case.boundary.answer(case.context, call)
    assert (answer.evidence_status, answer.error_code) == (EvidenceStatus.NO_EVIDENCE, None)
