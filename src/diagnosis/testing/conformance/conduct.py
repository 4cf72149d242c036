"""Checks of how a tool works: beside other calls, on the event loop, cancelled, out of time."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from diagnosis.contracts.evidence import EvidenceResult
from diagnosis.errors import SourceUnavailable
from diagnosis.testing.conformance.left_behind import AtWork
from diagnosis.testing.conformance.report import Problem
from diagnosis.testing.conformance.subject import (
    Misbehaviour,
    Request,
    Subject,
    identities,
    key,
)

Found = TypeVar("Found")

CANCELLATION_S = 0.2
"""How long a call may take to end, with all it started, once it is cancelled."""

AT_ONCE = 4
SHORT_S = 0.1
"""What is left of the run's time where `timeouts` asks, in seconds."""

# moments of cancellation, in seconds: before the first await, and while the work goes on
_CANCELLED_AFTER_S = (0.0, 0.005, 0.02, 0.1)
_GRACE_S = 2.0
_ATTEMPTS = 3
_LOOK_S = 0.005

_STOPS = (
    "Await what can be cancelled. A thread looks at a threading.Event that `finally` sets; a child "
    "process is killed and waited for in `finally`; a server is told to stop its work."
)


async def concurrency(subject: Subject) -> AsyncIterator[Problem]:
    """Several calls at once are answered like one after the other."""
    mend = "Keep what belongs to a call in local names, not on the tool; a connection is for one."

    async def problem(request: Request) -> str | None:
        try:
            answer = await subject.ask(request)
        except Misbehaviour as misbehaviour:
            return f"beside other calls {misbehaviour}"
        if difference := _difference(subject, request, answer):
            return f"beside other calls the {difference} are others"
        return None

    asked = [request for _ in range(AT_ONCE) for request in subject.valid_requests]
    problems = await asyncio.gather(*map(problem, asked))
    told = {key(request): found for request, found in zip(asked, problems, strict=True) if found}
    for request_text, found in told.items():
        yield Problem(f"{request_text}: {found}", mend)


def _difference(subject: Subject, request: Request, answer: EvidenceResult) -> str | None:
    """What an answer has otherwise than the first one, where the second one had the same."""
    first = subject.answer(request)
    again = subject.again.get(key(request), first)
    if identities(answer) != identities(first):
        return "items"
    if [item.fields for item in first.items] == [item.fields for item in again.items] and [
        item.fields for item in answer.items
    ] != [item.fields for item in first.items]:
        return "fields"
    if first.scope == again.scope != answer.scope:
        return "scopes"
    counts = (answer.matched, answer.truncated)
    if (first.matched, first.truncated) == (again.matched, again.truncated) != counts:
        return "counts"
    return None


async def _lasting(look: Callable[[], Awaitable[Found | None]]) -> Found | None:
    """What is found every time; once or twice it may be a busy machine that is slow."""
    found = None
    for _ in range(_ATTEMPTS):
        found = await look()
        if found is None:
            break
    return found


async def responsiveness(subject: Subject) -> AsyncIterator[Problem]:
    """While a tool works, everything else on the event loop goes on."""
    for request in subject.valid_requests:

        async def gap(request: Request = request) -> float | None:
            longest = await _longest_gap_s(subject, request)
            return longest if longest > CANCELLATION_S else None

        blocked_s = await _lasting(gap)
        if blocked_s is not None:
            yield Problem(
                f"{key(request)}: the event loop stood still for {blocked_s * 1000:.0f} ms",
                "Use asyncio.to_thread for what blocks: files, parsing, clients without async.",
            )


async def _longest_gap_s(subject: Subject, request: Request) -> float:
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        before = time.monotonic()
        while True:
            await asyncio.sleep(_LOOK_S)
            now = time.monotonic()
            longest = max(longest, now - before - _LOOK_S)
            before = now

    beating = asyncio.create_task(beat())
    await asyncio.sleep(0)
    try:
        await subject.ask(request)
    except Misbehaviour:
        pass  # `collect` tells of it
    finally:
        await asyncio.sleep(2 * _LOOK_S)  # a gap is seen at the beat after it
        beating.cancel()
    return longest


async def cancellation(subject: Subject) -> AsyncIterator[Problem]:
    """A cancelled call ends at once, and so does everything that it started."""
    seen_working: set[bool] = set()
    for delay_s in _CANCELLED_AFTER_S:

        async def left(delay_s: float = delay_s) -> str | None:
            return await _cancelled(subject, delay_s, seen_working)

        problem = await _lasting(left)
        if problem is not None:
            yield Problem(f"cancelled after {delay_s * 1000:g} ms, {problem}", _STOPS)
            return
    if subject.is_working is not None and True not in seen_working:
        yield Problem(
            "is_working() was never true while the slow request ran",
            "Give a slow_request that takes a second or more, and a probe that sees its work.",
        )


async def _cancelled(subject: Subject, delay_s: float, seen_working: set[bool]) -> str | None:
    """What is wrong after one cancellation; notes whether the source was at work before it."""
    before = AtWork.now()
    started = time.monotonic()
    task = asyncio.create_task(
        subject.tool.collect(subject.validated(subject.slow_request), subject.context())
    )
    await asyncio.sleep(delay_s)
    blocked_s = time.monotonic() - started - delay_s  # the tool let nobody cancel it meanwhile
    if delay_s and not task.done():
        seen_working.add(await _is_working(subject))
    finished_first = task.done()
    task.cancel()
    cancelled_at = time.monotonic()
    left_s = CANCELLATION_S - blocked_s
    if left_s > 0:
        await asyncio.wait({task}, timeout=left_s)
    if left_s <= 0 or not task.done():
        await asyncio.wait({task}, timeout=_GRACE_S)  # not beside the next check
        return f"collect did not end within {CANCELLATION_S * 1000:g} ms"
    if not task.cancelled():
        error = task.exception()  # looked at: the check `collect` tells of it
        if not finished_first:
            if error is not None:
                return f"collect turned the cancellation into {type(error).__name__}"
            return "collect went on to its result"
    return await _left_at_work(subject, before, cancelled_at + CANCELLATION_S)


async def _left_at_work(subject: Subject, before: AtWork, until: float) -> str | None:
    """What is still at work when the time is over; as soon as nothing is, None."""
    while left := before.leftovers():
        if time.monotonic() > until:
            break
        await asyncio.sleep(_LOOK_S)
    while working := await _is_working(subject):
        if time.monotonic() > until:
            break
        await asyncio.sleep(_LOOK_S)
    for each in before.new_tasks():
        each.cancel()
    if left:
        return f"what it started went on for {CANCELLATION_S * 1000:g} ms: {', '.join(left)}"
    return f"the source still worked after {CANCELLATION_S * 1000:g} ms" if working else None


async def _is_working(subject: Subject) -> bool:
    if subject.is_working is None:
        return False
    answer: bool | Awaitable[bool] = subject.is_working()
    return bool(await answer) if inspect.isawaitable(answer) else answer


async def timeouts(subject: Subject) -> AsyncIterator[Problem]:
    """A call that runs out of time ends then, and never passes a part off as the whole."""
    problem = await _lasting(lambda: _out_of_time(subject))
    if problem is not None:
        yield problem


async def _out_of_time(subject: Subject) -> Problem | None:
    request = subject.slow_request
    before = AtWork.now()
    context = subject.context(remaining_s=SHORT_S)
    task = asyncio.create_task(subject.tool.collect(subject.validated(request), context))
    # the boundary cancels it then; a tool that minds `remaining_s` has ended before
    await asyncio.wait({task}, timeout=SHORT_S)
    ended = task.done()
    task.cancel()
    await asyncio.wait({task}, timeout=CANCELLATION_S + _GRACE_S)
    if not ended:
        if not task.done():
            return Problem(f"collect did not end when its {SHORT_S:g} s were over", _STOPS)
        if not task.cancelled():
            task.exception()  # looked at: `cancellation` tells of it
        left = await _left_at_work(subject, before, time.monotonic() + CANCELLATION_S)
        return None if left is None else Problem(f"after its {SHORT_S:g} s, {left}", _STOPS)
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, TimeoutError | SourceUnavailable):
        return Problem(
            f"with {SHORT_S:g} s left it raised {type(error).__name__}",
            "Raise TimeoutError or SourceUnavailable where the time does not suffice.",
        )
    if error is None and (problem := await _part_as_whole(subject, task.result())):
        return Problem(
            problem,
            "Set truncated to Truncation.SCAN where the source was not searched to its end.",
        )
    return None


async def _part_as_whole(subject: Subject, short: EvidenceResult) -> str | None:
    """Whether an answer in little time lacks what one with all the time has, and hides it."""
    if short.truncated is not None:
        return None
    try:
        whole = await subject.ask(subject.slow_request)
    except Misbehaviour:
        return None  # the slow request is only there to be cancelled
    if identities(short) == identities(whole) and short.matched == whole.matched:
        return None
    return f"with {SHORT_S:g} s left it found less than with more, and truncated is null"
