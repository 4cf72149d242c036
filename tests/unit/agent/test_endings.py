"""Every way a run can end: draft failures, cancellation, deadline, model, observer, store."""

import asyncio
import json
import threading
import time

import pytest
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior

from diagnosis import Cancellation, DiagnosisInput, EndReason, InvalidInput, RunLimits, RunStatus
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

DRAFT = draft_json()
FAST = RunLimits(deadline_s=0.3, reserved_s=0, model_timeout_s=0.2)


async def diagnose(model, *tools, query="why?", **options):
    async with open_for_testing(model, *(tools or (FakeTool(),))) as diagnosis:
        return await diagnosis.run(DiagnosisInput(query=query), **options)


async def hang(*_):
    await asyncio.sleep(60)


# --- the draft contract --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("", EndReason.EMPTY),
        ("  \n ", EndReason.EMPTY),
        (f"```json\n{DRAFT}\n```", EndReason.NOT_STRICT_JSON),
        (f"Sure: {DRAFT}", EndReason.NOT_STRICT_JSON),
        (f"{DRAFT} done", EndReason.NOT_STRICT_JSON),
        (DRAFT[:-1], EndReason.NOT_STRICT_JSON),
        ('{"conclusion":null,' + DRAFT[1:], EndReason.NOT_STRICT_JSON),
        (DRAFT.replace("null", "NaN"), EndReason.NOT_STRICT_JSON),
        ("nothing is wrong", EndReason.NOT_STRICT_JSON),
        (DRAFT[:-1] + " " * 40_000 + "}", EndReason.TOO_LARGE),
        ("null", EndReason.SCHEMA_INVALID),
        ("[]", EndReason.SCHEMA_INVALID),
        (DRAFT[:-1] + ',"more":1}', EndReason.SCHEMA_INVALID),
        ('{"analysis":[],"limitations":[],"recommended_actions":[]}', EndReason.SCHEMA_INVALID),
        (draft_json(limitations=[{"scope": "s"}]), EndReason.SCHEMA_INVALID),
        (
            draft_json(limitations=[{"scope": "s", "missing_information": "m", "ask_user": "yes"}]),
            EndReason.SCHEMA_INVALID,
        ),
        (
            draft_json(statements=[{"kind": "OBSERVATION", "statement": "s", "tool_call_ids": []}]),
            EndReason.SCHEMA_INVALID,
        ),
        (
            draft_json(statements=[{"kind": "GUESS", "statement": "s", "tool_call_ids": ["a"]}]),
            EndReason.SCHEMA_INVALID,
        ),
        (
            draft_json(
                statements=[{"kind": "INFERENCE", "statement": "s", "tool_call_ids": ["a", "a"]}]
            ),
            EndReason.SCHEMA_INVALID,
        ),
        (DRAFT.replace("null", '"\\ud800"'), EndReason.SCHEMA_INVALID),
    ],
)
async def test_a_draft_that_breaks_the_contract_is_discarded_without_a_second_try(text, failure):
    model, observer = ScriptedModel(calls(call()), answer(text)), RecordingObserver()
    outcome = await diagnose(model, observers=[observer])
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, failure)
    assert outcome.release.fallback.type == "INSUFFICIENT_EVIDENCE"
    assert outcome.release.fallback.facts[0].excerpt == "something happened at node-7"
    assert len(model.seen) == 2
    assert [event.failure for event in observer.of("DraftRefused")] == [failure]


async def test_a_refused_draft_without_any_fact_fails_the_run():
    outcome = await diagnose(ScriptedModel(calls(call()), answer("no")), FakeTool(nothing()))
    assert (outcome.status, outcome.end_reason) == (RunStatus.FAILED, EndReason.NOT_STRICT_JSON)
    assert outcome.release is None


async def test_white_space_around_the_json_is_json():
    outcome = await diagnose(ScriptedModel(calls(call()), answer(f"\n {DRAFT} \n")))
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, None)


async def test_a_text_beside_tool_calls_does_not_win():
    both = calls(call())
    both.parts.append(answer(DRAFT).parts[0])
    model, tool = ScriptedModel(both, answer(DRAFT)), FakeTool()
    await diagnose(model, tool)
    assert len(tool.requests) == 1


# --- cancellation and time ---------------------------------------------------------------------


async def test_cancelled_while_the_model_is_asked():
    cancellation, observer = Cancellation(), RecordingObserver()
    asyncio.get_running_loop().call_later(0.05, cancellation.cancel)
    outcome = await diagnose(
        ScriptedModel(calls(call()), hang), cancellation=cancellation, observers=[observer]
    )
    assert (outcome.status, outcome.end_reason) == (RunStatus.CANCELLED, EndReason.CANCELLED)
    assert outcome.release is None
    assert observer.names[-1] == "RunEnded"


async def test_cancelled_from_another_thread_while_a_tool_runs():
    cancellation, stopped = Cancellation(), asyncio.Event()

    async def look(request, context):
        threading.Timer(0.05, cancellation.cancel).start()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    began = time.monotonic()
    outcome = await diagnose(
        ScriptedModel(calls(call())), FakeTool(look), cancellation=cancellation
    )
    assert outcome.status is RunStatus.CANCELLED
    assert stopped.is_set()
    assert time.monotonic() - began < 10


async def test_cancelled_before_it_began_asks_nothing():
    cancellation, model = Cancellation(), ScriptedModel(answer(DRAFT))
    cancellation.cancel()
    outcome = await diagnose(model, cancellation=cancellation)
    assert outcome.status is RunStatus.CANCELLED
    assert model.seen == []


async def test_cancelled_while_release_decides_releases_nothing():
    cancellation = Cancellation()

    class CancelOnRelease(RecordingObserver):
        async def on_event(self, event):
            await super().on_event(event)
            if type(event).__name__ == "Released":
                cancellation.cancel()

    outcome = await diagnose(
        ScriptedModel(calls(call()), answer(DRAFT)),
        cancellation=cancellation,
        observers=[CancelOnRelease()],
    )
    assert outcome.status is RunStatus.CANCELLED
    assert outcome.release is None


async def test_cancelling_the_calling_task_ends_the_run_and_stays_a_cancellation():
    observer, running = RecordingObserver(), asyncio.Event()

    async def look(request, context):
        running.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(
        diagnose(ScriptedModel(calls(call())), FakeTool(look), observers=[observer])
    )
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert observer.names[-2:] == ["ToolCallAborted", "RunEnded"]
    assert observer.events[-1].status is RunStatus.CANCELLED


async def test_a_hanging_model_ends_at_its_timeout_with_what_was_found():
    outcome = await diagnose(
        ScriptedModel(calls(call()), hang), limits=RunLimits(model_timeout_s=0.2)
    )
    assert (outcome.status, outcome.end_reason) == (
        RunStatus.FALLBACK,
        EndReason.MODEL_UNAVAILABLE,
    )
    assert "0.2 s" in outcome.detail
    assert outcome.detail in outcome.release.markdown


async def test_a_hanging_model_ends_at_the_deadline_where_that_comes_first():
    limits = RunLimits(deadline_s=0.3, reserved_s=0)
    outcome = await diagnose(ScriptedModel(calls(call()), hang), limits=limits)
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, EndReason.TIMED_OUT)
    assert outcome.release.fallback.type == "BUDGET_EXHAUSTED"
    empty = await diagnose(ScriptedModel(hang), limits=limits)
    assert (empty.status, empty.end_reason) == (RunStatus.FAILED, EndReason.TIMED_OUT)


async def test_a_hanging_tool_ends_with_the_deadline():
    began = time.monotonic()
    outcome = await diagnose(
        ScriptedModel(calls(call()), answer(DRAFT)),
        FakeTool(hang),
        limits=RunLimits(deadline_s=0.3, reserved_s=0),
    )
    assert outcome.end_reason in (EndReason.TIMED_OUT, None)
    assert outcome.status in (RunStatus.FAILED, RunStatus.FALLBACK)
    assert time.monotonic() - began < 10


# --- the model ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ModelHTTPError(500, "m", {"error": "secret body"}), "HTTP 500"),
        (ModelHTTPError(401, "m", {"error": "secret body"}), "HTTP 401"),
        (UnexpectedModelBehavior("secret body"), "could not be read"),
        (ConnectionResetError("secret body"), "ConnectionResetError"),
        (asyncio.CancelledError("secret body"), "broke its own request off"),
    ],
)
async def test_a_failing_model_ends_with_one_line_and_what_was_found(failure, words):
    model = ScriptedModel(*(calls(call(id=f"c{n}")) for n in range(6)), failure)
    outcome = await diagnose(model)
    assert (outcome.status, outcome.end_reason) == (
        RunStatus.FALLBACK,
        EndReason.MODEL_UNAVAILABLE,
    )
    assert words in outcome.detail
    assert "\n" not in outcome.detail
    assert "secret" not in outcome.model_dump_json()
    assert outcome.progress.found == 6
    assert len(model.seen) == 7


async def test_a_failing_model_without_facts_fails_the_run_and_releases_nothing():
    observer = RecordingObserver()
    outcome = await diagnose(ScriptedModel(ModelHTTPError(503, "m")), observers=[observer])
    assert "Released" not in observer.names
    assert (outcome.status, outcome.end_reason) == (RunStatus.FAILED, EndReason.MODEL_UNAVAILABLE)
    assert outcome.detail.endswith(".")


# --- observers and the store ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        "RunStarted",
        "ModelCallStarted",
        "ModelCallFinished",
        "ToolCallStarted",
        "ToolCallFinished",
        "DraftReceived",
        "GuardFinished",
        "Released",
    ],
)
async def test_only_a_failing_required_observer_ends_the_run(event):
    script = ScriptedModel(calls(call()), answer(DRAFT))
    optional = await diagnose(script, observers=[RecordingObserver(fail_on=event)])
    assert optional.status is RunStatus.FALLBACK
    other = RecordingObserver()
    required = await diagnose(
        ScriptedModel(calls(call()), answer(DRAFT)),
        observers=[RecordingObserver(required=True, fail_on=event), other],
    )
    assert (required.status, required.end_reason) == (RunStatus.FAILED, EndReason.OBSERVER_FAILED)
    assert required.release is None
    assert other.names[-1] == "RunEnded"


async def test_a_failing_required_observer_of_a_refused_draft_ends_the_run():
    outcome = await diagnose(
        ScriptedModel(calls(call()), answer("no")),
        observers=[RecordingObserver(required=True, fail_on="DraftRefused")],
    )
    assert outcome.end_reason is EndReason.OBSERVER_FAILED


# --- input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["query_bytes", "input_bytes"])
async def test_a_question_over_its_limit_is_refused_before_anything_starts(limit):
    model, observer = ScriptedModel(answer(DRAFT)), RecordingObserver()
    with pytest.raises(InvalidInput) as refused:
        await diagnose(
            model, query="为" * 40, observers=[observer], limits=RunLimits(**{limit: 100})
        )
    assert "100 are taken" in refused.value.problem
    assert refused.value.mend
    assert model.seen == []
    assert observer.events == []


@pytest.mark.parametrize("query", ["", " \n\t", "\ud800"])
def test_a_blank_question_or_one_that_is_no_text_is_no_question(query):
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic's own words
        DiagnosisInput(query=query)


async def test_what_was_checked_and_found_is_told_without_a_draft():
    model = ScriptedModel(
        calls(call(id="a"), call("missing_tool", id="b"), call("other", id="c")),
        ModelHTTPError(500, "m"),
    )
    outcome = await diagnose(
        model,
        FakeTool(found("disk full", window="w1")),
        FakeTool(nothing(window="w2"), name="other"),
    )
    progress = outcome.progress
    assert (progress.found, progress.not_found, progress.failed) == (1, 1, 1)
    assert [scope.scope for scope in progress.checked_scopes] == [
        {"window": "w1"},
        None,
        {"window": "w2"},
    ]
    missing = outcome.release.fallback.missing
    assert [(each.tool_name, each.error_code) for each in missing] == [
        ("missing_tool", "TOOL_NOT_ALLOWED"),
        ("other", None),
    ]
    text = json.dumps(outcome.release.markdown)
    assert "w1" in text
    assert "w2" in text
