"""Tools, observers, stores and providers that misbehave in unusual ways: the run keeps its form."""

import asyncio
import gc
import json
from datetime import UTC

import pytest
from pydantic_ai.messages import ToolCallPart

from diagnosis import DiagnosisInput, RunStatus
from diagnosis.agent.use_case import DiagnosisAgent
from diagnosis.application import Diagnosis
from diagnosis.contracts.events import CollectionStopped
from diagnosis.contracts.evidence import ErrorCode
from diagnosis.contracts.run import EndReason, RunLimits, StopReason
from diagnosis.errors import ObserverFailed
from diagnosis.harness.clock import SystemClock
from diagnosis.harness.invocation_store import InMemoryInvocationStore
from diagnosis.harness.observers import RunEvents
from diagnosis.testing import (
    FakeClock,
    FakeTool,
    RecordingObserver,
    ScriptedModel,
    answer,
    call,
    calls,
    draft_json,
    found,
    make_boundary,
    open_for_testing,
)

DRAFT = answer(draft_json())
EVENT = CollectionStopped(
    run_id="run-1", at=FakeClock().now(), reason=StopReason.BUDGET_LIMIT_REACHED
)


async def diagnose(model, tool, **options):
    async with open_for_testing(model, tool) as diagnosis:
        outcome = await diagnosis.run(DiagnosisInput(query="why?"), **options)
        return outcome, await diagnosis.invocations(outcome.run_id)


class PanicException(BaseException):
    """What native extensions raise: no Exception."""


@pytest.mark.parametrize(
    "raised", [SystemExit(3), PanicException(), BaseExceptionGroup("several", [PanicException()])]
)
async def test_what_a_tool_raises_ends_neither_the_run_nor_the_process(raised):
    async def collect(request, context):
        raise raised

    outcome, records = await diagnose(ScriptedModel(calls(call()), DRAFT), FakeTool(collect))
    assert outcome.status is RunStatus.FALLBACK
    assert [record.error_code for record in records] == [ErrorCode.TOOL_FAILED]


async def test_a_tool_left_behind_lives_on_and_its_late_failure_is_not_logged(caplog):
    async def collect(request, context):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            # nobody but the loop, weakly, would hold this task
            await asyncio.get_running_loop().create_future()

    async def fail_late(request, context):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.6)
            raise ValueError("password=hunter22") from None

    limits = RunLimits(tool_timeout_s=0.05)
    for hostile in (collect, fail_late):
        await diagnose(ScriptedModel(calls(call()), DRAFT), FakeTool(hostile), limits=limits)
    gc.collect()
    await asyncio.sleep(0.2)
    gc.collect()
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert len(left) == 1
    assert "hunter22" not in caplog.text
    assert "destroyed" not in caplog.text
    left[0].cancel()


@pytest.mark.parametrize("unfit", ["", "\ud800", "x" * 257, "x" * 100_000])
async def test_an_id_that_no_result_could_repeat_is_replaced(unfit):
    model = ScriptedModel(calls(call(id=unfit)), DRAFT)
    _, records = await diagnose(model, FakeTool())
    (record,) = records
    assert record.error_code is None
    assert json.loads(model.results()[0])["tool_call_id"] == record.tool_call_id == "call_1_1"


@pytest.mark.parametrize("odd", ["é" * 256, "a\nb", "\x00", " ", "💥"])
async def test_an_odd_id_that_is_text_is_kept(odd):
    model = ScriptedModel(calls(call(id=odd)), DRAFT)
    _, records = await diagnose(model, FakeTool())
    assert [record.tool_call_id for record in records] == [odd]
    assert json.loads(model.results()[0])["tool_call_id"] == odd


@pytest.mark.parametrize("value", [10**5_000, float("nan"), {1, 2}, b"x"], ids=type)
async def test_a_dict_of_arguments_that_is_no_json_is_invalid(value):
    part = ToolCallPart("look_up", {"input": {"about": value}}, tool_call_id="a")
    _, records = await diagnose(ScriptedModel(calls(part), DRAFT), FakeTool())
    assert [record.error_code for record in records] == [ErrorCode.INVALID_ARGUMENTS]


@pytest.mark.parametrize("required", [False, True])
async def test_an_observer_that_cancels_itself_has_failed_and_nobody_else_is_cancelled(required):
    class Client:
        def __init__(self):
            self.required = required

        async def on_event(self, event):
            sending = asyncio.ensure_future(asyncio.sleep(60))
            sending.cancel()
            await sending

    other = RecordingObserver()
    outcome, _ = await diagnose(
        ScriptedModel(calls(call()), DRAFT), FakeTool(), observers=[Client(), other]
    )
    assert outcome.status is (RunStatus.FAILED if required else RunStatus.FALLBACK)
    assert outcome.end_reason is (EndReason.OBSERVER_FAILED if required else None)
    assert other.names[-1] == "RunEnded"


async def test_an_event_under_way_reaches_every_observer_though_the_run_is_cancelled():
    class Slow:
        required = False

        async def on_event(self, event):
            await asyncio.sleep(60)

    other = RecordingObserver()
    events = RunEvents([Slow(), other])
    task = asyncio.create_task(events.emit(EVENT))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert other.names == ["CollectionStopped"]


async def test_a_failing_required_observer_does_not_hide_a_cancellation():
    class Slow:
        required = False

        async def on_event(self, event):
            await asyncio.sleep(60)

    failing = RecordingObserver(required=True, fail_on="CollectionStopped")
    task = asyncio.create_task(RunEvents([Slow(), failing]).emit(EVENT))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ObserverFailed):
        await RunEvents([RecordingObserver(required=True, fail_on="CollectionStopped")]).emit(EVENT)


class UnwillingToEnd(InMemoryInvocationStore):
    async def end_run(self, run_id):
        raise OSError("password=hunter22")


async def test_a_store_that_fails_after_the_end_does_not_take_the_outcome(caplog):
    store = UnwillingToEnd()
    boundary = make_boundary(FakeTool(found("a fact")), store=store)
    model = ScriptedModel(calls(call()), DRAFT)
    diagnosis = Diagnosis(
        agent=DiagnosisAgent(model=model, boundary=boundary, prompt="Diagnose."),
        boundary=boundary,
        store=store,
        clock=SystemClock(),
        limits=RunLimits(),
        zone=UTC,
        observers=(),
        plugins=(),
    )
    outcome = await diagnosis.run(DiagnosisInput(query="why?"))
    assert outcome.release is not None
    assert "OSError" in caplog.text
    assert "hunter22" not in caplog.text
