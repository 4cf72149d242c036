"""How a plugin tells whether what it depends on works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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


class HealthCheck(Protocol):
    """One thing a plugin depends on: a file, a server, a model."""

    name: str

    async def check(self) -> Health:
        """Look at it now. Raises nothing: a failure is a `Health` that is not ok."""
        ...
