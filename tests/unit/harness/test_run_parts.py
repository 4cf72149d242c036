"""The small handles of a run: cancellation, deadline, observers, retries, ids, records."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest

from diagnosis.contracts.events import CollectionStopped
from diagnosis.contracts.evidence import InvocationStatus, ToolInvocation
from diagnosis.contracts.run import StopReason
from diagnosis.errors import DeadlineExceeded, ObserverFailed, RunCancelledError
from diagnosis.harness.cancellation import Cancellation
from diagnosis.harness.clock import SystemClock
from diagnosis.harness.collection import Collection
from diagnosis.harness.invocation_store import InMemoryInvocationStore
from diagnosis.harness.lifecycle import RunState
from diagnosis.harness.observers import RunEvents
from diagnosis.harness.retry import FailureKind, Operation, RetryPolicy
from diagnosis.testing import FakeClock, RecordingObserver, make_context

EVENT = CollectionStopped(
    run_id="r", at=datetime(2026, 1, 1, tzinfo=UTC), reason=StopReason.BUDGET_LIMIT_REACHED
)


def test_cancelling_from_another_thread_calls_back_once():
    cancellation, called = Cancellation(), []
    cancellation.on_cancel(lambda: called.append("kept"))
    forget = cancellation.on_cancel(lambda: called.append("forgotten"))
    forget()
    threads = [threading.Thread(target=cancellation.cancel) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cancellation.cancelled
    assert called == ["kept"]


def test_a_callback_on_a_cancelled_run_is_called_at_once():
    cancellation, called = Cancellation(), []
    cancellation.cancel()
    cancellation.on_cancel(lambda: called.append(1))()
    assert called == [1]


def test_nothing_starts_after_the_deadline_or_cancellation_or_the_end():
    clock = FakeClock()
    context = make_context(clock=clock)
    context.check_alive()
    clock.advance(context.limits.deadline_s)
    with pytest.raises(DeadlineExceeded):
        context.check_alive()
    cancelled = make_context()
    cancelled.cancellation.cancel()
    with pytest.raises(RunCancelledError):
        cancelled.check_alive()
    ended = make_context()
    ended.lifecycle.finish(RunState.FALLBACK)
    with pytest.raises(RunCancelledError):
        ended.check_alive()


def test_the_clocks_are_aware_and_monotonic():
    for clock in (SystemClock(), FakeClock()):
        assert clock.now().tzinfo is not None
        assert clock.monotonic() <= clock.monotonic()


async def test_an_optional_observer_that_fails_is_left_out_and_the_run_goes_on():
    failing, other = RecordingObserver(fail_on="CollectionStopped"), RecordingObserver()
    events = RunEvents([failing, other])
    await events.emit(EVENT)
    await events.emit(EVENT)
    assert len(failing.events) == 1
    assert len(other.events) == 2


async def test_a_required_observer_that_fails_ends_the_run_once_and_the_others_still_hear_it():
    failing = RecordingObserver(required=True, fail_on="CollectionStopped")
    other = RecordingObserver()
    events = RunEvents([failing, other])
    with pytest.raises(ObserverFailed):
        await events.emit(EVENT)
    await events.emit(EVENT)
    assert len(other.events) == 2


async def test_cancelling_a_run_is_no_failure_of_its_observer():
    class Slow:
        required = True

        async def on_event(self, event):
            await asyncio.sleep(60)

    task = asyncio.create_task(RunEvents([Slow()]).emit(EVENT))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("operation", "failure", "made", "allowed"),
    [
        (Operation.SEMANTIC_GUARD, FailureKind.TIMEOUT, 1, True),
        (Operation.SEMANTIC_GUARD, FailureKind.TIMEOUT, 2, False),
        (Operation.INTENT_ROUTER, FailureKind.RATE_LIMITED, 1, True),
        (Operation.INTENT_ROUTER, FailureKind.REFUSED, 1, False),
        (Operation.AGENT, FailureKind.NETWORK, 1, False),
        (Operation.EVIDENCE_TOOL, FailureKind.SERVER_ERROR, 1, False),
        (Operation.EVIDENCE_REPAIR, FailureKind.NETWORK, 1, False),
        (Operation.SEMANTIC_GUARD, FailureKind.CANCELLED, 1, False),
        (Operation.SEMANTIC_GUARD, FailureKind.BUDGET_EXHAUSTED, 1, False),
        (Operation.SEMANTIC_GUARD, FailureKind.NO_EVIDENCE, 1, False),
    ],
)
def test_only_technical_failures_of_router_and_guard_are_tried_again(
    operation, failure, made, allowed
):
    assert RetryPolicy().allows_another(operation, made, failure) is allowed


def test_an_id_is_kept_unless_it_is_empty_or_was_used():
    collection = Collection()
    assert collection.unique_id("a", 1, []) == "a"
    assert collection.unique_id("", 1, ["a"]) == "call_1_2"
    assert collection.unique_id("a", 1, ["a"]) == "call_1_2"
    collection.begin_response([("a", "look_up"), ("call_2_1", "look_up")], ["a", "call_2_1"])
    assert collection.unique_id("a", 2, []) == "call_2_2"
    assert collection.requested_name("a") == "look_up"
    assert not collection.is_last_of_response("a")
    assert collection.is_last_of_response("call_2_1")


def test_the_first_stop_reason_stays():
    collection = Collection()
    assert collection.stop(StopReason.BUDGET_LIMIT_REACHED)
    assert not collection.stop(StopReason.INFORMATION_SATURATED)
    assert collection.stop_reason is StopReason.BUDGET_LIMIT_REACHED


def _record(run_id="r", call_id="c", status=InvocationStatus.PROJECTING, sequence=1):
    return ToolInvocation(
        run_id=run_id,
        tool_call_id=call_id,
        sequence=sequence,
        model_step=1,
        tool_name="look_up",
        arguments="{}",
        arguments_sha256="0",
        status=status,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize("final", [InvocationStatus.READY, InvocationStatus.ERROR])
async def test_a_record_is_finished_once_and_never_changes_again(final):
    store = InMemoryInvocationStore()
    await store.save(_record())
    await store.save(_record(status=final))
    with pytest.raises(ValueError, match="cannot change"):
        await store.save(_record(status=InvocationStatus.READY))
    assert [record.status for record in await store.of_run("r")] == [final]


async def test_records_come_in_their_sequence_and_by_run():
    store = InMemoryInvocationStore()
    await store.save(_record(call_id="b", sequence=2))
    await store.save(_record(call_id="a", sequence=1))
    await store.save(_record(run_id="other"))
    assert [record.tool_call_id for record in await store.of_run("r")] == ["a", "b"]
    assert await store.of_run("unknown") == ()


async def test_only_ended_runs_are_forgotten_and_the_oldest_first():
    store = InMemoryInvocationStore(ended_runs=2)
    for number in range(5):
        await store.save(_record(run_id=f"run-{number}"))
    for number in range(1, 5):
        await store.end_run(f"run-{number}")
    kept = [number for number in range(5) if await store.of_run(f"run-{number}")]
    assert kept == [0, 3, 4]
