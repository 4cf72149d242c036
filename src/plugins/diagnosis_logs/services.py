"""The service that a line of text names: syslog's tag or app-name, Spring's application."""

from __future__ import annotations

import re

from diagnosis_logs.levels import LEVEL_OF_NAME

_TAG = re.compile(
    r"\s(\w[\w.:-]{0,127})\s([A-Za-z_][\w./-]{0,63})(?:\([^)\s]{0,64}\))?(?:\[\d+\])?:"
)
# RFC 5424: host, app-name, procid, msgid
_APP_NAME = re.compile(r"\s\S{1,255}\s([A-Za-z_][\w./-]{0,47})\s\S{1,128}\s\S{1,32}\s")
_TAG_ALONE = re.compile(r"\s([A-Za-z_][\w./-]{0,63})\[[\w.-]{1,32}\]:\s")  # without a host
_FIRST_OF_5424 = re.compile(r"<\d{1,3}>\d\s")
# Spring Boot: [app,trace,span] after the level (2), or [app] after the dashes (3)
_SPRING = re.compile(
    r"\s+[A-Z]{4,5}\s{1,2}(?:\[([A-Za-z][\w.-]{0,63}),[\w-]{0,64},[\w-]{0,64}[\],]"
    r"|\d{1,8} --- \[([A-Za-z][\w.-]{0,63})\] \[)"
)
_CEF_PRODUCT = re.compile(r".{0,80}?\b(?:CEF|LEEF):[\d.]{1,4}\|[^|]{0,100}\|([^|]{1,64})\|")
_COMPOSE = re.compile(r"([A-Za-z][\w.-]{0,127}) {0,60}\|\s")


def syslog_tag(line: str, body: int) -> str | None:
    """The program that stands after time and host, or None."""
    found = _TAG.match(line, body)
    if found:
        return found[2] if found[1].lower() not in LEVEL_OF_NAME else None
    alone = _TAG_ALONE.match(line, body)
    return alone[1] if alone and alone[1].lower() not in LEVEL_OF_NAME else None


def service_of_text(line: str, body: int, *, tagged: bool) -> str | None:
    """The service a line names, or None.

    Args:
        line: the first line of a record.
        body: where its time ends.
        tagged: whether the file's lines name a host and a program after their time.
    """
    if _FIRST_OF_5424.match(line):
        named = _APP_NAME.match(line, body)
        return named[1] if named else None
    if tagged and (tag := syslog_tag(line, body)):
        if tag in ("CEF", "LEEF") and (product := _CEF_PRODUCT.match(line, body)):
            return product[1]
        return tag
    if spring := _SPRING.match(line, body):
        return spring[1] or spring[2]
    compose = _COMPOSE.match(line)
    return compose[1] if compose else None
