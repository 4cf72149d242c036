"""The one way from a model's tool call to evidence: every check, in order.

alive? -> stopped? -> reserve (total) -> authorise -> size -> JSON -> protocol -> reserve (per tool)
-> validate -> record PROJECTING -> collect -> redact and project -> record READY or ERROR -> answer
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from typing import Any

from pydantic import BaseModel, ValidationError

from diagnosis.contracts.evidence import (
    ErrorCode,
    EvidenceResult,
    QueryRejection,
    ToolAnswer,
    ToolCall,
    ViolationType,
)
from diagnosis.contracts.run import StopReason
from diagnosis.errors import ObserverFailed, QueryRejected, SourceNotFound, SourceUnavailable
from diagnosis.harness.answers import error_answer, repair_answer, to_json
from diagnosis.harness.collecting import collect_within
from diagnosis.harness.envelope import Envelope, read_envelope
from diagnosis.harness.invocation_store import InvocationStore
from diagnosis.harness.projection import Projection, project
from diagnosis.harness.recording import Attempt, CallRecorder
from diagnosis.harness.run_context import RunContext
from diagnosis.harness.strict_json import parse_strict_json
from diagnosis.plugin.evidence_tool import EvidenceContext
from diagnosis.plugin.registry import EvidenceToolRegistry, RegisteredTool

logger = logging.getLogger(__name__)

_LEAST_PROJECTION_BYTES = 1_024


class _Refused(Exception):
    """Carries what a call without a result is answered out of the checks."""

    def __init__(
        self,
        code: ErrorCode,
        *,
        reason: QueryRejection | None = None,
        invalid: ValidationError | None = None,
        violation: ViolationType | None = None,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.reason = reason
        self.invalid = invalid
        self.violation = violation


class ToolBoundary:
    """Holds the registry and the store; everything about a run comes with its context."""

    def __init__(self, registry: EvidenceToolRegistry, store: InvocationStore) -> None:
        self.registry = registry
        self._recorder = CallRecorder(store)

    async def answer(self, context: RunContext, call: ToolCall) -> ToolAnswer:
        """Answer one call; whatever the tool does, the answer is an observation.

        Raises:
            RunCancelledError, DeadlineExceeded: nothing more may start.
            ObserverFailed, StoreFailed: the run cannot go on.
        """
        context.check_alive()
        if context.collection.stopped:
            return error_answer(call.tool_call_id, ErrorCode.COLLECTION_STOPPED)
        tool = self.registry.get(call.tool_name)
        attempt = await self._recorder.begin(context, call, tool)
        try:
            return await self._answer(attempt, tool)
        except (asyncio.CancelledError, ObserverFailed):
            await self._recorder.abort(attempt)
            raise

    async def _answer(self, attempt: Attempt, tool: RegisteredTool | None) -> ToolAnswer:
        projection: Projection | None = None
        try:
            tool, request = await self._admit(attempt, tool)
            await self._recorder.save(attempt)
            result = await self._collect(attempt, tool, request)
            stop = await self._stop_if_due(attempt)
            projection = self._project(attempt, tool, result, stop_required=stop)
            answer = ToolAnswer(text=projection.text, evidence_status=projection.evidence_status)
        except _Refused as refusal:
            stop = await self._stop_if_due(attempt)
            answer = await self._refusal(attempt, refusal, stop_required=stop)
        await self._recorder.finish(attempt, answer, projection)
        return answer

    # --- checks ------------------------------------------------------------------------------

    async def _admit(
        self, attempt: Attempt, tool: RegisteredTool | None
    ) -> tuple[RegisteredTool, BaseModel]:
        """Every check before the tool runs."""
        context, arguments = attempt.context, attempt.call.arguments
        if not context.budget.reserve_tool_call():
            await context.stop_collecting(StopReason.BUDGET_LIMIT_REACHED)
            raise _Refused(ErrorCode.TOOL_LIMIT_REACHED)
        if tool is None:
            raise _Refused(ErrorCode.TOOL_NOT_ALLOWED)
        if len(arguments.encode(errors="replace")) > context.limits.arguments_bytes:
            raise _Refused(ErrorCode.ARGUMENTS_TOO_LARGE)
        try:
            envelope = read_envelope(parse_strict_json(arguments))
        except ValueError:
            raise _Refused(ErrorCode.INVALID_ARGUMENTS) from None
        if not isinstance(envelope, Envelope):
            raise _Refused(ErrorCode.PROTOCOL_VIOLATION, violation=envelope)
        if (judged := envelope.previous) is not None:
            attempt.note(
                judged_tool_call_id=judged.tool_call_id, judged_gain=judged.information_gain
            )
        if not context.budget.reserve_call_of_tool(tool.name):
            raise _Refused(ErrorCode.TOOL_LIMIT_REACHED)
        if context.budget.projection_bytes_left < _LEAST_PROJECTION_BYTES:
            await context.stop_collecting(StopReason.BUDGET_LIMIT_REACHED)
            raise _Refused(ErrorCode.TOOL_LIMIT_REACHED)
        return tool, self._validate(attempt, tool, envelope)

    @staticmethod
    def _validate(attempt: Attempt, tool: RegisteredTool, envelope: Envelope) -> BaseModel:
        try:
            request = tool.validate(envelope.request)
        except ValidationError as error:
            raise _Refused(ErrorCode.INVALID_ARGUMENTS, invalid=error) from None
        except ValueError:  # a lone surrogate, for one, cannot even be written as JSON
            raise _Refused(ErrorCode.INVALID_ARGUMENTS) from None
        try:
            scope = to_json({"tool": tool.name, "scope": tool.normalise(request)})
            attempt.note(fingerprint=hashlib.sha256(scope.encode()).hexdigest())
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            raise _refused_by_tool(tool, error) from None
        return request

    # --- the tool ----------------------------------------------------------------------------

    @staticmethod
    async def _collect(
        attempt: Attempt, tool: RegisteredTool, request: BaseModel
    ) -> EvidenceResult:
        context = attempt.context
        limit_s = min(
            tool.timeout_s or context.limits.tool_timeout_s, context.limits.tool_timeout_s
        )
        evidence_context = EvidenceContext(
            run_id=context.run_id,
            tool_call_id=attempt.call.tool_call_id,
            reference_time=context.reference_time,
            zone=context.zone,
            remaining_s=min(tool.timeout_s or limit_s, limit_s, context.deadline.remaining_s),
            byte_budget=_projection_limit(context, tool),
        )
        try:
            result: Any = await collect_within(tool, request, evidence_context)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            raise _refused_by_tool(tool, error) from None
        if not isinstance(result, EvidenceResult):
            raise _Refused(ErrorCode.RESULT_INVALID)
        return result

    @staticmethod
    def _project(
        attempt: Attempt, tool: RegisteredTool, result: EvidenceResult, *, stop_required: bool
    ) -> Projection:
        try:
            return project(
                result,
                tool_call_id=attempt.call.tool_call_id,
                limit=_projection_limit(attempt.context, tool),
                stop_required=stop_required,
            )
        except ValueError:
            raise _Refused(ErrorCode.RESULT_INVALID) from None

    # --- answers -----------------------------------------------------------------------------

    async def _refusal(
        self, attempt: Attempt, refusal: _Refused, *, stop_required: bool
    ) -> ToolAnswer:
        call_id = attempt.call.tool_call_id
        if refusal.violation is not None:
            return repair_answer(
                call_id,
                refusal.violation,
                expected_previous=await self._recorder.latest_ready(attempt),
                stop_required=stop_required,
            )
        return error_answer(
            call_id,
            refusal.code,
            reason=refusal.reason,
            invalid=refusal.invalid,
            stop_required=stop_required,
        )

    async def _stop_if_due(self, attempt: Attempt) -> bool:
        """Stop collecting where the next model call must be the draft; the answer then says so."""
        context, call_id = attempt.context, attempt.call.tool_call_id
        collection = context.collection
        if not collection.stopped and collection.is_last_of_response(call_id):
            if not context.budget.draft_is_due(context.deadline.remaining_s):
                return False
            await context.stop_collecting(StopReason.BUDGET_LIMIT_REACHED)
        return collection.stopped


def _projection_limit(context: RunContext, tool: RegisteredTool) -> int:
    limit = context.limits.agent_result_bytes
    return max(
        _LEAST_PROJECTION_BYTES,
        min(tool.agent_result_bytes or limit, limit, context.budget.projection_bytes_left),
    )


def _refused_by_tool(tool: RegisteredTool, error: Exception) -> _Refused:
    """A plugin may raise anything; only typed failures say more than TOOL_FAILED."""
    if isinstance(error, QueryRejected):
        return _Refused(ErrorCode.QUERY_REJECTED, reason=error.reason)
    if isinstance(error, SourceNotFound):
        return _Refused(ErrorCode.SOURCE_NOT_FOUND)
    if isinstance(error, SourceUnavailable):
        return _Refused(ErrorCode.TOOL_UNAVAILABLE)
    if isinstance(error, TimeoutError):
        return _Refused(ErrorCode.TOOL_TIMEOUT)
    # the class only: an exception's text may hold what must not be logged
    logger.warning("tool %s failed: %s", tool.name, type(error).__name__)
    return _Refused(ErrorCode.TOOL_FAILED)
