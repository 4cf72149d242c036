"""One stream of events to several observers, none of them special."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from diagnosis.contracts.events import RunEvent
from diagnosis.errors import ObserverFailed
from diagnosis.plugin.observer import RunObserver

logger = logging.getLogger(__name__)

OBSERVER_TIMEOUT_S = 5.0
"""An observer that takes longer for one event has failed."""


class RunEvents:
    """Hands each event to every observer in turn.

    An observer that failed once gets no further events of the run. If it was required, that emit
    raises ObserverFailed after the others got the event; later emits do not raise again, so that
    the end of the run still reaches everyone.
    """

    def __init__(self, observers: Iterable[RunObserver] = ()) -> None:
        self._observers = list(observers)

    @property
    def heard(self) -> bool:
        """Whether there is anyone to tell."""
        return bool(self._observers)

    async def emit(self, event: RunEvent) -> None:
        """Deliver one event to every observer, also when the run is cancelled meanwhile.

        Raises:
            ObserverFailed: a required observer raised or did not return in time.
            asyncio.CancelledError: the run's task was cancelled while an observer had the event.
        """
        required_failed = False
        cancelled: asyncio.CancelledError | None = None
        for observer in tuple(self._observers):
            try:
                async with asyncio.timeout(OBSERVER_TIMEOUT_S):
                    await observer.on_event(event)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - an observer may raise anything
                if isinstance(error, asyncio.CancelledError) and _task_is_cancelled():
                    # the run's, not the observer's: those after it still hear what happened
                    cancelled = error
                    continue
                self._observers.remove(observer)
                # the class only: an exception's text may hold what must not be logged
                logger.warning(
                    "observer %s failed on %s: %s",
                    type(observer).__name__,
                    type(event).__name__,
                    type(error).__name__,
                )
                required_failed = required_failed or observer.required
        if cancelled is not None:
            raise cancelled
        if required_failed:
            raise ObserverFailed


def _task_is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
