"""Runs one command's coroutine; Ctrl-C and SIGTERM stop its work, not only the waiting for it."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnosis.harness.cancellation import Cancellation

_GRACE_S = 1.0
"""After this the command's task is cancelled outright."""


def run_command(main: Callable[[Cancellation], Awaitable[int]]) -> int:
    """Run a command to its exit status.

    The first signal cancels the run under way (it is recorded as CANCELLED); before and after a
    run it cancels the command itself.

    Returns:
        The command's exit status; 130 after Ctrl-C, 143 after SIGTERM.
    """
    import asyncio  # with all it brings a third of the time that --help takes

    from diagnosis.harness.cancellation import Cancellation

    cancellation = Cancellation()
    received: list[int] = []

    async def supervised() -> int:
        task = asyncio.ensure_future(main(cancellation))
        loop = asyncio.get_running_loop()

        def interrupt(number: int) -> None:
            first = not received
            received.append(number)
            if first and cancellation.has_listeners:
                cancellation.cancel()
                loop.call_later(_GRACE_S, task.cancel)
            else:
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(
                NotImplementedError
            ):  # an event loop without signals: Ctrl-C still raises
                loop.add_signal_handler(number, interrupt, number)
        return await task

    try:
        status = asyncio.run(supervised())
    except asyncio.CancelledError:
        if not received:
            raise
        status = 0
    return 128 + received[0] if received else status
