"""Time as a port, so that deadlines and durations can be tested without waiting."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for records, monotonic time for durations."""

    def now(self) -> datetime:
        """The current time, aware."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The current time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment a run must be over, on a monotonic clock.

    Attributes:
        clock: the clock that `at` belongs to.
        at: seconds on that clock.
    """

    clock: Clock
    at: float

    @classmethod
    def after(cls, clock: Clock, seconds: float) -> Deadline:
        """The deadline that lies `seconds` from now."""
        return cls(clock, clock.monotonic() + seconds)

    @property
    def remaining_s(self) -> float:
        """Seconds left; never negative."""
        return max(0.0, self.at - self.clock.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return self.clock.monotonic() >= self.at
