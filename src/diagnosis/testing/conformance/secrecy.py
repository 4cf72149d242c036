"""The check that no secret gets out, on any of the ways out of a tool."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable

from diagnosis.testing.conformance.log_watch import holds_secret
from diagnosis.testing.conformance.report import NotRun, Problem
from diagnosis.testing.conformance.subject import Subject

_MENDS = {
    "settings": "Make it a pydantic SecretStr; get_secret_value() reads it where it is used.",
    "tool": "Keep it out of repr(): dataclass fields with field(repr=False), or a SecretStr.",
    "error": "Raise with words of your own: a client's message may hold the URL or the password.",
    "result": "Choose the fields that are shown; never the connection, its URL or its folder.",
    "log": "Log the class of an error, not its text, and no settings.",
}


async def secrets(subject: Subject) -> AsyncIterator[Problem]:
    """No secret is in texts, results before redaction, errors, logs or the settings' repr()."""
    if not subject.secrets:
        raise NotRun
    tool = subject.tool.tool
    ways_out: list[tuple[str, str, Callable[[], str]]] = [
        ("description", "result", lambda: subject.tool.description),
        ("repr() of the tool", "tool", lambda: f"{tool!r} {tool}"),
        ("repr() of the settings", "settings", lambda: f"{subject.settings!r} {subject.settings}"),
    ]
    for place, kind, text in ways_out:
        if holds_secret(text(), subject.secrets):
            yield Problem(f"{place}: a secret stands in it", _MENDS[kind])
    for request, answer in subject.answers.items():
        text_of = json.dumps(
            [answer.scope, [item.fields for item in answer.items]], ensure_ascii=False, default=str
        )
        if holds_secret(text_of, subject.secrets):
            yield Problem(f"{request}: a secret stands in it", _MENDS["result"])
    for place, raised in subject.failures.items():
        if holds_secret(raised, subject.secrets):
            yield Problem(f"{place}: a secret stands in what it raised", _MENDS["error"])
    for logger in subject.logged.found:
        yield Problem(f"the log of {logger}: a secret stands in it", _MENDS["log"])
