"""What a scan is asked, and what it saw of each source."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import tzinfo

from diagnosis_logs.filters import TextFilter
from diagnosis_logs.levels import Level
from diagnosis_logs.request import Window


@dataclass(frozen=True, slots=True)
class Question:
    """A request, made ready for scanning.

    Attributes:
        window: which records.
        text: the text filters, or None.
        least: the least level, or None.
        service: in lower case, or None.
        zone: of log times that carry none.
    """

    window: Window
    text: TextFilter | None
    least: Level | None
    service: str | None
    zone: tzinfo


@dataclass(slots=True)
class Coverage:
    """What a scan saw of one source.

    Attributes:
        first, last: earliest and latest time in it, as far as is known; None without times.
        timed: whether it has times at all; a source without is searched whole.
        ordered: whether its files are in order of time; one that is not is read whole.
        log: whether it is a log at all.
        failed: whether a file of it could not be read (to its end).
        reached: whether its reading began.
        read: whether all that the window may hold was read.
        empty: whether there is nothing in it.
        left_out: files of it that are not searched, and why.
        without_level: records of the window that were left out only because they have no level.
    """

    source: str
    first: int | None = None
    last: int | None = None
    timed: bool = True
    ordered: bool = True
    log: bool = True
    failed: bool = False
    reached: bool = False
    read: bool = False
    empty: bool = False
    left_out: list[tuple[str, str]] = field(default_factory=list)
    without_level: int = 0

    def leave_out(self, file: str, why: str) -> None:
        """Note a file that is not searched."""
        self.left_out.append((file, why))

    def saw(self, first: int | None, last: int | None) -> None:
        """Note times of a part."""
        if first is not None:
            self.first = first if self.first is None else min(self.first, first)
        if last is not None:
            self.last = last if self.last is None else max(self.last, last)
