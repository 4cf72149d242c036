"""Whether a configured server can be used now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from diagnosis.errors import SourceError
from diagnosis.plugin import Health


class ServerHealth:
    """Connects once and closes again."""

    def __init__(self, name: str, connect: Callable[[], Awaitable[str]]) -> None:
        """Take the check's name and what connects and returns the version and the address."""
        self.name = name
        self._connect = connect

    async def check(self) -> Health:
        """Look at it now."""
        try:
            return Health(ok=True, detail=await self._connect())
        except SourceError as error:
            return Health(ok=False, detail=error.problem, mend=error.mend)
