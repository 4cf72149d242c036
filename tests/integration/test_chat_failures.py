"""Servers that fail, hang or talk nonsense: one request, one line, what was found until then."""

from __future__ import annotations

import asyncio
import json
import socket
import time

import pytest

from diagnosis import (
    Cancellation,
    DiagnosisInput,
    EndReason,
    RunLimits,
    RunStatus,
    open_diagnosis,
)
from diagnosis.models.routing import chat_model
from diagnosis.testing import FakeTool, answer, call, calls, draft_json, found, open_for_testing

NULL_DRAFT = answer(draft_json())
ENOUGH_S = 20
"""Nothing that is bounded at about a second takes this long, however busy the machine."""


async def diagnose(model, *tools, **options):
    async with open_for_testing(model, *(tools or (FakeTool(),))) as diagnosis:
        return await diagnosis.run(DiagnosisInput(query="why?"), **options)


def assert_one_clear_line(
    outcome, *words: str, end_reason: EndReason = EndReason.MODEL_UNAVAILABLE
) -> None:
    assert outcome.end_reason is end_reason
    assert outcome.detail
    assert "\n" not in outcome.detail
    assert len(outcome.detail) < 200
    assert "test-model" in outcome.detail
    for word in words:
        assert word in outcome.detail
    assert "do-not-show" not in outcome.model_dump_json()
    assert "Traceback" not in outcome.model_dump_json()


ERROR = {"error": {"message": "do-not-show this", "type": "server_error", "code": None}}
BROKEN = [
    ((429, ERROR), {"headers": (("Retry-After", "1"),)}, ["HTTP 429", "no more requests"]),
    (
        (429, ERROR),
        {"headers": (("Retry-After-Ms", "5"), ("x-should-retry", "true"))},
        ["HTTP 429"],
    ),
    ((400, ERROR), {}, ["HTTP 400"]),
    ((401, ERROR), {}, ["HTTP 401", "API key"]),
    ((403, ERROR), {}, ["HTTP 403"]),
    ((404, ERROR), {}, ["HTTP 404", "model's name"]),
    ((408, ERROR), {}, ["HTTP 408"]),
    ((409, ERROR), {}, ["HTTP 409"]),
    ((500, ERROR), {}, ["HTTP 500"]),
    ((500, ""), {}, ["HTTP 500"]),
    ((502, "<html>do-not-show</html>"), {"content_type": "text/html"}, ["HTTP 502"]),
    ((503, ERROR), {"headers": (("Retry-After", "120"),)}, ["HTTP 503"]),
    ((200, '{"id": "do-not-show", '), {}, ["could not be read"]),
    ((200, ""), {}, ["could not be read"]),
    ((200, b"\xff\xfe\x00do-not-show"), {}, ["could not be read"]),
    ((200, "<html>do-not-show</html>"), {"content_type": "text/html"}, ["could not be read"]),
    ((200, "do-not-show"), {"content_type": "text/plain"}, ["could not be read"]),
    ((200, {"result": "do-not-show"}), {}, ["could not be read"]),
    ((200, []), {}, ["could not be read"]),
    ((200, "null"), {}, ["could not be read"]),
    ((200, '"do-not-show"'), {}, ["could not be read"]),
    ((200, ERROR), {}, ["could not be read"]),
]


@pytest.mark.parametrize(("arguments", "options", "words"), BROKEN)
async def test_a_broken_answer_ends_the_run_after_one_request(
    chat, arguments, options, words
) -> None:
    chat.plays(calls(call()), chat.reply(*arguments, **options), NULL_DRAFT)
    outcome = await diagnose(chat.model())
    assert outcome.status is RunStatus.FALLBACK
    assert_one_clear_line(outcome, *words)
    assert outcome.release.fallback.facts[0].excerpt == "something happened at node-7"
    assert outcome.detail in outcome.release.markdown
    assert len(chat.requests) == 2
    assert outcome.usage.model_calls == 2


def set_choice(**fields):
    return lambda body: body["choices"][0].update(fields)


def set_message(**fields):
    return lambda body: body["choices"][0]["message"].update(fields)


@pytest.mark.parametrize(
    "edit",
    [
        lambda body: body.update(choices=[]),
        lambda body: body.update(choices=None),
        lambda body: body.update(usage={}),
        set_choice(message=None),
        set_message(tool_calls=[{"id": "x", "type": "function"}]),
        set_message(tool_calls=[{"type": "function", "function": {"name": "look_up"}}]),
        set_message(content={"text": "do-not-show"}),
    ],
)
async def test_a_completion_of_the_wrong_shape_cannot_be_read(chat, edit) -> None:
    chat.plays(calls(call()), chat.edited(NULL_DRAFT, edit))
    outcome = await diagnose(chat.model())
    assert outcome.status is RunStatus.FALLBACK
    assert_one_clear_line(outcome, "could not be read")
    assert len(chat.requests) == 2


async def test_a_500_in_round_seven_keeps_what_six_rounds_found(chat) -> None:
    rounds = (calls(call(request={"about": f"part {n}"}, id=f"c{n}")) for n in range(1, 7))
    chat.plays(*rounds, chat.reply(500, ERROR))

    async def look(request, context):
        return found(f"error E{request.about[-1]} at node-7", part=request.about)

    outcome = await diagnose(chat.model(), FakeTool(look))
    assert (outcome.status, outcome.end_reason) == (
        RunStatus.FALLBACK,
        EndReason.MODEL_UNAVAILABLE,
    )
    assert outcome.detail == "The model test-model answered HTTP 500."
    assert [fact.excerpt for fact in outcome.release.fallback.facts] == [
        f"error E{n} at node-7" for n in range(1, 7)
    ]
    for n in range(1, 7):
        assert f"part {n}" in outcome.release.markdown
        assert f"error E{n} at node-7" in outcome.release.markdown
    assert outcome.progress.found == 6
    assert len(chat.requests) == 7


async def test_a_server_that_fails_at_once_fails_the_run(chat) -> None:
    chat.plays(chat.reply(500, ERROR))
    outcome = await diagnose(chat.model())
    assert outcome.status is RunStatus.FAILED
    assert_one_clear_line(outcome, "HTTP 500")
    assert outcome.release is None
    assert len(chat.requests) == 1


async def test_a_connection_dropped_in_the_middle_ends_the_run_after_one_request(chat) -> None:
    chat.plays(calls(call()), chat.drop(NULL_DRAFT), NULL_DRAFT)
    outcome = await diagnose(chat.model())
    assert outcome.status is RunStatus.FALLBACK
    assert_one_clear_line(outcome, "could not be reached")
    assert len(chat.requests) == 2


async def test_a_refused_connection_is_one_line() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]  # bound, not listening: nobody else takes it
        model = chat_model("openai:test-model", base_url=f"http://127.0.0.1:{port}")
        outcome = await diagnose(model)
    assert outcome.status is RunStatus.FAILED
    assert_one_clear_line(outcome, "could not be reached", "base URL")


@pytest.mark.parametrize("status", [302, 307, 308])
async def test_a_redirect_is_not_followed(chat, status) -> None:
    """It would be a second request, and could carry the evidence to a server nobody configured."""
    elsewhere = chat.reply(status, headers=(("Location", f"{chat.url}/elsewhere"),))
    chat.plays(calls(call()), elsewhere, NULL_DRAFT)
    outcome = await diagnose(chat.model())
    assert [request.line.split()[1] for request in chat.requests] == ["/v1/chat/completions"] * 2
    assert_one_clear_line(outcome, f"HTTP {status}", "base URL")


# --- filters and limits at the provider ----------------------------------------------------------


def filtered(content):
    def edit(body):
        set_choice(finish_reason="content_filter")(body)
        set_message(content=content)(body)

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        filtered(None),
        filtered(""),
        filtered('{"conclusion": {"root_cause": "do-not-show'),
        set_message(refusal="do-not-show", content=None),
    ],
)
async def test_a_filtered_answer_says_that_the_content_was_refused(chat, edit) -> None:
    chat.plays(calls(call()), chat.edited(NULL_DRAFT, edit))
    outcome = await diagnose(chat.model())
    assert outcome.status is RunStatus.FALLBACK
    assert_one_clear_line(outcome, "refused the content")
    assert len(chat.requests) == 2


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (None, EndReason.EMPTY),
        ("", EndReason.EMPTY),
        (draft_json()[:40], EndReason.NOT_STRICT_JSON),
    ],
)
async def test_an_answer_cut_at_the_token_limit_says_so(chat, text, failure) -> None:
    def edit(body):
        body["choices"][0]["finish_reason"] = "length"
        body["choices"][0]["message"]["content"] = text

    chat.plays(calls(call()), chat.edited(NULL_DRAFT, edit))
    outcome = await diagnose(chat.model())
    assert outcome.status is RunStatus.FALLBACK
    assert_one_clear_line(outcome, "output tokens", end_reason=failure)
    assert len(chat.requests) == 2


@pytest.mark.parametrize("reason", ["length", "content_filter", "guardrail", None])
async def test_a_whole_draft_counts_whatever_reason_is_given_for_its_end(chat, reason) -> None:
    chat.plays(calls(call()), chat.edited(NULL_DRAFT, set_choice(finish_reason=reason)))
    outcome = await diagnose(chat.model())
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, None)


async def test_a_call_cut_at_the_token_limit_is_an_observation(chat) -> None:
    cut = calls(call(id="a", raw='{"previous_observation":null,"input":{"ab'))
    chat.plays(chat.edited(cut, set_choice(finish_reason="length")), NULL_DRAFT)
    outcome = await diagnose(chat.model())
    [result] = chat.requests[-1].messages("tool")
    assert json.loads(result["content"])["error_code"] == "INVALID_ARGUMENTS"
    assert outcome.end_reason is None


# --- time ----------------------------------------------------------------------------------------


HANGS = ["hang", "hang_inside", "drip"]


def hanging(chat, how):
    return chat.hang if how == "hang" else getattr(chat, how)(NULL_DRAFT)


@pytest.mark.parametrize("how", HANGS)
async def test_a_hanging_server_ends_at_the_models_time_limit(chat, how) -> None:
    chat.plays(calls(call()), hanging(chat, how))
    asked = asyncio.create_task(
        diagnose(chat.model(), limits=RunLimits(model_timeout_s=1, deadline_s=300))
    )
    exchange = await chat.received(2)
    began = time.monotonic()
    outcome = await asked
    assert 0.5 < time.monotonic() - began < ENOUGH_S
    assert outcome.status is RunStatus.FALLBACK
    assert_one_clear_line(outcome, "did not answer")
    assert outcome.progress.found == 1
    assert len(chat.requests) == 2
    await asyncio.wait_for(exchange.gone.wait(), ENOUGH_S)


@pytest.mark.parametrize("how", HANGS)
async def test_a_hanging_server_ends_at_the_deadline_where_that_comes_first(chat, how) -> None:
    chat.plays(calls(call()), hanging(chat, how))
    limits = RunLimits(model_timeout_s=200, deadline_s=2, reserved_s=0)
    began = time.monotonic()
    outcome = await diagnose(chat.model(), limits=limits)
    assert 1.9 < time.monotonic() - began < ENOUGH_S
    assert (outcome.status, outcome.end_reason) == (RunStatus.FALLBACK, EndReason.TIMED_OUT)
    assert outcome.release.fallback.type == "BUDGET_EXHAUSTED"
    assert outcome.progress.found == 1
    assert len(chat.requests) == 2


@pytest.mark.parametrize("how", HANGS)
async def test_cancelling_closes_the_connection_within_a_second(chat, how) -> None:
    chat.plays(hanging(chat, how))
    cancellation = Cancellation()
    asked = asyncio.create_task(diagnose(chat.model(), cancellation=cancellation))
    exchange = await chat.received(1)
    await asyncio.sleep(0.1)
    cancelled_at = time.monotonic()
    cancellation.cancel()
    outcome = await asked
    await asyncio.wait_for(exchange.gone.wait(), ENOUGH_S)
    assert exchange.closed_at - cancelled_at < 1
    assert (outcome.status, outcome.end_reason) == (RunStatus.CANCELLED, EndReason.CANCELLED)
    assert outcome.release is None
    assert len(chat.requests) == 1


async def test_cancelling_the_task_closes_the_connection_within_a_second(chat) -> None:
    chat.plays(chat.hang)
    asked = asyncio.create_task(diagnose(chat.model()))
    exchange = await chat.received(1)
    cancelled_at = time.monotonic()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await asyncio.wait_for(exchange.gone.wait(), ENOUGH_S)
    assert exchange.closed_at - cancelled_at < 1


async def test_the_application_serves_on_after_a_server_that_hung(chat) -> None:
    chat.plays(chat.hang, calls(call(id="a")), NULL_DRAFT)
    async with open_for_testing(chat.model(), FakeTool()) as diagnosis:
        first = await diagnosis.run(
            DiagnosisInput(query="why?"), limits=RunLimits(model_timeout_s=0.3)
        )
        second = await diagnosis.run(DiagnosisInput(query="why?"))
    assert first.end_reason is EndReason.MODEL_UNAVAILABLE
    assert (second.status, second.end_reason) == (RunStatus.FALLBACK, None)


async def test_closing_the_application_closes_the_connections_of_the_model_it_made(chat) -> None:
    chat.plays(NULL_DRAFT)
    async with open_diagnosis(chat.settings()) as diagnosis:
        outcome = await diagnosis.run(DiagnosisInput(query="why?"))
    assert outcome.end_reason is None
    try:
        await chat.until_nobody_is_connected(within_s=1)
    finally:
        async with diagnosis._agent.model:
            pass  # else the open connection would fail another test
