"""Levels that are numbers: the scales of the usual libraries, told apart by key and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from pydantic import JsonValue

from diagnosis_logs.levels import SYSLOG_SEVERITIES, Level, level_in_column, level_of_name

_WINDOWS = (Level.INFO, Level.FATAL, Level.ERROR, Level.WARN, Level.INFO, Level.TRACE)

LevelReader = Callable[[JsonValue], Level | None]


def _number(value: JsonValue) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.isdecimal() and len(value) <= 5:
        return int(value)
    return None


def _bunyan(number: int) -> Level | None:  # also pino: 10 trace to 60 fatal
    return Level(number // 10 - 1) if 10 <= number < 70 else None


def _python(number: int) -> Level | None:  # 10 debug to 50 critical
    return Level(number // 10) if 10 <= number < 60 else None


def _syslog(number: int) -> Level | None:
    return SYSLOG_SEVERITIES[number] if 0 <= number < 8 else None


def _windows(number: int) -> Level | None:  # winmeta.xml; 0 is logged whatever the level
    return _WINDOWS[number] if 0 <= number < len(_WINDOWS) else None


def _opentelemetry(number: int) -> Level | None:  # SeverityNumber, four for each level
    return Level((number - 1) // 4) if 1 <= number <= 24 else None


def _monolog(number: int) -> Level | None:
    for least, level in (
        (500, Level.FATAL), (400, Level.ERROR), (300, Level.WARN), (200, Level.INFO),
        (100, Level.DEBUG),
    ):  # fmt: skip
        if least <= number <= 600:
            return level
    return None


def _log4j(number: int) -> Level | None:  # intLevel: the lower, the worse
    return Level(6 - number // 100) if 100 <= number <= 600 and number % 100 == 0 else None


def _logback(number: int) -> Level | None:  # level_value
    return Level(min(number // 10_000, 5))


_SCALES: tuple[tuple[re.Pattern[str], Callable[[int], Level | None]], ...] = (
    (re.compile(r"level_?no\Z", re.IGNORECASE), _python),
    (re.compile(r"severity_?number\Z", re.IGNORECASE), _opentelemetry),
    (re.compile(r"int_?level\Z", re.IGNORECASE), _log4j),
)
LEVEL_HINT = re.compile(r"lev|lvl|sev|prio|\As\Z|\Al\Z|\Apri\Z", re.IGNORECASE)


def level_reader(
    key: str, values: Collection[JsonValue], *, of_windows: bool = False
) -> LevelReader | None:
    """How a key's values state levels; None where they do not.

    Args:
        key: the innermost one.
        values: those of a sample.
        of_windows: whether they are of Windows' events.
    """
    numbers = [number for value in values if (number := _number(value)) is not None]
    scale = _scale(key, numbers) if numbers else None
    if scale is _syslog and of_windows:
        scale = _windows
    if scale is None:
        if any(level_of_name(value) is not None for value in values):
            return level_in_column
        return None

    def read(value: JsonValue) -> Level | None:
        number = _number(value)
        return level_in_column(value) if number is None else scale(number)

    return read


def _scale(key: str, numbers: Collection[int]) -> Callable[[int], Level | None] | None:
    for pattern, scale in _SCALES:
        if pattern.search(key):
            return scale
    if not LEVEL_HINT.search(key):
        return None
    most, least = max(numbers), min(numbers)
    if least >= 0 and most < 8:
        return _syslog
    if least >= 10 and most < 70:
        return _bunyan
    if least >= 100 and most <= 600:
        return _monolog
    if least >= 5_000 and most <= 50_000:
        return _logback
    return _opentelemetry if least >= 1 and most <= 24 else None
