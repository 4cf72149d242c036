"""HTTP statuses of access logs, and how bad they are."""

from __future__ import annotations

import re

from pydantic import JsonValue

from diagnosis_logs.levels import Level

_STATUS = re.compile(
    # common, combined, Envoy, uvicorn: after the quoted request
    r'(?:HTTP/[\d.]{1,3}|\s"-|\s"|[\])] "[A-Z]{3,10} [^"\s]{0,2000})" ([1-5]\d\d)(?=[\s,|]|\Z)'
    # HAProxy: after its timers
    r"|\s-?\d+(?:/-?\d+){2,3}/\+?\d+ ([1-5]\d\d) \+?\d+ "
    # uWSGI: the status stands in brackets after all else
    r"|\(HTTP/[\d.]{1,3} ([1-5]\d\d)\)"
    # Squid
    r"|\s(?:TCP|UDP|NONE)\w{0,40}/([1-5]\d\d) "
    # AWS load balancers
    r'|\s([1-5]\d\d) (?:[0-5]\d\d|[0-]) -?\d+ -?\d+ "[A-Z]{3,10} '
    # Gin: a column of its own
    r"|\| {0,4}([1-5]\d\d) \| {1,12}[\d.]+[a-zµ]{1,2}"
    # morgan and the like: after method and path, before a duration
    r"|(?:\A|[\s\"])[A-Z]{3,7} /[^\s\"]{0,2000}\"? ([1-5]\d\d) [\d.]+ ?m?s\b"
)


# What every status looks like: quicker to look for than for all that may stand around it.
_NUMBER = re.compile(r"[ /][1-5]\d\d(?=[\s,|)]|\Z)")


def status_of(text: str) -> int | None:
    """The status that a line of an access log tells, or None."""
    head = text[:4_000]
    found = _STATUS.search(head) if _NUMBER.search(head) else None
    return int(found[found.lastindex or 0]) if found else None


def severity_of_status(status: JsonValue) -> Level | None:
    """5xx is ERROR, 4xx WARN, what is below INFO; None for what is no status.

    A client's fault is a warning: one 404 is nothing, but a flood of 401, 429 or 499 is a symptom.
    """
    if isinstance(status, str) and status.isdecimal():
        status = int(status[:4])
    if isinstance(status, bool) or not isinstance(status, int | float) or not 100 <= status < 600:
        return None
    return Level.ERROR if status >= 500 else Level.WARN if status >= 400 else Level.INFO
