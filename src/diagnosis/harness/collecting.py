"""Runs one tool's `collect` so that a timeout or a cancellation really ends it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from pydantic import BaseModel

from diagnosis.contracts.evidence import EvidenceResult
from diagnosis.plugin.evidence_tool import EvidenceContext
from diagnosis.plugin.registry import RegisteredTool

logger = logging.getLogger(__name__)

_GRACE_S = 0.5
"""How long a cancelled tool may clean up before it is left behind."""

_left_behind: set[asyncio.Task[Any]] = set()
"""The loop itself holds its tasks weakly: one that nobody holds may vanish in the middle."""


async def collect_within(
    tool: RegisteredTool, request: BaseModel, context: EvidenceContext
) -> EvidenceResult:
    """Collect for at most `context.remaining_s` seconds.

    The tool runs in a task of its own, so that one that ignores its cancellation cannot hold the
    run.

    Raises:
        TimeoutError: the time is over; the tool was cancelled.
        asyncio.CancelledError: the run was cancelled; so was the tool.
        Exception: whatever the tool raised.
    """
    task = asyncio.ensure_future(_collect(tool, request, context))
    try:
        done, _ = await asyncio.wait((task,), timeout=context.remaining_s)
    except asyncio.CancelledError:
        await _end(task, tool.name)
        raise
    if not done:
        await _end(task, tool.name)
        raise TimeoutError
    if task.cancelled():
        # the run was not cancelled: a client library inside the tool cancelled itself
        raise RuntimeError("the tool cancelled itself")
    return task.result()


async def _collect(
    tool: RegisteredTool, request: BaseModel, context: EvidenceContext
) -> EvidenceResult:
    """Keep what is no Exception inside: SystemExit, for one, would end the whole event loop."""
    try:
        return await tool.collect(request, context)
    except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise RuntimeError(f"the tool raised {type(error).__name__}") from error


async def _end(task: asyncio.Task[Any], tool_name: str) -> None:
    task.cancel()
    await asyncio.wait((task,), timeout=_GRACE_S)
    if not task.done():
        logger.warning("tool %s ignores its cancellation and was left behind", tool_name)
        _left_behind.add(task)
        task.add_done_callback(_left_behind.discard)
    task.add_done_callback(_retrieve)


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Look at the exception, else the loop would log it, with a text that may hold anything."""
    if not task.cancelled():
        task.exception()
