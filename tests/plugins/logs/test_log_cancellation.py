"""A scan never holds the event loop, and ends when it is told to or when its time is over."""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diagnosis.plugin import Truncation
from diagnosis_logs.tool import QueryLogs

LINES = "".join(
    f"2024-05-01 12:15:00,{n % 1000:03} INFO request {n} served\n" for n in range(50_000)
)


@pytest.fixture(params=["large.log", "large.log.gz"])
def large(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """About 250 MB of log, plain or packed; a scan takes several seconds."""
    path: Path = tmp_path / request.param
    piece = LINES.encode()
    if path.suffix == ".gz":
        piece = gzip.compress(piece, 1)
    with path.open("wb") as file:
        for _ in range(100):
            file.write(piece)
    return path


def scanning_threads() -> list[str]:
    import sys

    frames = sys._current_frames()
    found = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        while frame is not None:
            if frame.f_code.co_filename.endswith("diagnosis_logs/scan.py"):
                found.append(thread.name)
                break
            frame = frame.f_back
    return found


@pytest.mark.parametrize("mode", ["lines", "templates", "histogram"])
async def test_after_a_cancel_the_scan_ends_within_200_ms(
    large: Path, mode: str, tool_of: Callable[..., QueryLogs], make_context: Callable[..., Any]
) -> None:
    tool = tool_of(large)
    task = asyncio.create_task(tool.collect(tool.request(mode=mode), make_context()))
    longest_pause = 0.0
    began = time.monotonic()
    while time.monotonic() - began < 0.4:
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest_pause = max(longest_pause, time.monotonic() - before)
    assert scanning_threads()
    assert longest_pause < 0.2
    task.cancel()
    cancelled = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    while scanning_threads():
        assert time.monotonic() - cancelled < 0.2
        await asyncio.sleep(0.005)


async def test_without_any_time_nothing_is_found_and_nothing_is_said_to_be_absent(
    large: Path, tool_of: Callable[..., QueryLogs], make_context: Callable[..., Any]
) -> None:
    tool = tool_of(large)
    found = await tool.collect(tool.request(), make_context(remaining_s=0.0))
    assert (found.matched, found.truncated) == (None, Truncation.SCAN)


async def test_when_its_time_is_over_a_scan_brings_what_it_found(
    large: Path, tool_of: Callable[..., QueryLogs], make_context: Callable[..., Any]
) -> None:
    tool = tool_of(large)
    began = time.monotonic()
    found = await tool.collect(tool.request(), make_context(remaining_s=1.0))
    assert time.monotonic() - began < 1.0
    assert found.items
    assert (found.matched, found.truncated) == (None, Truncation.SCAN)
    assert "in part" in str(found.scope["sources"])
