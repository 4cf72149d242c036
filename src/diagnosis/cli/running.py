"""Runs one command's coroutine; Ctrl-C and SIGTERM stop its work, not only the waiting for it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnosis.harness.cancellation import Cancellation

_GRACE_S = 1.0
"""After this the command's task is cancelled outright."""

_LAST_S = 3.0
"""After this the process ends, whatever a tool that ignores its cancellation still does."""


def run_command(
    main: Callable[[Cancellation], Awaitable[int]], *, if_cancelled: str = "Cancelled."
) -> int:
    """Run a command to its exit status.

    The first signal cancels the run under way (it is recorded as CANCELLED); before and after a
    run it cancels the command itself.

    Args:
        main: the command.
        if_cancelled: told where a signal ends it before it can tell anything itself.

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
            if first:
                _end_process_later(128 + number)
            if first and cancellation.has_listeners:
                cancellation.cancel()
                loop.call_later(_GRACE_S, task.cancel)
            else:
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # a loop without signals: Ctrl-C still raises
                loop.add_signal_handler(number, interrupt, number)
        return await task

    try:
        status = asyncio.run(supervised())
    except asyncio.CancelledError:
        if not received:
            raise
        status = 0
        sys.stderr.write(f"{if_cancelled}\n")
    return 128 + received[0] if received else status


def _end_process_later(status: int) -> None:
    """Leave no process behind a tool whose thread or task cannot be stopped.

    Python waits for such threads when it exits; this one does not wait.
    """

    def end() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed, or its reader has gone
                stream.flush()
        os._exit(status)

    timer = threading.Timer(_LAST_S, end)
    timer.daemon = True
    timer.start()
