"""The offline model keeps the tool protocol: envelopes, judgements, repairs, stops, offers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from diagnosis.agent.offline import OfflineModel
from diagnosis.contracts.draft import DiagnosisDraft

ENVELOPE: dict[str, Any] = {
    "type": "object",
    "properties": {"previous_observation": {}, "input": {"type": "object"}},
}
BARE: dict[str, Any] = {"type": "object", "properties": {"mode": {"type": "string"}}}
SCOPE = {
    "start": "2026-01-05T09:30:00+00:00",
    "end": "2026-01-05T10:00:00+00:00",
    "sources": [
        {
            "source": "mail.log",
            "first": "2026-01-05T07:00:00+00:00",
            "last": "2026-01-05T09:59:59+00:00",
        }
    ],
}
LEAD = {
    "count": 12,
    "level": "ERROR",
    "service": "mail",
    "first": "2026-01-05T09:41:00+00:00",
    "last": "2026-01-05T09:59:00+00:00",
    "new_in_window": True,
    "example": "2026-01-05T09:41:00Z ERROR relay refused message 17: quota used up",
    "source": "mail.log",
    "line": 900,
}


class Conversation:
    """A run as the framework would hold it; answers are put in by hand."""

    def __init__(self, question: str, *tools: str, schema: dict[str, Any] | None = None) -> None:
        content = json.dumps({"query": question, "previous_turn": None})
        self.messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(content)])]
        self.parameters = ModelRequestParameters(
            function_tools=[
                ToolDefinition(name=name, parameters_json_schema=schema or ENVELOPE)
                for name in tools
            ]
        )
        self.answers = 0

    async def go_on(self, settings: ModelSettings | None = None) -> ModelResponse:
        response = await OfflineModel().request(self.messages, settings, self.parameters)
        self.messages.append(response)
        return response

    def answer(self, call: ToolCallPart, **fields: Any) -> str:
        """Answer one call; returns the id it has in the run."""
        body = json.dumps({"tool_call_id": call.tool_call_id, **fields})
        part = ToolReturnPart(call.tool_name, body, tool_call_id=call.tool_call_id)
        last = self.messages[-1]
        if isinstance(last, ModelRequest):
            self.messages[-1] = ModelRequest(parts=[*last.parts, part])
        else:
            self.messages.append(ModelRequest(parts=[part]))
        return call.tool_call_id


def calls_of(response: ModelResponse) -> list[ToolCallPart]:
    return [part for part in response.parts if isinstance(part, ToolCallPart)]


def arguments_of(call: ToolCallPart) -> dict[str, Any]:
    return call.args_as_dict()


def draft_of(response: ModelResponse) -> DiagnosisDraft:
    (part,) = response.parts
    assert isinstance(part, TextPart)
    return DiagnosisDraft.model_validate_json(part.content)


def found(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "evidence_status": "EVIDENCE_FOUND",
        "scope": SCOPE,
        "items": list(items),
        "matched": len(items),
        "shown": len(items),
        "truncated": None,
        **more,
    }


EMPTY = {
    "evidence_status": "NO_EVIDENCE",
    "scope": SCOPE,
    "items": [],
    "matched": 0,
    "shown": 0,
    "truncated": None,
}


async def test_the_first_calls_judge_nothing() -> None:
    run = Conversation("why is mail not sent?", "lookup_knowledge", "query_logs")

    calls = calls_of(await run.go_on())

    assert [call.tool_name for call in calls] == ["lookup_knowledge", "query_logs"]
    assert [arguments_of(call)["previous_observation"] for call in calls] == [None, None]


async def test_only_offered_tools_are_called() -> None:
    logs_only = Conversation("why is mail not sent?", "query_logs", "restart_everything")
    knowledge_only = Conversation("why is mail not sent?", "lookup_knowledge")

    assert [c.tool_name for c in calls_of(await logs_only.go_on())] == ["query_logs"]
    assert [c.tool_name for c in calls_of(await knowledge_only.go_on())] == ["lookup_knowledge"]


async def test_without_any_log_tool_the_user_is_asked_for_logs() -> None:
    draft = draft_of(await Conversation("why is mail not sent?").go_on())

    assert draft.conclusion is None
    assert [limitation.ask_user for limitation in draft.limitations] == [True]


async def test_each_call_judges_the_latest_result_once() -> None:
    run = Conversation("why is mail not sent?", "lookup_knowledge", "query_logs")
    knowledge, logs = calls_of(await run.go_on())
    run.answer(knowledge, **EMPTY)
    latest = run.answer(logs, **found(LEAD))

    (lines,) = calls_of(await run.go_on())
    assert arguments_of(lines)["previous_observation"] == {
        "tool_call_id": latest,
        "information_gain": "GAINED",
    }
    assert arguments_of(lines)["input"]["mode"] == "lines"
    run.answer(lines, evidence_status="ERROR", error_code="TOOL_TIMEOUT")

    (changes,) = calls_of(await run.go_on())
    assert arguments_of(changes)["previous_observation"] is None
    latest = run.answer(changes, **EMPTY)

    (guidance,) = calls_of(await run.go_on())
    assert guidance.tool_name == "lookup_knowledge"
    assert arguments_of(guidance)["previous_observation"] == {
        "tool_call_id": latest,
        "information_gain": "NO_GAIN",
    }


async def test_a_found_result_that_has_nothing_to_do_with_the_question_is_no_gain() -> None:
    run = Conversation("why does billing_job fail?", "query_logs")
    (logs,) = calls_of(await run.go_on())
    run.answer(logs, **found(LEAD))

    (wide,) = calls_of(await run.go_on())

    assert arguments_of(wide)["previous_observation"]["information_gain"] == "NO_GAIN"
    assert arguments_of(wide)["input"]["start"] == "2026-01-04T10:00:00.000+00:00"


async def test_a_refused_envelope_is_repaired_as_demanded() -> None:
    run = Conversation("why is mail not sent?", "query_logs")
    (logs,) = calls_of(await run.go_on())
    judged = run.answer(logs, **found(LEAD))
    (lines,) = calls_of(await run.go_on())
    run.answer(
        lines,
        repair_required=True,
        violation_type="OUT_OF_ORDER_PREVIOUS_OBSERVATION",
        expected_previous_tool_call_id=judged,
        allowed_information_gain=["NO_GAIN"],
    )

    (again,) = calls_of(await run.go_on())

    assert arguments_of(again) == {
        "previous_observation": {"tool_call_id": judged, "information_gain": "NO_GAIN"},
        "input": arguments_of(lines)["input"],
    }


async def test_a_call_that_is_refused_again_and_again_is_given_up() -> None:
    run = Conversation("why is mail not sent?", "query_logs")
    for _ in range(2):
        (logs,) = calls_of(await run.go_on())
        run.answer(
            logs,
            repair_required=True,
            violation_type="MALFORMED_ENVELOPE",
            expected_previous_tool_call_id=None,
            allowed_information_gain=["GAINED", "NO_GAIN"],
        )

    assert draft_of(await run.go_on()).conclusion is None


@pytest.mark.parametrize(
    "last",
    [
        found(LEAD, signal="STOP_REQUIRED"),
        {"evidence_status": "ERROR", "error_code": "TOOL_FAILED", "signal": "STOP_REQUIRED"},
        {"evidence_status": "ERROR", "error_code": "COLLECTION_STOPPED"},
        {"signal": "STOP_REQUIRED"},
    ],
)
async def test_a_stop_is_answered_with_the_draft(last: dict[str, Any]) -> None:
    run = Conversation("why is mail not sent?", "lookup_knowledge", "query_logs")
    knowledge, logs = calls_of(await run.go_on())
    run.answer(knowledge, **EMPTY)
    run.answer(logs, **last)

    draft = draft_of(await run.go_on())

    assert (draft.conclusion is not None) == ("items" in last)


async def test_where_tools_are_forbidden_the_draft_is_written() -> None:
    run = Conversation("why is mail not sent?", "lookup_knowledge", "query_logs")

    assert draft_of(await run.go_on(ModelSettings(tool_choice="none"))).conclusion is None


async def test_a_schema_without_envelope_gets_the_bare_request() -> None:
    run = Conversation("why is mail not sent?", "query_logs", schema=BARE)

    (logs,) = calls_of(await run.go_on())

    assert arguments_of(logs) == {"mode": "templates", "min_level": "WARN"}


async def test_knowledge_alone_never_carries_a_conclusion() -> None:
    run = Conversation("why is mail not sent?", "lookup_knowledge", "query_logs")
    knowledge, logs = calls_of(await run.go_on())
    passage = "Mail is not sent when the relay's quota is used up. Raise the quota."
    run.answer(knowledge, **found({"title": "Mail", "section": "Causes", "excerpt": passage}))
    run.answer(logs, **EMPTY)
    response = await run.go_on()
    while calls := calls_of(response):
        run.answer(calls[0], **EMPTY)
        response = await run.go_on()

    draft = draft_of(response)
    assert draft.conclusion is None
    assert "quota" not in draft.model_dump_json()


async def test_where_a_runbook_shows_only_symptoms_its_remedy_is_looked_up_too() -> None:
    run = Conversation("why is mail not sent?", "lookup_knowledge", "query_logs")
    title = {"document_id": "d", "title": "Mail quota"}
    symptoms = {
        **title,
        "section": "Symptoms",
        "excerpt": "The relay refused a message: quota used up.",
    }
    remedy = {
        **title,
        "section": "Mitigation",
        "excerpt": "- Raise the quota.\n- Send less\n  mail.",
    }
    asked = []
    response = await run.go_on()
    while calls := calls_of(response):
        for call in calls:
            query = arguments_of(call)["input"].get("query", "")
            asked.append(query)
            if call.tool_name == "query_logs":
                first = arguments_of(call)["input"].get("min_level") == "WARN"
                run.answer(call, **(found(LEAD) if first else EMPTY))
            else:
                run.answer(call, **found(remedy if "mitigation" in query else symptoms))
        response = await run.go_on()

    draft = draft_of(response)
    assert asked.count("Mail quota mitigation") == 1
    assert [a.action for a in draft.recommended_actions][:2] == [
        "Raise the quota.",
        "Send less mail.",
    ]


async def test_a_failed_search_is_not_taken_for_an_empty_one() -> None:
    run = Conversation("why is mail not sent?", "query_logs")
    (logs,) = calls_of(await run.go_on())
    run.answer(logs, evidence_status="ERROR", error_code="TOOL_UNAVAILABLE")

    draft = draft_of(await run.go_on())

    assert draft.conclusion is None
    assert draft.analysis == ()
    assert "TOOL_UNAVAILABLE" in draft.limitations[0].missing_information


async def test_masked_text_is_never_quoted() -> None:
    run = Conversation("why is mail not sent?", "query_logs")
    (logs,) = calls_of(await run.go_on())
    masked = "2026-01-05T09:41:00Z ERROR relay with [REDACTED:password] refused the mail of today"
    run.answer(logs, **found({**LEAD, "example": masked}, signal="STOP_REQUIRED"))

    draft = draft_of(await run.go_on())

    quotes = [quote.text for item in draft.analysis for quote in item.quotes]
    assert quotes == ["refused the mail of today"]


async def test_a_follow_up_that_names_nothing_is_read_with_the_question_before_it() -> None:
    turn = {"run_id": "r", "query": "why is mail not sent?", "answer": "?", "status": "FALLBACK"}
    run = Conversation("", "lookup_knowledge")
    content = json.dumps({"query": "and since when?", "previous_turn": turn})
    run.messages = [ModelRequest(parts=[UserPromptPart(content)])]

    (call,) = calls_of(await run.go_on())

    assert arguments_of(call)["input"]["query"] == "why is mail not sent? and since when?"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3)
    ),
    max_leaves=6,
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        name: JSON_VALUES | st.just(value)
        for name, value in {**LEAD, "text": LEAD["example"], "timestamp": LEAD["first"]}.items()
    },
)
ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "evidence_status": st.sampled_from(["EVIDENCE_FOUND", "NO_EVIDENCE", "ERROR"]),
        "scope": st.just(SCOPE) | JSON_VALUES,
        "items": st.lists(ITEMS, max_size=3) | JSON_VALUES,
        "truncated": st.sampled_from([None, "ITEMS"]),
        "repair_required": st.booleans(),
    },
)


@given(question=st.text(min_size=1, max_size=60), answers=st.lists(ANSWERS, max_size=10))
@settings(max_examples=150, deadline=None)
async def test_whatever_comes_back_it_ends_with_a_valid_draft(
    question: str, answers: list[dict[str, Any]]
) -> None:
    run = Conversation(question, "lookup_knowledge", "query_logs")
    ids: set[str] = set()
    response = await run.go_on()
    for _ in range(16):
        calls = calls_of(response)
        if not calls:
            break
        for call in calls:
            ids.add(run.answer(call, **(answers.pop() if answers else EMPTY)))
        response = await run.go_on()

    draft = draft_of(response)
    assert {i for item in draft.analysis for i in item.tool_call_ids} <= ids
