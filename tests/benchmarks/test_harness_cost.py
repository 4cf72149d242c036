"""What the harness costs: one script of ten tool rounds on a bare agent and through the use case.

Both run in turns in one process, so that only the ratio is claimed.
"""

import asyncio
import gc
import json
import statistics
import time
import tracemalloc

from pydantic_ai import Agent, PromptedOutput
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from diagnosis import DiagnosisInput, RunLimits, RunStatus
from diagnosis.agent.prompt import load_diagnosis_prompt
from diagnosis.contracts.draft import DiagnosisDraft
from diagnosis.testing import FakeTool, draft_json, found, open_for_testing

ROUNDS = 10
TURNS = 40
LIMITS = RunLimits(model_calls=16, tool_calls=20, tool_calls_per_tool=20)
LINES = [
    f"2026-03-12T14:{n:02d}:07.123Z ERROR checkout request {n} failed: no answer after 3000 ms"
    for n in range(25)
]
RESULT = found(*LINES)
QUESTION = "why do orders fail?"
USAGE = RequestUsage(input_tokens=100, output_tokens=20)


def script():
    """A model that calls a tool ten times and then answers; how far it is stands in the history."""

    async def step(messages, info):
        done = (len(messages) - 1) // 2
        if done < ROUNDS:
            arguments = json.dumps({"previous_observation": None, "input": {"about": f"x{done}"}})
            part = ToolCallPart("look_up", arguments, tool_call_id=f"call-{done}")
            return ModelResponse(parts=[part], usage=USAGE)
        return ModelResponse(parts=[TextPart(draft_json())], usage=USAGE)

    return FunctionModel(step)


def bare_agent():
    """What a user of the framework alone would write: a function tool, a prompted output."""
    shown = json.dumps([item.fields for item in RESULT.items])
    agent = Agent(
        script(),
        output_type=PromptedOutput(DiagnosisDraft, template=False),
        instructions=load_diagnosis_prompt(),
    )

    @agent.tool_plain
    async def look_up(previous_observation: None, input: dict[str, str]) -> str:  # noqa: A002 - the envelope's key
        return shown

    return agent


async def test_time_of_a_run_against_a_bare_agent():
    agent = bare_agent()
    bare, whole = [], []
    async with open_for_testing(script(), FakeTool(RESULT)) as diagnosis:

        async def run_bare():
            await agent.run(QUESTION)

        async def run_whole():
            outcome = await diagnosis.run(DiagnosisInput(query=QUESTION), limits=LIMITS)
            assert outcome.status is RunStatus.FALLBACK
            assert outcome.usage.tool_calls == ROUNDS

        for measured, run in ((bare, run_bare), (whole, run_whole)) * TURNS:
            gc.collect()
            began = time.process_time()
            await run()
            measured.append(time.process_time() - began)
    # the first turns load what is loaded late
    bare_ms, whole_ms = (statistics.median(times[5:]) * 1000 for times in (bare, whole))
    ratio = whole_ms / bare_ms
    print(f"\nten tool rounds: bare {bare_ms:.1f} ms, whole use case {whole_ms:.1f} ms")
    print(f"ratio {ratio:.2f} (at most 1.35, aim 1.15)")
    assert ratio <= 1.35


async def test_peak_memory_of_200_concurrent_runs_against_a_bare_agent():
    agent = bare_agent()
    async with open_for_testing(script(), FakeTool(RESULT)) as diagnosis:

        async def run_bare():
            await agent.run(QUESTION)

        async def run_whole():
            await diagnosis.run(DiagnosisInput(query=QUESTION), limits=LIMITS)

        async def peak_of(run):
            await run()
            gc.collect()
            tracemalloc.start()
            await asyncio.gather(*(run() for _ in range(200)))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return peak / 200 / 2**20

        bare_mib, whole_mib = await peak_of(run_bare), await peak_of(run_whole)
    print(f"\npeak memory a run at 200 concurrent runs: bare {bare_mib:.2f} MiB, ", end="")
    print(f"whole use case {whole_mib:.2f} MiB: {whole_mib - bare_mib:.2f} MiB more (at most 1)")
    assert whole_mib - bare_mib <= 1
