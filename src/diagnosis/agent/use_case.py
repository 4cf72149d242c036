"""Runs the agent once for one question and tells how its loop ended. Sets no terminal state."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai import CancellationToken, UsageLimits
from pydantic_ai.exceptions import (
    RunCancelled,
    RunTimedOut,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.models import Model

from diagnosis.agent.factory import build_agent, request_settings
from diagnosis.agent.model_failure import describe_model_failure
from diagnosis.agent.prompt import instructions
from diagnosis.agent.toolset import EvidenceToolset
from diagnosis.contracts.draft import DiagnosisDraft
from diagnosis.contracts.events import DraftReceived, DraftRefused
from diagnosis.contracts.run import EndReason, RunLimits
from diagnosis.errors import (
    BudgetExhausted,
    CollectionEnded,
    DeadlineExceeded,
    DraftContractFailure,
    ModelUnavailable,
    ObserverFailed,
    RunCancelledError,
    RunTerminated,
    StoreFailed,
)
from diagnosis.harness.run_context import RunContext
from diagnosis.harness.tool_boundary import ToolBoundary


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """How the loop ended: with a draft, or with the reason why there is none.

    Attributes:
        detail: one line for the user where something technical ended it.
    """

    draft: DiagnosisDraft | None = None
    end_reason: EndReason | None = None
    detail: str | None = None


class DiagnosisAgent:
    """The use case of the loop; the model, the tools and the prompt are the application's.

    Args:
        prompt: the diagnosis prompt, its schema filled in.
        instrument: whether spans (never content) go to the configured Logfire.
    """

    def __init__(
        self, *, model: Model, boundary: ToolBoundary, prompt: str, instrument: bool = False
    ) -> None:
        self.model = model
        self._prompt = prompt
        self._agent = build_agent(
            model=model, toolset=EvidenceToolset(boundary), instrument=instrument
        )

    async def run(self, context: RunContext, message: str) -> LoopEnd:
        """Run the loop for one user message.

        Raises:
            asyncio.CancelledError: the task itself was cancelled from outside.
        """
        try:
            context.check_alive()
            draft = await self._loop(context, message)
            await context.tell(
                lambda run_id, at: DraftReceived(
                    run_id=run_id,
                    at=at,
                    draft_bytes=len(draft.model_dump_json().encode()),
                    statements=len(draft.analysis),
                    has_conclusion=draft.conclusion is not None,
                )
            )
        except DraftContractFailure as refused:
            return await self._refused(context, refused)
        except RunTerminated as ended:
            return _loop_end(ended)
        return LoopEnd(draft=draft)

    async def _loop(self, context: RunContext, message: str) -> DiagnosisDraft:
        if not context.budget.reserve_bytes(len(message.encode())):
            raise BudgetExhausted("canonical_bytes")
        token = CancellationToken()
        forget = context.cancellation.on_cancel(token.cancel)
        try:
            result = await self._agent.run(
                message,
                instructions=instructions(self._prompt, context.reference_time, context.zone),
                model_settings=request_settings(context.limits),
                deps=context,
                run_id=context.run_id,
                conversation_id=context.session_id,
                metadata={"session_id": context.session_id, "run_id": context.run_id},
                cancellation_token=token,
                timeout=max(0.001, context.deadline.remaining_s),
                usage_limits=_usage_limits(context.limits),
            )
        except RunTimedOut:  # a subclass of RunCancelled: it comes first
            raise DeadlineExceeded from None
        except RunCancelled:
            raise RunCancelledError from None
        except UsageLimitExceeded:
            raise BudgetExhausted("model_calls") from None
        except UnexpectedModelBehavior as error:
            raise ModelUnavailable(describe_model_failure(error, self.model.model_name)) from error
        finally:
            forget()
        return result.output

    @staticmethod
    async def _refused(context: RunContext, refused: DraftContractFailure) -> LoopEnd:
        try:
            await context.tell(
                lambda run_id, at: DraftRefused(run_id=run_id, at=at, failure=refused.failure)
            )
        except ObserverFailed as failed:
            return _loop_end(failed)
        return LoopEnd(end_reason=EndReason(refused.failure.value), detail=refused.detail)


def _usage_limits(limits: RunLimits) -> UsageLimits:
    """The framework's own limit stands behind the ledger and never preempts it.

    Token limits are the ledger's alone: the framework's would discard a draft whose own response
    went over, and warn in every run whose provider reports no usage.
    """
    return UsageLimits(request_limit=limits.model_calls)


_END_REASONS: dict[type[RunTerminated], EndReason] = {
    RunCancelledError: EndReason.CANCELLED,
    DeadlineExceeded: EndReason.TIMED_OUT,
    BudgetExhausted: EndReason.BUDGET_EXHAUSTED,
    ModelUnavailable: EndReason.MODEL_UNAVAILABLE,
    ObserverFailed: EndReason.OBSERVER_FAILED,
    StoreFailed: EndReason.STORE_FAILED,
}


def _loop_end(ended: RunTerminated) -> LoopEnd:
    if isinstance(ended, CollectionEnded):
        return LoopEnd(end_reason=EndReason(ended.reason.value))
    detail = ended.detail if isinstance(ended, ModelUnavailable) else None
    return LoopEnd(end_reason=_END_REASONS[type(ended)], detail=detail)
