"""Log levels: their order, their many names, and where a line says one."""

from __future__ import annotations

import re
from enum import IntEnum

from pydantic import JsonValue

_HEAD_CHARACTERS = 120


class Level(IntEnum):
    """How severe a record says it is; a higher number is worse."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4
    FATAL = 5


_NAMES = {
    Level.TRACE: ("trace", "verbose", "finest", "finer"),
    Level.DEBUG: ("debug", "fine"),
    Level.INFO: ("info", "information", "informational", "notice"),
    Level.WARN: ("warn", "warning"),
    Level.ERROR: ("error", "err", "severe"),
    Level.FATAL: ("fatal", "critical", "crit", "alert", "emerg", "emergency", "panic"),
}
LEVEL_OF_NAME = {name: level for level, names in _NAMES.items() for name in names}

# One of these is in every name.
_STEMS = (
    "info", "warn", "err", "debug", "notice", "trace", "fatal", "crit", "fine", "verbose", "severe",
    "alert", "emerg", "panic",
)  # fmt: skip

_any = "|".join(sorted(LEVEL_OF_NAME, key=len, reverse=True))
_upper = _any.upper()
# A level stands in brackets (any case), after `level=` (any case), or alone in capitals.
_STATED = re.compile(
    rf"[\[(<|]\s*(?P<bracket>(?i:{_any}))\s*[\])>|]"
    rf"|\b(?i:level|lvl|severity|loglevel)[\"']?\s*[=:]\s*[\"']?(?P<key>(?i:{_any}))\b"
    rf"|(?<![\w.$/-])(?P<alone>{_upper})(?![\w$/-]|\.\w)"
    # Apache 2.4 names the module first: [core:error]
    rf"|\[\w+:(?P<module>(?i:{_any}))\]"
)
# The usual places, tried first because they are quick: right after the time (and a process id),
# or after one bracketed thread name.
_USUAL = tuple(
    re.compile(rf"[\]\s:|,-]*{skipped}(\[?)([A-Za-z]{{3,13}})(\]?)(?=[\s:|,])")
    for skipped in (r"(?:\d{1,8}\s+)?", r"\[[^\]]{0,80}\]\s+")
)
_KLOG = re.compile(r"[IWEF](?=\d{4} \d\d:)")
_KLOG_LEVELS = {"I": Level.INFO, "W": Level.WARN, "E": Level.ERROR, "F": Level.FATAL}
_PRIORITY = re.compile(r"<(\d{1,3})>")
# RFC 5424, 6.2.1: the numerical severities 0 to 7
_SYSLOG_SEVERITIES = (
    Level.FATAL,
    Level.FATAL,
    Level.FATAL,
    Level.ERROR,
    Level.WARN,
    Level.INFO,
    Level.INFO,
    Level.DEBUG,
)


def level_of_text(line: str, body: int = 0) -> Level | None:
    """The level that the beginning of a line states, or None.

    Args:
        line: the line.
        body: where its time ends.
    """
    for usual in _USUAL:
        if found := usual.match(line, body):
            opened, name, closed = found.groups()
            if name.isupper() or (opened and closed):
                level = LEVEL_OF_NAME.get(name.lower())
                if level is not None:
                    return level
    head = line[: body + _HEAD_CHARACTERS]
    if found := _KLOG.match(head):
        return _KLOG_LEVELS[found[0]]
    lowered = head.lower()
    # looking for words is many times quicker than the search, and many logs have no levels
    if any(stem in lowered for stem in _STEMS) and (found := _STATED.search(head)):
        return LEVEL_OF_NAME[found[found.lastgroup or 0].lower()]
    if found := _PRIORITY.match(head):
        return _SYSLOG_SEVERITIES[int(found[1]) & 7]
    return None


def level_of_value(value: JsonValue) -> Level | None:
    """The level that a field of a JSON line states: a name, or a number of pino and bunyan."""
    if isinstance(value, str):
        return LEVEL_OF_NAME.get(value.strip().lower())
    if isinstance(value, int) and not isinstance(value, bool) and 10 <= value <= 60:
        return Level(value // 10 - 1)
    return None
