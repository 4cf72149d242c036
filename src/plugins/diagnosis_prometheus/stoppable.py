"""Work in a thread that ends soon after its caller was cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class Stopped(Exception):
    """The caller is gone, and nobody waits for the result."""


class Halt:
    """Looked at by the work between two of its steps."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let the work end at its next look."""
        self._stopped.set()

    def look(self) -> None:
        """Go on, or not.

        Raises:
            Stopped: the caller is gone.
        """
        if self._stopped.is_set():
            raise Stopped


async def in_thread(work: Callable[[Halt], Result]) -> Result:
    """Do work beside the event loop; cancelling the call stops it."""
    halt = Halt()
    try:
        return await asyncio.to_thread(work, halt)
    finally:
        halt.stop()
