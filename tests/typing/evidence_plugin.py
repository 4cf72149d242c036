"""Type-checked, never run: what an evidence plugin's author writes has the types it should have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_type

from pydantic import BaseModel

from diagnosis.plugin import (
    EvidenceContext,
    EvidenceItem,
    EvidenceResult,
    EvidenceTool,
    PluginServices,
    QueryRejected,
    QueryRejection,
    evidence_tool,
    hookimpl,
)
from diagnosis.plugin.evidence_tool import FunctionTool


class Question(BaseModel):
    """A tool's request."""

    service: str


@evidence_tool(name="from_a_function", description="Made of a function.")
async def from_a_function(request: Question, context: EvidenceContext) -> EvidenceResult:
    """Refuse one service and find nothing for another."""
    if request.service == "secret":
        raise QueryRejected(QueryRejection.STATEMENT_NOT_ALLOWED)
    item = EvidenceItem(identity=request.service, fields={"at": context.reference_time.isoformat()})
    return EvidenceResult(items=(item,), scope={"service": request.service}, matched=1)


class FromAClass:
    """A tool with a state of its own."""

    name = "from_a_class"
    description = "Made of a class."
    request = Question

    async def collect(self, request: Question, context: EvidenceContext) -> EvidenceResult:
        """Ask the other one."""
        return await from_a_function.collect(request, context)


assert_type(from_a_function, FunctionTool[Question])
tools: Sequence[EvidenceTool] = [from_a_function, FromAClass()]


@hookimpl
def diagnosis_register_evidence_tools(
    settings: Any, services: PluginServices
) -> Sequence[EvidenceTool]:
    """Register both."""
    return tools
