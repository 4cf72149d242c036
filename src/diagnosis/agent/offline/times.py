"""Since when something fails, as a question says it, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_FULL = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?"
    r"\s?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?"
)
_CLOCK = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])[:：](?P<minute>[0-5]\d)(?:[:：][0-5]\d)?(?![\d:])"
    r"\s*(?P<half>am|pm)?",
    re.IGNORECASE,
)
_HOUR = re.compile(r"(?<![\d:.])(?P<hour>1[0-2]|[1-9])\s*(?P<half>am|pm)\b", re.IGNORECASE)
_CHINESE = re.compile(
    r"(?P<half>凌晨|早上|上午|中午|下午|晚上)?(?P<hour>[01]?\d|2[0-3])[点时]"
    r"(?:(?P<to>半)|(?P<minute>[0-5]?\d)分?)?"
)
_SPAN = re.compile(
    r"\b(?:last|past|for)\s+(?:the\s+)?(?:last\s+|past\s+|about\s+)?(?P<n1>\d{1,3})\s*(?P<u1>min|hour|h\b|day)\w*"
    r"|\b(?P<n2>\d{1,3})\s*(?P<u2>min|hour|day)\w*\s+ago"
    r"|(?:最近|过去|近)\s*(?P<n3>\d{1,3})\s*个?(?P<u3>分钟|小时|天)"
    r"|(?P<n4>\d{1,3})\s*个?(?P<u4>分钟|小时|天)(?:之?前|以来)",
    re.IGNORECASE,
)
_YESTERDAY = re.compile(r"\byesterday\b|昨天", re.IGNORECASE)
_UNITS = {"min": 1, "分钟": 1, "h": 60, "hour": 60, "小时": 60, "day": 1_440, "天": 1_440}
_PATTERNS = (_FULL, _SPAN, _CLOCK, _HOUR, _CHINESE)


@dataclass(frozen=True, slots=True)
class Onset:
    """A time that the question states; what begins close to it or after it may be meant.

    Attributes:
        at: aware; when it begins.
        text: the question's own words for it.
    """

    at: datetime
    text: str


def without_times(question: str) -> str:
    """The question with its times blanked out, so that they are not taken for words."""
    for pattern in (*_PATTERNS, _YESTERDAY):
        question = pattern.sub(" ", question)
    return question


def stated_onset(question: str, reference: datetime) -> Onset | None:
    """The first time the question states, or None.

    Args:
        question: as asked.
        reference: what "now" means; its zone is that of times without one. A time of day later
            than this means the day before.
    """
    if found := _FULL.search(question):
        return _of_full(found, reference)
    if found := _SPAN.search(question):
        number = next(found[f"n{i}"] for i in range(1, 5) if found[f"n{i}"])
        unit = next(found[f"u{i}"] for i in range(1, 5) if found[f"u{i}"]).lower()
        return Onset(reference - timedelta(minutes=int(number) * _UNITS[unit]), found[0].strip())
    for pattern in (_CLOCK, _HOUR, _CHINESE):
        if found := pattern.search(question):
            return _of_clock(found, question, reference)
    if found := _YESTERDAY.search(question):
        midnight = reference.replace(hour=0, minute=0, second=0, microsecond=0)
        return Onset(midnight - timedelta(days=1), found[0])
    return None


def _of_full(found: re.Match[str], reference: datetime) -> Onset | None:
    try:
        at = datetime.fromisoformat(f"{found['date']}T{found['clock']}")
    except ValueError:
        return None
    zone = found["zone"]
    if zone in ("Z", "UTC"):
        at = at.replace(tzinfo=UTC)
    elif zone:
        at = datetime.fromisoformat(f"{at.isoformat()}{zone}")
    else:
        at = at.replace(tzinfo=reference.tzinfo)
    return Onset(at, found[0].strip())


def _of_clock(found: re.Match[str], question: str, reference: datetime) -> Onset:
    groups = found.groupdict()
    hour, half = int(groups["hour"]), (groups.get("half") or "").lower()
    minute = 30 if groups.get("to") else int(groups.get("minute") or 0)
    if half in ("pm", "下午", "晚上") and hour < 12:
        hour += 12
    elif half in ("am", "凌晨") and hour == 12:
        hour = 0
    at = reference.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if at > reference or _YESTERDAY.search(question):
        at -= timedelta(days=1)
    return Onset(at, found[0].strip())
