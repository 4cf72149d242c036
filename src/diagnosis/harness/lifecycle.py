"""The state of one run: RUNNING, then exactly one terminal state; the first one wins."""

from __future__ import annotations

import threading
from enum import StrEnum

from diagnosis.contracts.run import EndReason, RunStatus


class RunState(StrEnum):
    """States of a run in memory; `status` and `end_reason` are what users and tables see."""

    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FALLBACK = "FALLBACK"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMED_OUT = "TIMED_OUT"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"


_FAILED_FOR_A_LIMIT = {
    EndReason.TIMED_OUT: RunState.TIMED_OUT,
    EndReason.BUDGET_EXHAUSTED: RunState.BUDGET_EXHAUSTED,
}


def terminal_state(status: RunStatus, end_reason: EndReason | None) -> RunState:
    """The state that belongs to a status and its reason."""
    if status is RunStatus.FAILED and end_reason is not None:
        return _FAILED_FOR_A_LIMIT.get(end_reason, RunState.FAILED)
    return RunState(status.value)


class RunLifecycle:
    """Thread-safe; a state offered after the first terminal one is remembered as ignored."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = RunState.RUNNING
        self._ignored: list[RunState] = []

    @property
    def state(self) -> RunState:
        """The current state."""
        with self._lock:
            return self._state

    @property
    def running(self) -> bool:
        """Whether no terminal state was reached yet."""
        return self.state is RunState.RUNNING

    @property
    def ignored(self) -> tuple[RunState, ...]:
        """Terminal states that came too late, in order."""
        with self._lock:
            return tuple(self._ignored)

    def finish(self, state: RunState) -> bool:
        """Offer a terminal state.

        Returns:
            Whether it is the run's terminal state; False when another one came first.

        Raises:
            ValueError: RUNNING is not a terminal state.
        """
        if state is RunState.RUNNING:
            raise ValueError("RUNNING is not a terminal state")
        with self._lock:
            if self._state is RunState.RUNNING:
                self._state = state
                return True
            self._ignored.append(state)
            return False
