"""Builds the one agent that owns the loop. It keeps nothing of a run: that is all in RunContext."""

from __future__ import annotations

from pydantic_ai import Agent, PromptedOutput
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from diagnosis.agent.capability import HarnessCapability
from diagnosis.agent.toolset import EvidenceToolset
from diagnosis.contracts.draft import DiagnosisDraft
from diagnosis.contracts.run import RunLimits
from diagnosis.harness.run_context import RunContext

AGENT_NAME = "diagnosis_agent"


def build_agent(
    *, model: Model, toolset: EvidenceToolset, instrument: bool
) -> Agent[RunContext, DiagnosisDraft]:
    """One agent: sequential tools, no retries, a prompted strict draft.

    Its instructions and settings come with each run.

    Args:
        instrument: send spans to the configured Logfire; never prompts, arguments or results.
    """
    capabilities: list[AbstractCapability[RunContext]] = [HarnessCapability(toolset)]
    if instrument:
        capabilities.insert(0, _instrumentation())
    return Agent(
        model,
        name=AGENT_NAME,
        deps_type=RunContext,
        # the schema stands in the one prompt: this works with every provider, NativeOutput not
        output_type=PromptedOutput(DiagnosisDraft, template=False),
        capabilities=capabilities,
        retries={"tools": 0, "output": 0},
        # with "early", a JSON text beside tool calls would win and the tools be skipped
        end_strategy="graceful",
    )


def request_settings(limits: RunLimits) -> ModelSettings:
    """What every request of a run carries: one reserved model call is one HTTP request."""
    return ModelSettings(
        max_tokens=limits.max_output_tokens,
        max_retries=0,
        parallel_tool_calls=False,
        timeout=limits.model_timeout_s,
    )


def _instrumentation() -> AbstractCapability[RunContext]:
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.models.instrumented import InstrumentationSettings

    return Instrumentation(settings=InstrumentationSettings(include_content=False))
