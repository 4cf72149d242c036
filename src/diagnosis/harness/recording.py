"""The life of one call's record: begun, finished or aborted, each with its event."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from diagnosis.contracts.events import ToolCallAborted, ToolCallFinished, ToolCallStarted
from diagnosis.contracts.evidence import (
    ErrorCode,
    EvidenceStatus,
    InvocationStatus,
    ToolAnswer,
    ToolCall,
    ToolInvocation,
)
from diagnosis.errors import ObserverFailed, StoreFailed
from diagnosis.harness.answers import to_json
from diagnosis.harness.invocation_store import InvocationStore
from diagnosis.harness.projection import Projection
from diagnosis.harness.redaction import redact_text
from diagnosis.harness.run_context import RunContext
from diagnosis.plugin.registry import RegisteredTool

logger = logging.getLogger(__name__)

_MAX_NAME_CHARACTERS = 128

ValueT = TypeVar("ValueT")


@dataclass(slots=True)
class Attempt:
    """One call on its way through the boundary.

    Attributes:
        record: its latest state, saved or not yet.
        began_s: on the run's monotonic clock.
    """

    context: RunContext
    call: ToolCall
    record: ToolInvocation
    began_s: float

    def note(self, **changes: object) -> None:
        """Change the record that will be saved next."""
        self.record = self.record.model_copy(update=changes)


class CallRecorder:
    """Writes records to the store and tells the run's observers."""

    def __init__(self, store: InvocationStore) -> None:
        self._store = store

    async def begin(
        self, context: RunContext, call: ToolCall, tool: RegisteredTool | None
    ) -> Attempt:
        """A new record, not saved yet. Arguments too large to keep are replaced by their size."""
        raw = call.arguments.encode(errors="replace")
        fits = len(raw) <= context.limits.arguments_bytes
        record = ToolInvocation(
            run_id=context.run_id,
            tool_call_id=call.tool_call_id,
            sequence=context.collection.next_sequence(),
            model_step=call.model_step,
            # a name that no tool has is the model's own text
            tool_name=tool.name if tool else redact_text(call.tool_name[:_MAX_NAME_CHARACTERS]),
            plugin=tool.plugin if tool else None,
            arguments=redact_text(call.arguments) if fits else to_json({"bytes": len(raw)}),
            arguments_sha256=hashlib.sha256(raw).hexdigest(),
            status=InvocationStatus.PROJECTING,
            reference=tool.reference if tool else False,
            started_at=context.clock.now(),
        )
        attempt = Attempt(context, call, record, context.clock.monotonic())
        try:
            await context.tell(
                lambda run_id, at: ToolCallStarted(
                    run_id=run_id,
                    at=at,
                    step=call.model_step,
                    tool_call_id=call.tool_call_id,
                    tool_name=record.tool_name,
                )
            )
        except (asyncio.CancelledError, ObserverFailed):
            await self.abort(attempt)
            raise
        return attempt

    async def save(self, attempt: Attempt) -> None:
        """Save the record as it stands.

        Raises:
            StoreFailed: the store raised.
        """
        await self._stored(self._store.save(attempt.record))

    async def finish(
        self, attempt: Attempt, answer: ToolAnswer, projection: Projection | None
    ) -> None:
        """READY with a projection, ERROR without; both keep the exact text the model is shown."""
        context, text = attempt.context, answer.text.encode()
        context.budget.reserve_bytes(len(text))
        finished_at = context.clock.now()
        attempt.note(
            status=InvocationStatus.READY if projection else InvocationStatus.ERROR,
            evidence_status=answer.evidence_status,
            error_code=answer.error_code,
            projection=answer.text,
            projection_sha256=hashlib.sha256(text).hexdigest(),
            projection_bytes=len(text),
            finished_at=finished_at,
        )
        await self.save(attempt)
        await context.tell(
            lambda run_id, at: ToolCallFinished(
                run_id=run_id,
                at=at,
                step=attempt.call.model_step,
                tool_call_id=attempt.call.tool_call_id,
                tool_name=attempt.record.tool_name,
                evidence_status=answer.evidence_status,
                error_code=answer.error_code,
                matched=projection.matched if projection else None,
                shown=projection.shown if projection else None,
                projection_bytes=len(text),
                seconds=context.clock.monotonic() - attempt.began_s,
            )
        )

    async def abort(self, attempt: Attempt) -> None:
        """Record a call that was cut off; what fails here must not hide why it was."""
        context = attempt.context
        if attempt.record.status is not InvocationStatus.PROJECTING:
            return
        attempt.note(
            status=InvocationStatus.ERROR,
            evidence_status=EvidenceStatus.ERROR,
            error_code=ErrorCode.ABORTED,
            finished_at=context.clock.now(),
        )
        with contextlib.suppress(StoreFailed):
            await self.save(attempt)
        with contextlib.suppress(ObserverFailed):
            await context.tell(
                lambda run_id, at: ToolCallAborted(
                    run_id=run_id,
                    at=at,
                    step=attempt.call.model_step,
                    tool_call_id=attempt.call.tool_call_id,
                    tool_name=attempt.record.tool_name,
                )
            )

    async def latest_ready(self, attempt: Attempt) -> str | None:
        """The latest result of an earlier response: what `previous_observation` may name."""
        records = await self._stored(self._store.of_run(attempt.context.run_id))
        ready = [
            record.tool_call_id
            for record in records
            if record.status is InvocationStatus.READY
            and record.model_step < attempt.call.model_step
        ]
        return ready[-1] if ready else None

    @staticmethod
    async def _stored(operation: Awaitable[ValueT]) -> ValueT:
        try:
            return await operation
        except Exception as error:
            # the class only: an exception's text may hold what must not be logged
            logger.warning("the invocation store failed: %s", type(error).__name__)
            raise StoreFailed from error
