"""How a plugin tells whether what it depends on works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Health:
    """What a check found.

    Attributes:
        ok: whether the thing works.
        detail: one line, without secrets.
        mend: one line that says how to mend it, or None.
    """

    ok: bool
    detail: str
    mend: str | None = None


@runtime_checkable
class HealthCheck(Protocol):
    """One thing a plugin depends on: a file, a server, a model."""

    @property
    def name(self) -> str:
        """What is checked, for people."""
        ...

    async def check(self) -> Health:
        """Look at it now. Raises nothing: a failure is a `Health` that is not ok."""
        ...
