"""What a call left at work: tasks, threads and child processes that were not at work before."""

from __future__ import annotations

import asyncio
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

# where the standard library's thread pools wait for work
_IDLE_MODULE = "concurrent.futures.thread"

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class AtWork:
    """What there was at one moment; `leftovers` compares a later one with it."""

    tasks: frozenset[asyncio.Task[object]]
    threads: dict[int, Place]
    children: frozenset[int]

    @classmethod
    def now(cls) -> AtWork:
        """Look at this process."""
        return cls(frozenset(asyncio.all_tasks()), _places(), frozenset(_children()))

    def leftovers(self) -> list[str]:
        """What is at work now and was not then, in words; a thread that waits where it did is not.

        Threads that Python does not know, those inside a library, are not seen.
        """
        now = AtWork.now()
        tasks = len(self.new_tasks())
        threads = sum(self.threads.get(number) != place for number, place in now.threads.items())
        children = len(now.children - self.children)
        counts = {"task": tasks, "thread": threads, "child process": children}
        return [
            f"{number} {name if number == 1 else _plural(name)}"
            for name, number in counts.items()
            if number
        ]

    def new_tasks(self) -> set[asyncio.Task[object]]:
        """Tasks that go on and were not there then."""
        return set(asyncio.all_tasks() - self.tasks)


def _plural(name: str) -> str:
    return f"{name}es" if name.endswith("s") else f"{name}s"


def _places() -> dict[int, Place]:
    """Where each thread is that is neither this one nor waits in a pool for work."""
    frames = sys._current_frames()  # noqa: SLF001 - the standard library's documented name
    me = threading.get_ident()
    return {
        number: (frame.f_code.co_filename, frame.f_lineno)
        for number, frame in frames.items()
        if number != me and not _is_idle(frame)
    }


def _is_idle(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == _IDLE_MODULE


def _children() -> set[int]:
    """Children that run, where the system tells (Linux); one that has ended is none."""
    found: set[int] = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        try:
            found.update(map(int, listed.read_text().split()))
        except OSError:  # the thread has ended meanwhile
            continue
    return {number for number in found if _runs(number)}


def _runs(number: int) -> bool:
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}
