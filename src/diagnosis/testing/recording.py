"""An observer that keeps every event, and can be told to fail."""

from __future__ import annotations

from diagnosis.contracts.events import RunEvent


class RecordingObserver:
    """Keeps events in order.

    Args:
        required: whether the run must end when it fails.
        fail_on: the name of an event type on which it raises.
    """

    def __init__(self, *, required: bool = False, fail_on: str | None = None) -> None:
        self.required = required
        self.events: list[RunEvent] = []
        self._fail_on = fail_on

    @property
    def names(self) -> list[str]:
        """The types of all events, in order."""
        return [type(event).__name__ for event in self.events]

    def of(self, name: str) -> list[RunEvent]:
        """The events of one type."""
        return [event for event in self.events if type(event).__name__ == name]

    async def on_event(self, event: RunEvent) -> None:
        """Keep one event.

        Raises:
            RuntimeError: when told to fail on it.
        """
        self.events.append(event)
        if type(event).__name__ == self._fail_on:
            raise RuntimeError("told to fail")
