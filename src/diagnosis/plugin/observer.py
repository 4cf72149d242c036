"""A run observer: the audit, a stream and a progress display are all observers of one stream."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from diagnosis.contracts.events import RunEvent


@runtime_checkable
class RunObserver(Protocol):
    """Gets every event of a run, in order.

    A failing observer whose `required` is True ends the run as FAILED; any other failure is
    logged and the run goes on.
    """

    @property
    def required(self) -> bool:
        """Whether the run must not go on without this observer."""
        ...

    async def on_event(self, event: RunEvent) -> None:
        """Take one event. Do not block: the run waits."""
        ...
