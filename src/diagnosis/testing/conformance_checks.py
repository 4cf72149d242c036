"""The rules of an evidence tool, one check each.

A check yields a line for each failure. `NotRun` says that there was nothing to check.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping

from pydantic import ValidationError

from diagnosis.contracts.evidence import EvidenceResult
from diagnosis.errors import QueryRejected, SourceNotFound
from diagnosis.harness.projection import project
from diagnosis.plugin.registered_tool import DESCRIBE_BYTES, LEAST_RESULT_BYTES
from diagnosis.testing.conformance_subject import Misbehaviour, Request, Subject, key

DESCRIPTION_BYTES = 4_096
CANCELLATION_S = 0.2
AT_ONCE = 4

_SAYS_EMPTY = re.compile(r"\b(no|none|nothing|not|empty|without|zero)\b|[没無无空]", re.IGNORECASE)
# moments of cancellation, in seconds: before the first await, and while the work goes on
_CANCELLED_AFTER_S = (0.0, 0.005, 0.02)
_GRACE_S = 2.0


class NotRun(Exception):
    """The check had nothing to work on."""


async def description(subject: Subject) -> AsyncIterator[str]:
    """The description is short, and says what an empty result means."""
    text = subject.tool.tool.description
    if (size := len(text.encode())) > DESCRIPTION_BYTES:
        yield f"it has {size} bytes; at most {DESCRIPTION_BYTES}"
    if not _SAYS_EMPTY.search(text):
        yield "it does not say what an empty result means"


async def describe(subject: Subject) -> AsyncIterator[str]:
    """`describe()` returns a short text."""
    method = getattr(subject.tool.tool, "describe", None)
    if method is None:
        raise NotRun
    try:
        text = method()
    except Exception as error:  # noqa: BLE001 - the tool under test may raise anything
        yield f"it raised {type(error).__name__}"
        return
    if not isinstance(text, str):
        yield f"it returned {type(text).__name__}, no text"
    elif (size := len(text.encode())) > DESCRIBE_BYTES:
        yield f"it returned {size} bytes; at most {DESCRIBE_BYTES}"


async def requests(subject: Subject) -> AsyncIterator[str]:
    """The given requests fit the request model."""
    for request in (*subject.valid_requests, subject.slow_request):
        try:
            subject.validated(request)
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
            yield f"{key(request)} is not valid: {fields}"


async def normalise(subject: Subject) -> AsyncIterator[str]:
    """The scope of a fingerprint is JSON, and the same for the same request."""
    for request in subject.valid_requests:
        try:
            first, second = (
                json.dumps(subject.tool.normalise(subject.validated(request)), allow_nan=False)
                for _ in range(2)
            )
        except Exception as error:  # noqa: BLE001 - the tool under test may raise anything
            yield f"{key(request)}: {type(error).__name__}: {error}"
            continue
        if first != second:
            yield f"{key(request)} gives two scopes: {first} and {second}"


async def collect(subject: Subject) -> AsyncIterator[str]:
    """Every valid request is answered with a result that carries its scope."""
    for request in subject.valid_requests:
        try:
            answer = await subject.ask(request)
        except Misbehaviour as misbehaviour:
            yield f"{key(request)}: {misbehaviour}"
            continue
        subject.answers[key(request)] = answer
        if not answer.scope:
            yield f"{key(request)}: the scope is empty; it must say what was searched"
    found = [request for request in subject.requests if _answer(subject, request).items]
    if not found:
        yield "none of the requests found anything, so most checks had nothing to look at"


async def empty_result(subject: Subject) -> AsyncIterator[str]:
    """Nothing found is a result without items, never an error."""
    if subject.empty_request is None:
        raise NotRun
    answer = subject.answers.get(key(subject.empty_request))
    if answer is None:
        yield "the empty request was not answered with a result"
    elif answer.items or answer.matched:
        yield f"the empty request found {answer.matched or len(answer.items)} items"


async def identities(subject: Subject) -> AsyncIterator[str]:
    """Each item has an identity of its own, the same in every call."""
    for request in subject.requests:
        first = _identities(_answer(subject, request))
        if len(set(first)) != len(first):
            yield f"{key(request)}: two items share an identity"
        try:
            second = _identities(await subject.ask(request))
        except Misbehaviour as misbehaviour:
            yield f"{key(request)}: the second time {misbehaviour}"
            continue
        if first != second:
            yield f"{key(request)}: the second time the identities are others"


async def projection(subject: Subject) -> AsyncIterator[str]:
    """What the model is shown can be made of every result, within the least bytes too."""
    for request, answer in subject.answers.items():
        try:
            for limit in (LEAST_RESULT_BYTES, subject.limit):
                json.loads(project(answer, tool_call_id="call", limit=limit).text)
        except ValueError as error:
            yield f"{request}: it cannot be shown: {error}"


async def concurrency(subject: Subject) -> AsyncIterator[str]:
    """Several calls at once are answered like one after the other."""

    async def problem(request: Request) -> str | None:
        try:
            answer = await subject.ask(request)
        except Misbehaviour as misbehaviour:
            return f"beside other calls {misbehaviour}"
        if _identities(answer) != _identities(_answer(subject, request)):
            return "beside other calls the items are others"
        return None

    asked = [request for request in subject.valid_requests for _ in range(AT_ONCE)]
    problems = await asyncio.gather(*map(problem, asked))
    told = {key(request): found for request, found in zip(asked, problems, strict=True) if found}
    for request_text, found in told.items():
        yield f"{request_text}: {found}"


async def cancellation(subject: Subject) -> AsyncIterator[str]:
    """A cancelled call ends at once and leaves no task behind."""
    for delay_s in _CANCELLED_AFTER_S:
        problem = await _cancelled(subject, delay_s)
        if problem is not None and await _cancelled(subject, delay_s) is not None:
            # twice: once may be the machine
            yield f"cancelled after {delay_s * 1000:g} ms, {problem}"
            return


async def _cancelled(subject: Subject, delay_s: float) -> str | None:
    before = asyncio.all_tasks()
    started = time.monotonic()
    task = asyncio.create_task(
        subject.tool.collect(subject.validated(subject.slow_request), subject.context())
    )
    await asyncio.sleep(delay_s)
    finished_first = task.done()
    task.cancel()
    left_s = CANCELLATION_S - (time.monotonic() - started - delay_s)
    if left_s > 0:
        await asyncio.wait({task}, timeout=left_s)
    if left_s <= 0 or not task.done():
        await asyncio.wait({task}, timeout=_GRACE_S)  # not beside the next check
        return f"collect did not end within {CANCELLATION_S * 1000:g} ms"
    if not finished_first and not task.cancelled():
        if task.exception() is not None:
            return f"collect turned the cancellation into {type(task.exception()).__name__}"
        return "collect went on to its result"
    if not task.cancelled():
        task.exception()  # looked at: the check `collect` tells of it
    left = asyncio.all_tasks() - before
    if left:
        _, left = await asyncio.wait(left, timeout=CANCELLATION_S)
    for each in left:
        each.cancel()
    return f"{len(left)} tasks are left running" if left else None


async def rejection(subject: Subject) -> AsyncIterator[str]:
    """A request that must be refused is refused by its model, or with a typed failure."""
    if not subject.rejected_requests:
        raise NotRun
    for request in subject.rejected_requests:
        try:
            validated = subject.validated(request)
        except ValidationError:
            continue
        try:
            async with asyncio.timeout(subject.timeout_s):
                await subject.tool.collect(validated, subject.context())
        except (QueryRejected, SourceNotFound):
            continue
        except Exception as error:  # noqa: BLE001 - the tool under test may raise anything
            yield f"{key(request)}: {type(error).__name__}, not QueryRejected or SourceNotFound"
        else:
            yield f"{key(request)}: it was answered"


async def secrets(subject: Subject) -> AsyncIterator[str]:
    """No secret is in the description, or in what the model is shown before redaction."""
    if not subject.secrets:
        raise NotRun
    places = {"description": subject.tool.description}
    for request, answer in subject.answers.items():
        places[request] = json.dumps(
            [answer.scope, [item.fields for item in answer.items]], ensure_ascii=False
        )
    for place, text in places.items():
        if any(secret in text for secret in subject.secrets):
            yield f"{place}: a secret stands in it"


def _answer(subject: Subject, request: Request) -> EvidenceResult:
    """The first answer to a request; where there was none, `collect` has told so."""
    return subject.answers.get(key(request), EvidenceResult(scope={}))


def _identities(answer: EvidenceResult) -> list[str]:
    return [item.identity for item in answer.items]


CHECKS: Mapping[str, Callable[[Subject], AsyncIterator[str]]] = {
    check.__name__: check
    for check in (
        description,
        describe,
        requests,
        normalise,
        collect,
        empty_result,
        identities,
        projection,
        concurrency,
        cancellation,
        rejection,
        secrets,
    )
}
"""Every check, in the order they run; `requests` stops them when the requests are of no use."""
