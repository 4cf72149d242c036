"""The toolset the framework sees: every call goes to the boundary with its raw arguments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import RunContext as FrameworkContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from diagnosis.contracts.evidence import ToolCall
from diagnosis.harness.run_context import RunContext
from diagnosis.harness.tool_boundary import ToolBoundary

UNKNOWN_TOOL = "unknown-tool"
"""Takes calls of names that do not exist. Its hyphen keeps it apart from every evidence tool."""

EVIDENCE_METADATA = {"diagnosis": "evidence"}
"""Marks the tools whose calls the boundary answers."""


class _RawArguments:
    """An argument validator that never fails: the boundary validates, records and answers."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> dict[str, Any]:  # noqa: A002 - the protocol's name
        """Keep JSON text as it came."""
        return {"raw": input if isinstance(input, str) else bytes(input).decode(errors="replace")}

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002 - the protocol's name
        """Providers that parse arguments themselves hand over a dict."""
        try:
            return {"raw": json.dumps(input, ensure_ascii=False)}
        except (TypeError, ValueError, RecursionError):  # no JSON: the boundary answers that
            return {"raw": ""}


class EvidenceToolset(AbstractToolset[RunContext]):
    """The registry's tools, executed by the boundary and by nothing else.

    Works on any PydanticAI agent whose deps is a RunContext and that has a HarnessCapability.
    """

    def __init__(self, boundary: ToolBoundary) -> None:
        self._boundary = boundary
        self._tools = {
            definition.name: ToolsetTool[RunContext](
                toolset=self, tool_def=definition, max_retries=0, args_validator=_RawArguments()
            )
            for definition in self._definitions()
        }

    @property
    def id(self) -> str:
        """Unique among the toolsets of an agent."""
        return "diagnosis-evidence"

    def _definitions(self) -> list[ToolDefinition]:
        known = [
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.parameters_json_schema,
                metadata=EVIDENCE_METADATA,
            )
            for tool in self._boundary.registry
        ]
        # never offered: the capability takes it out of every request
        sink = ToolDefinition(name=UNKNOWN_TOOL, metadata=EVIDENCE_METADATA)
        return [*known, sink]

    async def get_tools(
        self, ctx: FrameworkContext[RunContext]
    ) -> dict[str, ToolsetTool[RunContext]]:
        """The same tools in every step."""
        return dict(self._tools)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: FrameworkContext[RunContext],
        tool: ToolsetTool[RunContext],
    ) -> ToolReturn:
        """Hand one call to the boundary and its text, byte for byte, to the model."""
        context = ctx.deps
        tool_call_id = ctx.tool_call_id or ""
        answer = await self._boundary.answer(
            context,
            ToolCall(
                tool_call_id=tool_call_id,
                tool_name=context.collection.requested_name(tool_call_id) or name,
                arguments=tool_args["raw"],
                model_step=ctx.run_step,
            ),
        )
        return ToolReturn(
            return_value=answer.text,
            metadata={
                "evidence_status": answer.evidence_status,
                "error_code": answer.error_code,
            },
        )


@dataclass
class EvidenceBeside(WrapperToolset[RunContext]):
    """An agent's own tools with the evidence tools beside them.

    The framework asks several toolsets in tasks of their own, three times a step; one wrapped
    around the others is asked directly, which makes a run of many steps a tenth faster.
    """

    evidence: EvidenceToolset

    async def get_tools(
        self, ctx: FrameworkContext[RunContext]
    ) -> dict[str, ToolsetTool[RunContext]]:
        """Both kinds of tools.

        Raises:
            UserError: a tool of the agent has the name of an evidence tool.
        """
        own, evidence = await self.wrapped.get_tools(ctx), await self.evidence.get_tools(ctx)
        if clash := own.keys() & evidence.keys():
            raise UserError(f"The agent has a tool with the name of an evidence tool: {clash}.")
        return {**own, **evidence}

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: FrameworkContext[RunContext],
        tool: ToolsetTool[RunContext],
    ) -> Any:
        """To the boundary, or to the agent's own toolset."""
        responsible = self.evidence if tool.toolset is self.evidence else self.wrapped
        return await responsible.call_tool(name, tool_args, ctx, tool)
