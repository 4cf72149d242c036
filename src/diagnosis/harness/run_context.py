"""The explicit context of one run, passed as the agent's dependencies and nowhere else kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from diagnosis.contracts.events import CollectionStopped, RunEvent
from diagnosis.contracts.run import RunLimits, StopReason
from diagnosis.errors import DeadlineExceeded, RunCancelledError
from diagnosis.harness.budget import RunBudget
from diagnosis.harness.cancellation import Cancellation
from diagnosis.harness.clock import Clock, Deadline
from diagnosis.harness.collection import Collection
from diagnosis.harness.lifecycle import RunLifecycle
from diagnosis.harness.observers import RunEvents
from diagnosis.harness.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class RunContext:
    """Structurally immutable; what changes lives in the handles.

    Attributes:
        reference_time: what "now" means in this run; aware.
        zone: the zone of times that carry none.
        started_at_s: on the deadline's clock.
    """

    session_id: str
    run_id: str
    deadline: Deadline
    reference_time: datetime
    zone: tzinfo
    started_at_s: float
    budget: RunBudget
    cancellation: Cancellation = field(default_factory=Cancellation)
    lifecycle: RunLifecycle = field(default_factory=RunLifecycle)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    events: RunEvents = field(default_factory=RunEvents)
    collection: Collection = field(default_factory=Collection)

    @property
    def limits(self) -> RunLimits:
        """The bounds of this run."""
        return self.budget.limits

    @property
    def clock(self) -> Clock:
        """The clock of this run."""
        return self.deadline.clock

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return self.clock.monotonic() - self.started_at_s

    def check_alive(self) -> None:
        """Raise if nothing more may start.

        Raises:
            RunCancelledError: the run was cancelled.
            DeadlineExceeded: its time is over.
        """
        if self.cancellation.cancelled or not self.lifecycle.running:
            raise RunCancelledError
        if self.deadline.passed:
            raise DeadlineExceeded

    async def tell(self, make: Callable[[str, datetime], RunEvent]) -> None:
        """Emit an event, made of the run's id and the current time, if anyone listens."""
        if self.events.heard:
            await self.events.emit(make(self.run_id, self.clock.now()))

    async def stop_collecting(self, reason: StopReason) -> None:
        """Stop collecting, and tell the observers if it had not stopped before."""
        if self.collection.stop(reason):
            await self.tell(
                lambda run_id, at: CollectionStopped(run_id=run_id, at=at, reason=reason)
            )
