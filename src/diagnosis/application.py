"""One diagnosis from question to outcome: the agent collects and drafts, release decides."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from diagnosis.agent.use_case import DiagnosisAgent, LoopEnd
from diagnosis.agent.user_message import user_message
from diagnosis.contracts.events import GuardFinished, Released, RunEnded, RunStarted
from diagnosis.contracts.evidence import ToolAnswer, ToolCall, ToolInvocation
from diagnosis.contracts.progress import ProgressSnapshot
from diagnosis.contracts.release import DiagnosisOutcome
from diagnosis.contracts.run import DiagnosisInput, EndReason, RunLimits, RunStatus
from diagnosis.errors import ObserverFailed, StoreFailed
from diagnosis.harness.answers import to_json
from diagnosis.harness.budget import RunBudget
from diagnosis.harness.cancellation import Cancellation
from diagnosis.harness.clock import Clock, Deadline
from diagnosis.harness.invocation_store import InvocationStore
from diagnosis.harness.lifecycle import terminal_state
from diagnosis.harness.observers import RunEvents
from diagnosis.harness.run_context import RunContext
from diagnosis.harness.tool_boundary import ToolBoundary
from diagnosis.plugin.observer import RunObserver
from diagnosis.plugin.reports import PluginReport
from diagnosis.release.use_case import ReleaseDecision, ReleaseInput, decide_release

logger = logging.getLogger(__name__)


class Diagnosis:
    """An opened application: its sources are connected, its tools are fixed. Serves many runs.

    Made by `open_diagnosis`, never directly.

    Attributes:
        boundary: the tool boundary, for an `EvidenceToolset` on an agent of your own.
        plugins: what became of every plugin.
        limits: of runs that bring none of their own.
    """

    def __init__(
        self,
        *,
        agent: DiagnosisAgent,
        boundary: ToolBoundary,
        store: InvocationStore,
        clock: Clock,
        limits: RunLimits,
        zone: tzinfo,
        observers: Sequence[RunObserver],
        plugins: Sequence[PluginReport],
    ) -> None:
        self.boundary = boundary
        self.plugins = tuple(plugins)
        self.limits = limits
        self._agent = agent
        self._store = store
        self._clock = clock
        self._zone = zone
        self._observers = tuple(observers)

    async def run(
        self,
        question: DiagnosisInput,
        *,
        session_id: str | None = None,
        observers: Sequence[RunObserver] = (),
        reference_time: datetime | None = None,
        zone: tzinfo | None = None,
        limits: RunLimits | None = None,
        cancellation: Cancellation | None = None,
    ) -> DiagnosisOutcome:
        """Diagnose.

        Args:
            session_id: the conversation this belongs to; a new one by default.
            observers: get the events of this run, beside those of plugins.
            reference_time: what "now" means; the current time by default. A naive one is read in
                `zone`.
            zone: of times that carry none; `reference_time`'s, else the configured one.
            cancellation: cancel it from anywhere and the run ends as CANCELLED.

        Raises:
            InvalidInput: the question is too large; nothing was asked.
            asyncio.CancelledError: the calling task was cancelled; so was the run.
        """
        message = user_message(question, limits or self.limits)
        context = self.new_context(
            session_id=session_id,
            observers=observers,
            reference_time=reference_time,
            zone=zone,
            limits=limits,
            cancellation=cancellation,
        )
        try:
            loop = await self._loop(context, message)
            decision = await self._decide(context, question.query, loop)
            return await self._end(context, decision, loop)
        except asyncio.CancelledError:
            await self._end_abruptly(context, RunStatus.CANCELLED, EndReason.CANCELLED)
            raise
        except BaseException:
            await self._end_abruptly(context, RunStatus.FAILED, None)
            raise

    def new_context(
        self,
        *,
        session_id: str | None = None,
        observers: Sequence[RunObserver] = (),
        reference_time: datetime | None = None,
        zone: tzinfo | None = None,
        limits: RunLimits | None = None,
        cancellation: Cancellation | None = None,
    ) -> RunContext:
        """A context for one run, as `run` makes it: the deps of an agent of your own.

        Call `end_run` with it when that agent is done, so that its records may go.
        """
        now = reference_time or self._clock.now()
        zone = zone or (reference_time.tzinfo if reference_time else None) or self._zone
        limits = limits or self.limits
        return RunContext(
            session_id=session_id or uuid.uuid4().hex,
            run_id=uuid.uuid4().hex,
            deadline=Deadline.after(self._clock, limits.deadline_s),
            reference_time=now if now.tzinfo else now.replace(tzinfo=zone),
            zone=zone,
            started_at_s=self._clock.monotonic(),
            budget=RunBudget(limits),
            cancellation=cancellation or Cancellation(),
            events=RunEvents([*self._observers, *observers]),
        )

    async def call_tool(
        self, tool_name: str, request: Mapping[str, Any], context: RunContext | None = None
    ) -> ToolAnswer:
        """One evidence call through the boundary, without a model: what one would be shown.

        Args:
            request: the tool's own request; the envelope is added.
        """
        context = context or self.new_context()
        arguments = to_json({"previous_observation": None, "input": dict(request)})
        call_id = f"call_{uuid.uuid4().hex[:12]}"
        try:
            return await self.boundary.answer(
                context,
                ToolCall(
                    tool_call_id=call_id, tool_name=tool_name, arguments=arguments, model_step=1
                ),
            )
        finally:
            await self._store.end_run(context.run_id)

    async def invocations(self, run_id: str) -> tuple[ToolInvocation, ...]:
        """The canonical records of a run, while retention keeps them."""
        return await self._store.of_run(run_id)

    async def end_run(self, context: RunContext) -> None:
        """End a run of an agent of your own: retention may now remove its records."""
        await self._store.end_run(context.run_id)

    # --- the steps of a run ------------------------------------------------------------------

    async def _loop(self, context: RunContext, message: str) -> LoopEnd:
        try:
            await context.tell(
                lambda run_id, at: RunStarted(
                    run_id=run_id,
                    at=at,
                    session_id=context.session_id,
                    tools=self.boundary.registry.names,
                    model=self._agent.model.model_name,
                )
            )
        except ObserverFailed:
            return LoopEnd(end_reason=EndReason.OBSERVER_FAILED)
        return await self._agent.run(context, message)

    async def _decide(self, context: RunContext, query: str, loop: LoopEnd) -> ReleaseDecision:
        try:
            records = await self._records(context.run_id)
        except StoreFailed:
            return ReleaseDecision(RunStatus.FAILED, EndReason.STORE_FAILED, ProgressSnapshot())
        decision = decide_release(
            ReleaseInput(
                run_id=context.run_id,
                query=query,
                loop=loop,
                invocations=records,
                stop_reason=context.collection.stop_reason,
                usage=context.budget.usage(context.elapsed_s),
                tools=self.boundary.registry.names,
                model=self._agent.model.model_name,
                rule_based=getattr(self._agent.model, "rule_based", False),
            )
        )
        try:
            await self._announce(context, decision)
        except ObserverFailed:
            return ReleaseDecision(RunStatus.FAILED, EndReason.OBSERVER_FAILED, decision.progress)
        if context.cancellation.cancelled:
            # cancelled while release decided: nothing is released
            return ReleaseDecision(RunStatus.CANCELLED, EndReason.CANCELLED, decision.progress)
        return decision

    async def _records(self, run_id: str) -> tuple[ToolInvocation, ...]:
        try:
            return await self._store.of_run(run_id)
        except Exception as error:
            raise StoreFailed from error

    @staticmethod
    async def _announce(context: RunContext, decision: ReleaseDecision) -> None:
        if (verification := decision.verification) is not None:
            await context.tell(
                lambda run_id, at: GuardFinished(
                    run_id=run_id,
                    at=at,
                    accepted=verification.accepted,
                    violations=tuple(each.code.value for each in verification.violations),
                )
            )
        if decision.release is None:
            return
        fallback = decision.release.fallback
        await context.tell(
            lambda run_id, at: Released(
                run_id=run_id,
                at=at,
                status=decision.status,
                fallback_type=fallback.type.value if fallback else None,
            )
        )

    async def _end(
        self, context: RunContext, decision: ReleaseDecision, loop: LoopEnd
    ) -> DiagnosisOutcome:
        context.lifecycle.finish(terminal_state(decision.status, decision.end_reason))
        usage = context.budget.usage(context.elapsed_s)
        await self._close(context, decision.status, decision.end_reason)
        return DiagnosisOutcome(
            run_id=context.run_id,
            status=decision.status,
            end_reason=decision.end_reason,
            release=decision.release,
            draft=loop.draft if decision.status is RunStatus.SUCCESS else None,
            checks=decision.checks,
            usage=usage,
            progress=decision.progress,
            detail=loop.detail,
        )

    async def _end_abruptly(
        self, context: RunContext, status: RunStatus, end_reason: EndReason | None
    ) -> None:
        if context.lifecycle.finish(terminal_state(status, end_reason)):
            await self._close(context, status, end_reason)

    async def _close(
        self, context: RunContext, status: RunStatus, end_reason: EndReason | None
    ) -> None:
        """The last event, and the end of the records' life in the run."""
        with contextlib.suppress(ObserverFailed):  # the run is over: there is nothing left to end
            await context.tell(
                lambda run_id, at: RunEnded(
                    run_id=run_id,
                    at=at,
                    status=status,
                    end_reason=end_reason,
                    usage=context.budget.usage(context.elapsed_s),
                )
            )
        try:
            await self._store.end_run(context.run_id)
        except Exception as error:  # noqa: BLE001 - only retention suffers: the outcome stands
            logger.warning("the end of a run could not be stored: %s", type(error).__name__)
