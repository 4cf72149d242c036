"""What a container runtime puts around the lines of a program: CRI's prefix, Docker's JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

_CRI = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([FP])"
    r"(?:[:\w]{1,32})?(?: |\Z)"
)
# `docker logs -t` and `kubectl logs --timestamps`
_BARE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) ")
_DOCKER = re.compile(r'\{"log":"')


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A line of a container.

    Attributes:
        time: when the runtime read it, as text.
        stream: stdout or stderr.
        partial: whether the program's line goes on in the next one.
        payload: what the program wrote.
        body: where the payload begins; the length of the line where it is quoted.
    """

    time: str
    stream: str
    partial: bool
    payload: str
    body: int


def unwrap(line: str) -> Wrapped | None:
    """Take the runtime's wrapping off a line; None where it has none."""
    if found := _CRI.match(line):
        return Wrapped(found[1], found[2], found[3] == "P", line[found.end() :], found.end())
    if _DOCKER.match(line):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            return None
        text, time, stream = data["log"], data.get("time"), data.get("stream")
        if isinstance(text, str) and isinstance(time, str):
            whole = text.endswith("\n")
            payload = text.rstrip("\r\n").encode("utf-8", "replace").decode()
            return Wrapped(time, str(stream), not whole, payload, len(line))
    return None


def unwrap_bare(line: str) -> Wrapped | None:
    """Take the time off that a runtime's command put before a line; None where it has none."""
    found = _BARE.match(line)
    return found and Wrapped(found[1], "", False, line[found.end() :], found.end())


def is_contained(lines: Sequence[str]) -> bool:
    """Whether most of a sample's lines are wrapped."""
    return 2 * sum(unwrap(line) is not None for line in lines) > len(lines) > 0
