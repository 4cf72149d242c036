"""The harness inside the framework's loop: budget, deadline, ids, strict output, events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext as FrameworkContext
from pydantic_ai.toolsets import AbstractToolset

from diagnosis.agent.model_failure import describe_cut, describe_model_failure, describe_refusal
from diagnosis.agent.toolset import (
    EVIDENCE_METADATA,
    UNKNOWN_TOOL,
    EvidenceBeside,
    EvidenceToolset,
)
from diagnosis.contracts.events import ModelCallFinished, ModelCallStarted
from diagnosis.contracts.run import DraftFailure, StopReason
from diagnosis.errors import (
    CollectionEnded,
    DeadlineExceeded,
    DraftContractFailure,
    ModelUnavailable,
    RunTerminated,
)
from diagnosis.harness.run_context import RunContext
from diagnosis.harness.strict_json import parse_strict_json

if TYPE_CHECKING:
    from pydantic_ai.capabilities.abstract import WrapModelRequestHandler, WrapRunHandler
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.output import OutputContext
    from pydantic_ai.run import AgentRunResult


class HarnessCapability(AbstractCapability[RunContext]):
    """Keeps one run inside its bounds. Stateless: everything about a run is in its RunContext.

    Works on any PydanticAI agent whose deps is a RunContext. Its own exceptions (`RunTerminated`)
    leave `agent.run` unwrapped.

    Args:
        evidence: the evidence tools to bring to the agent.
    """

    def __init__(self, evidence: EvidenceToolset | None = None) -> None:
        super().__init__()
        self._evidence = evidence

    def get_wrapper_toolset(
        self, toolset: AbstractToolset[RunContext]
    ) -> AbstractToolset[RunContext] | None:
        """The evidence tools beside the agent's own."""
        return None if self._evidence is None else EvidenceBeside(toolset, self._evidence)

    async def wrap_run(
        self, ctx: FrameworkContext[RunContext], *, handler: WrapRunHandler
    ) -> AgentRunResult[Any]:
        """Tools run one after another, whatever the provider thinks of it."""
        agent = ctx.agent
        assert agent is not None, "a run always has its agent"  # noqa: S101 - narrows the type
        with agent.parallel_tool_call_execution_mode("sequential"):
            return await handler()

    # --- around every model request ----------------------------------------------------------

    async def wrap_model_request(
        self,
        ctx: FrameworkContext[RunContext],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        """One bounded request; then its cost is recorded, and an answer without content refused."""
        context = ctx.deps
        began_s = context.clock.monotonic()
        response = await self._bounded(context, request_context, handler)
        calls = sum(isinstance(part, ToolCallPart) for part in response.parts)
        await self._record(ctx, response, calls, context.clock.monotonic() - began_s)
        name = request_context.model.model_name
        if not calls and (refusal := describe_refusal(response, name)):
            raise ModelUnavailable(refusal)
        if not calls and not any(
            isinstance(part, TextPart) and part.content.strip() for part in response.parts
        ):
            raise DraftContractFailure(DraftFailure.EMPTY, describe_cut(response, name))
        if calls and context.collection.draft_requested:
            raise CollectionEnded(context.collection.stop_reason or StopReason.BUDGET_LIMIT_REACHED)
        return response

    @staticmethod
    async def _bounded(
        context: RunContext,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        """Bound the request in time, also against a server that drips; type its failures."""
        limit_s = min(context.limits.model_timeout_s, context.deadline.remaining_s)
        name = request_context.model.model_name
        try:
            async with asyncio.timeout(limit_s):
                return await handler(request_context)
        except RunTerminated:
            raise
        except TimeoutError:
            if context.deadline.remaining_s <= 0:
                raise DeadlineExceeded from None
            raise ModelUnavailable(
                f"The model {name} did not answer within {limit_s:g} s."
            ) from None
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            # nobody cancelled the run: the model's client cancelled itself
            raise ModelUnavailable(f"The model {name} broke its own request off.") from error
        except Exception as error:
            raise ModelUnavailable(describe_model_failure(error, name)) from error

    async def before_model_request(
        self, ctx: FrameworkContext[RunContext], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Alive? One model call reserved; and where the draft is due, no more tool calls."""
        context = ctx.deps
        context.check_alive()
        if context.budget.draft_is_due(context.deadline.remaining_s):
            await context.stop_collecting(StopReason.BUDGET_LIMIT_REACHED)
        context.budget.reserve_model_call()
        if context.collection.stopped:
            # definitions stay: some providers refuse a history of tool calls without them
            settings = {**(request_context.model_settings or {}), "tool_choice": "none"}
            request_context.model_settings = cast("ModelSettings", settings)
            context.collection.draft_requested = True
        parameters = request_context.model_request_parameters
        request_context.model_request_parameters = replace(
            parameters,
            function_tools=[t for t in parameters.function_tools if t.name != UNKNOWN_TOOL],
        )
        await context.tell(
            lambda run_id, at: ModelCallStarted(run_id=run_id, at=at, step=ctx.run_step)
        )
        return request_context

    async def after_model_request(
        self,
        ctx: FrameworkContext[RunContext],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        """Before the response is committed: every call gets one id and a tool that exists."""
        return self._with_settled_calls(ctx, response)

    async def _record(
        self,
        ctx: FrameworkContext[RunContext],
        response: ModelResponse,
        tool_calls: int,
        seconds: float,
    ) -> None:
        context, usage = ctx.deps, response.usage
        measured = usage.has_values() and not usage.unmeasured_requests
        input_tokens = usage.input_tokens if measured else None
        output_tokens = usage.output_tokens if measured else None
        context.budget.record_model_call(
            input_tokens=input_tokens, output_tokens=output_tokens, seconds=seconds
        )
        await context.tell(
            lambda run_id, at: ModelCallFinished(
                run_id=run_id,
                at=at,
                step=ctx.run_step,
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                tool_calls=tool_calls,
                seconds=seconds,
            )
        )

    def _with_settled_calls(
        self, ctx: FrameworkContext[RunContext], response: ModelResponse
    ) -> ModelResponse:
        """Ids made unique, unknown names sent to the sink."""
        collection = ctx.deps.collection
        tools = {
            tool.name: tool for tool in (ctx.tool_manager.tool_defs if ctx.tool_manager else ())
        }
        parts: list[ModelResponsePart] = []
        evidence_calls: list[tuple[str, str]] = []
        ids: list[str] = []
        for part in response.parts:
            if not isinstance(part, ToolCallPart):
                parts.append(part)
                continue
            call_id = collection.unique_id(part.tool_call_id, ctx.run_step, ids)
            ids.append(call_id)
            definition = tools.get(part.tool_name)
            if definition is None or definition.metadata == EVIDENCE_METADATA:
                evidence_calls.append((call_id, part.tool_name))
            if definition is None:
                parts.append(
                    ToolCallPart(UNKNOWN_TOOL, part.args_as_json_str(), tool_call_id=call_id)
                )
            elif call_id == part.tool_call_id:
                parts.append(part)
            else:
                parts.append(replace(part, tool_call_id=call_id))
        collection.begin_response(evidence_calls, all_ids=ids)
        return replace(response, parts=parts)

    # --- the answer --------------------------------------------------------------------------

    async def before_output_validate(
        self,
        ctx: FrameworkContext[RunContext],
        *,
        output_context: OutputContext,
        output: str | dict[str, Any],
    ) -> str | dict[str, Any]:
        """Size, then strict JSON; the framework alone would strip fences and keep duplicates."""
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        size = len(text.encode(errors="replace"))
        if size > ctx.deps.limits.draft_bytes:
            raise DraftContractFailure(DraftFailure.TOO_LARGE)
        try:
            parse_strict_json(text)
        except ValueError:
            cut = _why_cut(ctx.messages)
            raise DraftContractFailure(DraftFailure.NOT_STRICT_JSON, cut) from None
        if not ctx.deps.budget.reserve_bytes(size):
            raise DraftContractFailure(DraftFailure.TOO_LARGE)
        return text

    async def on_output_validate_error(
        self,
        ctx: FrameworkContext[RunContext],
        *,
        output_context: OutputContext,
        output: str | dict[str, Any],
        error: ValidationError | ModelRetry,
    ) -> Any:
        """No second try: a draft of the wrong shape is discarded."""
        raise DraftContractFailure(DraftFailure.SCHEMA_INVALID) from error


def _why_cut(messages: Sequence[ModelMessage]) -> str | None:
    last = messages[-1] if messages else None
    if not isinstance(last, ModelResponse):
        return None
    return describe_cut(last, last.model_name or "in use")
