"""Checks of what a tool answers: results, empty ones, refusals and sources that are gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from pydantic import ValidationError

from diagnosis.contracts.evidence import EvidenceResult
from diagnosis.errors import ConfigurationError, QueryRejected, SourceNotFound, SourceUnavailable
from diagnosis.plugin.registry import EvidenceToolRegistry
from diagnosis.testing.conformance.report import NotRun, Problem
from diagnosis.testing.conformance.subject import (
    Misbehaviour,
    Request,
    Subject,
    identities,
    key,
)

_EMPTY_IS_NO_ERROR = "Return EvidenceResult(scope=..., matched=0): empty is not an error."
_TYPED = "Raise QueryRejected(reason) or SourceNotFound, or let the request's model refuse it."
_SAME_IDENTITY = (
    "Make an identity of what the thing is (its id, or a hash of its own fields): not of the call, "
    "the time, the position, or Python's hash()."
)


async def collect(subject: Subject) -> AsyncIterator[Problem]:
    """Every valid request is answered with a result that carries its scope."""
    for request in subject.valid_requests:
        try:
            answer = await subject.ask(request)
        except Misbehaviour as misbehaviour:
            yield Problem(
                f"{key(request)}: {misbehaviour}",
                "A valid request gets an EvidenceResult, an empty one too.",
            )
            continue
        subject.answers[key(request)] = answer
        if not answer.scope:
            yield Problem(
                f"{key(request)}: the scope is empty; it must say what was searched",
                "Give the window, filters and limits that were really used.",
            )
    if not any(subject.answer(request).items for request in subject.requests):
        yield Problem(
            "none of the requests found anything, so most checks had nothing to look at",
            "Give a request that finds something, and the reference_time that its data needs.",
        )


async def empty_result(subject: Subject) -> AsyncIterator[Problem]:
    """Nothing found is a result without items, never an error."""
    if subject.empty_request is None:
        raise NotRun
    answer = subject.answers.get(key(subject.empty_request))
    if answer is None:
        yield Problem("the empty request was not answered with a result", _EMPTY_IS_NO_ERROR)
    elif answer.items or answer.matched:
        yield Problem(
            f"the empty request found {answer.matched or len(answer.items)} items",
            "Give an empty_request that matches nothing, or leave out what does not match.",
        )


async def identity(subject: Subject) -> AsyncIterator[Problem]:
    """Each item has an identity of its own, the same and in the same order in every call."""
    for request in subject.valid_requests:
        answer = subject.answer(request)
        first = identities(answer)
        if len(set(first)) != len(first):
            yield Problem(
                f"{key(request)}: two items share an identity",
                "Add what tells them apart, or return the same thing once.",
            )
        try:
            second = await subject.ask(request)
        except Misbehaviour as misbehaviour:
            yield Problem(
                f"{key(request)}: the second time {misbehaviour}",
                "A tool may be asked the same thing again, with the same outcome.",
            )
            continue
        subject.again[key(request)] = second
        if set(first) != set(identities(second)):
            yield Problem(
                f"{key(request)}: the second time the identities are others", _SAME_IDENTITY
            )
        elif first != identities(second):
            yield Problem(
                f"{key(request)}: the second time the order is another",
                "Sort the items by something that leaves no tie.",
            )


async def paging(subject: Subject) -> AsyncIterator[Problem]:
    """A smaller limit shows fewer of the same items, and says that there are more."""
    name = subject.limit_field
    if name is None:
        raise NotRun
    compared = False
    for request in subject.requests:
        full = subject.answer(request)
        if len(full.items) < 2:
            continue
        smaller: Request = {**request, name: max(1, len(full.items) // 2)}
        try:
            fewer = await subject.ask(smaller)
        except ValidationError:
            continue  # the model has another least limit
        except Misbehaviour as misbehaviour:
            yield Problem(f"{key(smaller)}: {misbehaviour}", f"Answer every valid {name}.")
            continue
        compared = True
        if _renamed(full, fewer):
            yield Problem(
                f"{key(smaller)} gives what {key(request)} found under other identities",
                _SAME_IDENTITY,
            )
        elif set(identities(fewer)) < set(identities(full)) and fewer.truncated is None:
            yield Problem(
                f"{key(smaller)} leaves items out, and truncated is null",
                "Set truncated to Truncation.ITEMS where the limit leaves matching items out.",
            )
    if not compared:
        raise NotRun


def _renamed(full: EvidenceResult, fewer: EvidenceResult) -> bool:
    """Whether the same thing has two identities, or two things have the same one.

    Other items are no fault: the limit of a histogram decides how wide its buckets are.
    """
    named: dict[str, set[str]] = {}
    shown: dict[str, str] = {}
    for item in full.items:
        fields = json.dumps(item.fields, sort_keys=True, default=str)
        named.setdefault(fields, set()).add(item.identity)
        shown[item.identity] = fields
    for item in fewer.items:
        fields = json.dumps(item.fields, sort_keys=True, default=str)
        if item.identity not in named.get(fields, {item.identity}):
            return True
        if shown.get(item.identity, fields) != fields:
            return True
    return False


async def rejection(subject: Subject) -> AsyncIterator[Problem]:
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
        except (QueryRejected, SourceNotFound) as refusal:
            subject.failures[key(request)] = f"{refusal!r} {refusal}"
        except Exception as error:  # noqa: BLE001 - the tool under test may raise anything
            subject.failures[key(request)] = f"{error!r} {error}"
            yield Problem(
                f"{key(request)}: {type(error).__name__}, not QueryRejected or SourceNotFound",
                _TYPED,
            )
        else:
            yield Problem(f"{key(request)}: it was answered", _TYPED)


async def unavailable(subject: Subject) -> AsyncIterator[Problem]:
    """A source that does not answer is a typed failure, never an empty result."""
    if subject.unavailable_tool is None:
        raise NotRun
    registry = EvidenceToolRegistry()
    try:
        tool = registry.register(subject.unavailable_tool, "conformance")
        await registry.open(required=[tool.name])
    except ConfigurationError as error:  # refused at the start: as good
        subject.failures["the source that does not answer"] = str(error)
        return
    mend = "Raise SourceUnavailable: an empty result says that you looked and found nothing."
    try:
        for request in subject.requests:
            where = f"{key(request)}, where the source does not answer"
            try:
                async with asyncio.timeout(subject.timeout_s):
                    answer = await tool.collect(subject.validated(request), subject.context())
            except SourceUnavailable as failure:
                subject.failures[where] = f"{failure!r} {failure}"
            except Exception as error:  # noqa: BLE001 - the tool under test may raise anything
                subject.failures[where] = f"{error!r} {error}"
                yield Problem(f"{where}: it raised {type(error).__name__}", mend)
            else:
                found = len(answer.items) or "nothing"
                yield Problem(f"{where}: it was answered, found: {found}", mend)
    finally:
        await registry.close()
