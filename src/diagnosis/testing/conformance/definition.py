"""Checks of what a tool says about itself: its texts, its schema, its requests."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from pydantic import ValidationError

from diagnosis.plugin.registered_tool import DESCRIBE_BYTES
from diagnosis.testing.conformance.report import NotRun, Problem
from diagnosis.testing.conformance.subject import Subject, key

DESCRIPTION_BYTES = 4_096

_SAYS_EMPTY = re.compile(r"\b(no|none|nothing|not|empty|without|zero)\b|[没無无空]", re.IGNORECASE)
_SAYS_TYPE = {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"}


async def description(subject: Subject) -> AsyncIterator[Problem]:
    """The description is short, and says what an empty result means."""
    text = subject.tool.tool.description
    if (size := len(text.encode())) > DESCRIPTION_BYTES:
        yield Problem(
            f"it has {size} bytes; at most {DESCRIPTION_BYTES}",
            "Keep what the tool answers, when to use it and what an empty result means.",
        )
    if not _SAYS_EMPTY.search(text):
        yield Problem(
            "it does not say what an empty result means",
            'Add a sentence, for example "An empty result means that no event is recorded".',
        )


async def describe(subject: Subject) -> AsyncIterator[Problem]:
    """`describe()` returns a short text."""
    method = getattr(subject.tool.tool, "describe", None)
    if method is None:
        raise NotRun
    mend = f"Return a text of at most {DESCRIBE_BYTES} bytes that names what can be searched."
    try:
        text = method()
    except Exception as error:  # noqa: BLE001 - the tool under test may raise anything
        subject.failures["describe()"] = f"{error!r} {error}"
        yield Problem(f"it raised {type(error).__name__}", mend)
        return
    if not isinstance(text, str):
        yield Problem(f"it returned {type(text).__name__}, no text", mend)
    elif (size := len(text.encode())) > DESCRIBE_BYTES:
        yield Problem(f"it returned {size} bytes; at most {DESCRIBE_BYTES}", mend)


async def schema(subject: Subject) -> AsyncIterator[Problem]:
    """Every field of the request, nested ones too, has a type and says more than its name.

    Fields without any description are refused by the registry, so `definition` tells of them.
    """
    for path, name, field in _fields(subject.tool.request_json_schema, ""):
        if _letters(field.get("description", "")) == _letters(name):
            yield Problem(
                f"the description of {path} only repeats its name",
                "Say what a value means, in which unit, and what leaving it out does.",
            )
        if not _SAYS_TYPE & field.keys():
            yield Problem(
                f"{path} takes anything", "Annotate it with the type that the tool really takes."
            )


def _fields(node: Any, path: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every named property below a schema: its path, its name and its own schema."""
    if isinstance(node, list):
        for child in node:
            yield from _fields(child, path)
    if not isinstance(node, dict):
        return
    for keyword, child in node.items():
        if keyword in {"properties", "$defs"} and isinstance(child, dict):
            for name, inner in child.items():
                inner_path = f"{path}.{name}" if path else str(name)
                if keyword == "properties":
                    yield inner_path, str(name), inner
                yield from _fields(inner, inner_path)
        elif keyword not in {"default", "examples", "enum", "const"}:  # these hold data
            yield from _fields(child, path)


def _letters(text: str) -> str:
    return re.sub(r"\W|_", "", text).casefold()


async def requests(subject: Subject) -> AsyncIterator[Problem]:
    """The given requests fit the request model."""
    for request in (*subject.valid_requests, subject.slow_request):
        try:
            subject.validated(request)
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
            yield Problem(
                f"{key(request)} is not valid: {fields}",
                "Give the kit requests as a model would send them, or mend the request's model.",
            )


async def normalise(subject: Subject) -> AsyncIterator[Problem]:
    """The scope of a fingerprint is JSON, and the same for the same request."""
    for request in subject.valid_requests:
        try:
            first, second = (
                json.dumps(subject.tool.normalise(subject.validated(request)), allow_nan=False)
                for _ in range(2)
            )
        except Exception as error:  # noqa: BLE001 - the tool under test may raise anything
            yield Problem(
                f"{key(request)}: {type(error).__name__}: {error}",
                "Return a dict of JSON values, made of the request alone.",
            )
            continue
        if first != second:
            yield Problem(
                f"{key(request)} gives two scopes: {first} and {second}",
                "Make it of the request alone: no clock, no counter.",
            )
