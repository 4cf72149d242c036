"""Checks of how a result tells what it covers: its scope, its counts and its size."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from pydantic import JsonValue

from diagnosis.contracts.evidence import EvidenceResult, Truncation
from diagnosis.harness.projection import project
from diagnosis.plugin.registered_tool import LEAST_RESULT_BYTES
from diagnosis.testing.conformance.report import NotRun, Problem
from diagnosis.testing.conformance.subject import (
    Misbehaviour,
    Request,
    Subject,
    identities,
    key,
)

LARGEST_RESULT = 16
"""How many times its byte budget a result may have: as much as the projection looks at."""

_NAIVE_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?")
_ANOTHER_TIME = timedelta(days=400)


async def scope(subject: Subject) -> AsyncIterator[Problem]:
    """The scope tells what was searched: it changes with every input that matters."""
    for request in subject.valid_requests:
        for time in _naive_times(subject.answer(request).scope):
            yield Problem(
                f"{key(request)}: the scope holds {time}, a time without its offset",
                "Write times with their offset: (moment.replace(tzinfo=zone)).isoformat().",
            )
    told: set[str] = set()
    async for name, request, other in _changed(subject):
        if name in told or not _same_scope(subject, request, other):
            continue
        # what is given may be what is meant without it: then the scope shows it
        if _differs(subject, request, other) or not _shows(other.scope, request[name]):
            told.add(name)
            yield Problem(
                f"{key(request)}: the scope is the same without {name}",
                f"Let the scope tell {name}, or normalise() leave it out where it changes nothing.",
            )
    for request in subject.requests:
        try:
            later = await subject.ask(
                request, reference_time=subject.reference_time - _ANOTHER_TIME
            )
        except Misbehaviour:
            continue  # a tool may refuse a time that its source knows nothing of
        others = identities(later) != identities(subject.answer(request))
        if others and _same_scope(subject, request, later):
            yield Problem(
                f"{key(request)}: at another reference time the items are others, the scope is not",
                "Let the scope tell the effective window, start and end, defaults included.",
            )


async def _changed(subject: Subject) -> AsyncIterator[tuple[str, Request, EvidenceResult]]:
    """Each given request with one of its fields left out, where that makes a difference."""
    for request in subject.valid_requests:
        for name in request:
            without = {field: value for field, value in request.items() if field != name}
            if _makes_no_difference(subject, request, without):
                continue
            with suppress(Misbehaviour):  # a tool may refuse what lacks it
                yield name, request, await subject.ask(without)


def _makes_no_difference(subject: Subject, request: Request, without: Request) -> bool:
    """Whether a field cannot be left out, or leaving it out asks for the same."""
    try:
        asked = subject.tool.normalise(subject.validated(without))
        return asked == subject.tool.normalise(subject.validated(request))
    except Exception:  # noqa: BLE001 - not valid without it; what else is wrong `normalise` tells
        return True


def _same_scope(subject: Subject, request: Request, other: EvidenceResult) -> bool:
    """Whether the scopes agree in all that does not change by itself from call to call."""
    first = subject.answer(request).scope
    if not first:
        return False  # `collect` tells of it
    again = subject.again.get(key(request), subject.answer(request)).scope
    settled = [name for name in first if first[name] == again.get(name)]
    return first.keys() == other.scope.keys() and all(
        first[name] == other.scope[name] for name in settled
    )


def _differs(subject: Subject, request: Request, other: EvidenceResult) -> bool:
    first = subject.answer(request)
    return (identities(first), first.matched) != (identities(other), other.matched)


def _shows(scope: dict[str, JsonValue], value: JsonValue) -> bool:
    text = value.removesuffix("Z") if isinstance(value, str) else json.dumps(value)
    return text.casefold() in json.dumps(scope, ensure_ascii=False, default=str).casefold()


def _naive_times(value: JsonValue) -> Iterator[str]:
    match value:
        case str() if _NAIVE_TIME.fullmatch(value):
            yield value
        case dict():
            for part in value.values():
                yield from _naive_times(part)
        case list():
            for part in value:
                yield from _naive_times(part)
        case _:
            pass


async def truncation(subject: Subject) -> AsyncIterator[Problem]:
    """`matched` and `truncated` say the truth about what was left out."""
    for request, answer in subject.answers.items():
        shown, matched = len(answer.items), answer.matched
        if answer.truncated is None and matched is not None and matched > shown:
            yield Problem(
                f"{request}: {matched} match, {shown} are given, and truncated is null",
                "Set truncated to Truncation.ITEMS where a limit leaves matching items out.",
            )
        elif answer.truncated is Truncation.ITEMS and matched == shown:
            yield Problem(
                f"{request}: truncated is ITEMS, and all {shown} that match are given",
                "Set truncated only where something is left out; ask the source for one more.",
            )


async def byte_bounds(subject: Subject) -> AsyncIterator[Problem]:
    """A source of any size gives a result in proportion to what can be shown."""
    if subject.large_request is None:
        raise NotRun
    answer = subject.answer(subject.large_request)
    most = LARGEST_RESULT * subject.limit
    size = 0
    for item in answer.items:
        size += _size(item.fields)
    mend = "Stop adding items where context.byte_budget is used up, and set truncated to ITEMS."
    if size > most:
        yield Problem(
            f"the large request has {size} bytes, more than {LARGEST_RESULT} times the budget of "
            f"{subject.limit}",
            mend,
        )
    if size <= subject.limit and answer.truncated is None:
        yield Problem(
            f"the large request is not large: {size} bytes, and nothing is left out",
            f"Give a large_request that matches more than {subject.limit} bytes.",
        )


async def projection(subject: Subject) -> AsyncIterator[Problem]:
    """What the model is shown can be made of every result, within the least bytes too."""
    for request, answer in subject.answers.items():
        try:
            for limit in (LEAST_RESULT_BYTES, subject.limit):
                json.loads(project(answer, tool_call_id="call", limit=limit).text)
        except ValueError as error:
            yield Problem(
                f"{request}: it cannot be shown: {error}",
                "Give fields and scope values that JSON has: no NaN, no lone surrogates.",
            )


def _size(fields: dict[str, Any]) -> int:
    return len(json.dumps(fields, ensure_ascii=False, default=str).encode(errors="replace"))
