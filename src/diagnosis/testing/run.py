"""Runs without configuration: a context, a boundary and a whole application, all in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any

import pluggy
from pydantic_ai.models import Model

from diagnosis.application import Diagnosis
from diagnosis.bootstrap import open_diagnosis
from diagnosis.contracts.run import RunLimits
from diagnosis.harness.budget import RunBudget
from diagnosis.harness.clock import Clock, Deadline, SystemClock
from diagnosis.harness.invocation_store import InMemoryInvocationStore, InvocationStore
from diagnosis.harness.observers import RunEvents
from diagnosis.harness.run_context import RunContext
from diagnosis.harness.tool_boundary import ToolBoundary
from diagnosis.plugin.evidence_tool import EvidenceTool
from diagnosis.plugin.observer import RunObserver
from diagnosis.plugin.registry import EvidenceToolRegistry
from diagnosis.settings import Settings

_hookimpl = pluggy.HookimplMarker("diagnosis")


def make_context(
    *,
    limits: RunLimits | None = None,
    clock: Clock | None = None,
    observers: Sequence[RunObserver] = (),
    run_id: str = "run-1",
) -> RunContext:
    """The context of a run that nobody else knows."""
    clock = clock or SystemClock()
    limits = limits or RunLimits()
    return RunContext(
        session_id="session-1",
        run_id=run_id,
        deadline=Deadline.after(clock, limits.deadline_s),
        reference_time=clock.now(),
        zone=UTC,
        started_at_s=clock.monotonic(),
        budget=RunBudget(limits),
        events=RunEvents(observers),
    )


def make_boundary(*tools: EvidenceTool, store: InvocationStore | None = None) -> ToolBoundary:
    """A boundary over these tools, opened and frozen."""
    registry = EvidenceToolRegistry()
    for tool in tools:
        registry.register(tool, "testing")
    registry.freeze()
    return ToolBoundary(registry, store or InMemoryInvocationStore())


class _ToolsPlugin:
    """A plugin that brings ready-made tools."""

    plugin_name = "testing"

    def __init__(self, tools: Sequence[EvidenceTool]) -> None:
        self._tools = list(tools)

    @_hookimpl
    def diagnosis_register_evidence_tools(self, settings: Any, services: Any) -> list[EvidenceTool]:
        return self._tools


@asynccontextmanager
async def open_for_testing(
    model: Model, *tools: EvidenceTool, settings: Settings | None = None
) -> AsyncIterator[Diagnosis]:
    """The real application with this model and these tools; reads no settings file."""
    async with open_diagnosis(
        settings or Settings(), model=model, plugins=[_ToolsPlugin(tools)]
    ) as diagnosis:
        yield diagnosis
