"""What the conformance kit found: every failure at once, so that an author mends them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class NotRun(Exception):
    """The check had nothing to work on."""


class Problem(NamedTuple):
    """What a check yields: `detail` says what was seen, `mend` how to mend it, in one line each."""

    detail: str
    mend: str


@dataclass(frozen=True, slots=True)
class ConformanceFailure:
    """One rule that a tool breaks.

    Attributes:
        check: name of the check.
        detail: what was seen, in one line.
        mend: how to mend it, in one line.
    """

    check: str
    detail: str
    mend: str

    def __str__(self) -> str:
        return f"{self.check}: {self.detail}\n    {self.mend}"


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """The checks that a tool passed.

    Attributes:
        tool: the tool's name.
        passed: names of the checks, in the order they ran.
        not_run: names of the checks that had nothing to work on: what they need was not given.
    """

    tool: str
    passed: tuple[str, ...]
    not_run: tuple[str, ...]


class ConformanceError(AssertionError):
    """A tool breaks the contract of evidence tools.

    Attributes:
        failures: all of them.
    """

    def __init__(self, tool: str, failures: tuple[ConformanceFailure, ...]) -> None:
        lines = "\n".join(f"  {failure}" for failure in failures)
        super().__init__(f"{tool} breaks the contract of evidence tools:\n{lines}")
        self.failures = failures
