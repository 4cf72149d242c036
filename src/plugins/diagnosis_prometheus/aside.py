"""What is asked beside the main question, and may fail without harm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from diagnosis.plugin import EvidenceContext, QueryRejected, SourceUnavailable

Found = TypeVar("Found")

# The server's own limit ends a query first; the tool's clock comes later, and both before the
# boundary's: time to read the answer and to tell it.
_STEP_S = 0.25


@dataclass(frozen=True, slots=True)
class Clocks:
    """Seconds that one call has.

    Attributes:
        server_s: for the server, and for what is asked aside.
        whole_s: for everything.
        until_s: when `server_s` are over, on the clock of the event loop.
    """

    server_s: float
    whole_s: float
    until_s: float

    @classmethod
    def of(cls, context: EvidenceContext, timeout_s: float) -> Clocks:
        """What the settings and the run leave."""
        server_s = max(0.05, min(timeout_s, context.remaining_s - 2 * _STEP_S))
        whole_s = max(server_s, min(server_s + 2 * _STEP_S, context.remaining_s - _STEP_S))
        return cls(server_s, whole_s, asyncio.get_running_loop().time() + server_s)

    @property
    def left_s(self) -> float:
        """Of `server_s`, for what is asked after the main question."""
        return max(0.05, self.until_s - asyncio.get_running_loop().time())


async def spared(ask: Callable[[], Awaitable[Found]], limit_s: float) -> Found | None:
    """What a question brings, or None where it fails or takes too long."""
    try:
        async with asyncio.timeout(limit_s):
            return await ask()
    except (QueryRejected, SourceUnavailable, TimeoutError):
        return None


@asynccontextmanager
async def beside(asked: Coroutine[Any, Any, Found]) -> AsyncIterator[asyncio.Task[Found]]:
    """Ask while the block goes on; it is cancelled and gone when the block ends."""
    task = asyncio.create_task(asked)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
