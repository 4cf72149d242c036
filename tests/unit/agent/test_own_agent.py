"""Evidence toolset and harness capability on an agent that somebody else wrote."""

import json

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, PromptedOutput
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ToolCallPart

from diagnosis import EvidenceToolset, HarnessCapability, RunContext, RunLimits
from diagnosis.errors import BudgetExhausted, DraftContractFailure
from diagnosis.testing import (
    FakeTool,
    RecordingObserver,
    ScriptedModel,
    answer,
    call,
    calls,
    found,
    open_for_testing,
)


class Summary(BaseModel):
    """What this agent answers with."""

    text: str


def agent_of(model, diagnosis, *, as_toolset=False, output_type=str):
    toolset = EvidenceToolset(diagnosis.boundary)
    agent = Agent(
        model,
        deps_type=RunContext,
        output_type=output_type,
        toolsets=[toolset] if as_toolset else [],
        capabilities=[HarnessCapability() if as_toolset else HarnessCapability(toolset)],
        retries={"tools": 0, "output": 0},
    )

    @agent.tool_plain
    async def clock() -> str:
        return "14:30"

    return agent


@pytest.mark.parametrize("as_toolset", [True, False])
async def test_evidence_tools_and_own_tools_work_side_by_side(as_toolset):
    model = ScriptedModel(
        calls(call(id="a"), ToolCallPart("clock", "{}", tool_call_id="b"), call("nope", id="c")),
        answer("done"),
    )
    observer = RecordingObserver()
    async with open_for_testing(model, FakeTool(found("disk full"))) as diagnosis:
        agent = agent_of(model, diagnosis, as_toolset=as_toolset)
        context = diagnosis.new_context(observers=[observer])
        result = await agent.run("why?", deps=context)
        records = await diagnosis.invocations(context.run_id)
    assert result.output == "done"
    assert [record.tool_call_id for record in records] == ["a", "c"]
    assert model.results()[1] == "14:30"
    assert json.loads(model.results()[2])["error_code"] == "TOOL_NOT_ALLOWED"
    assert sorted(model.tools_seen[0]) == ["clock", "look_up"]
    assert observer.names.count("ToolCallFinished") == 2
    assert context.budget.usage().model_calls == 2


async def test_the_budget_bounds_any_agent():
    model = ScriptedModel(calls(call(id=""), tokens=(700_000, 1)))
    async with open_for_testing(model, FakeTool()) as diagnosis:
        with pytest.raises(BudgetExhausted):
            await agent_of(model, diagnosis).run("why?", deps=diagnosis.new_context())


async def test_text_is_no_draft_and_needs_no_json_but_is_not_empty():
    model = ScriptedModel(answer("  "))
    async with open_for_testing(model, FakeTool()) as diagnosis:
        with pytest.raises(DraftContractFailure, match="EMPTY"):
            await agent_of(model, diagnosis).run("why?", deps=diagnosis.new_context())


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ('```json\n{"text":"x"}\n```', "NOT_STRICT_JSON"),
        ('{"text":"x","text":"y"}', "NOT_STRICT_JSON"),
        ('{"other":1}', "SCHEMA_INVALID"),
        ('{"text":"' + "x" * 2_000 + '"}', "TOO_LARGE"),
    ],
)
async def test_structured_output_of_any_agent_is_strict(text, failure):
    model = ScriptedModel(answer(text))
    async with open_for_testing(model, FakeTool()) as diagnosis:
        agent = agent_of(model, diagnosis, output_type=PromptedOutput(Summary, template=False))
        with pytest.raises(DraftContractFailure, match=failure):
            await agent.run("why?", deps=diagnosis.new_context(limits=RunLimits(draft_bytes=1_000)))


async def test_a_tool_with_the_name_of_an_evidence_tool_is_refused():
    model = ScriptedModel(answer("x"))
    async with open_for_testing(model, FakeTool()) as diagnosis:
        agent = agent_of(model, diagnosis)

        @agent.tool_plain
        async def look_up() -> str:
            return "mine"

        with pytest.raises(UserError, match="look_up"):
            await agent.run("why?", deps=diagnosis.new_context())


async def test_spans_hold_names_and_sizes_but_no_content():
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider, set_tracer_provider

    from diagnosis.agent.use_case import DiagnosisAgent
    from diagnosis.testing import draft_json, make_boundary, make_context

    exporter = InMemorySpanExporter()
    if isinstance(get_tracer_provider(), ProxyTracerProvider):
        set_tracer_provider(TracerProvider())
    provider = get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    secret_words = "wombat-quartz"
    draft = draft_json(
        limitations=[{"scope": secret_words, "missing_information": "m", "ask_user": False}]
    )
    model = ScriptedModel(calls(call(request={"about": secret_words})), answer(draft))
    for instrument in (False, True):
        exporter.clear()
        agent = DiagnosisAgent(
            model=model,
            boundary=make_boundary(FakeTool(found(secret_words))),
            prompt=f"{secret_words} prompt",
            instrument=instrument,
        )
        end = await agent.run(make_context(run_id=f"run-{instrument}"), secret_words)
        assert end.draft is not None
        spans = "".join(span.to_json() for span in exporter.get_finished_spans())
        assert secret_words not in spans
        assert ("look_up" in spans) is instrument
        # the framework's own metadata: session and run stand together on the agent's span
        assert ('"session_id' in spans.replace("\\", "") and "session-1" in spans) is instrument
        model.seen.clear()
