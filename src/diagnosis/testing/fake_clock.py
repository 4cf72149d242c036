"""A clock that moves only when it is told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Wall and monotonic time together.

    Args:
        now: where wall time starts; monotonic time starts at 0.
    """

    def __init__(self, now: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) -> None:
        self._start = now
        self._passed_s = 0.0

    def now(self) -> datetime:
        """The current time."""
        return self._start + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        """Seconds since the start."""
        return self._passed_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._passed_s += seconds
