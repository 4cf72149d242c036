"""The shapes that timestamps have in logs: one row for each, and how its text is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from diagnosis_logs.zones import ZONE

# year, month, day (None: not in the text), hour, minute, second
CivilTime = tuple[int | None, int | None, int | None, int, int, int]

_MON = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_MONTH_NAMES = (
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip
_ANY_MON = f"(?i:{_MON})[a-z]{{0,6}}\\.?"
_WEEKDAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_HMS = r"[0-2]\d:[0-5]\d:[0-6]\d"
_LOOSE_HMS = r"[0-2]?\d:[0-5]\d:[0-6]\d"
# three digits after a colon are milliseconds (WebSphere)
_FRACTION = r"(?:(?:[.,]|:(?=\d{3}(?!\d)))(\d{1,9}))?"
_PLAIN_FRACTION = r"(?:[.,]\d{1,9})?"
_HALF_DAY = r" ?[AaPp]\.?[Mm]\b\.?"
_YEAR = r"(?:19|20)\d\d"
_CHINESE_DIGITS = "一二三四五六七八九"
_CHINESE_HALF = "(?:凌晨|早上|上午|中午|下午|晚上)"

_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class StampKind:
    """One shape of timestamp.

    Attributes:
        name: for messages and tests.
        pattern: regular expression; group 1 is the time to the second, group 2 its fraction,
            group 3 its zone.
        read: turns group 1 into a civil time; None for a count since 1970.
        lacks: what of its date the text does not say: its year, or the whole date.
        rival: numeric dates that differ only in the order of their parts share this name.
    """

    name: str
    pattern: str
    read: Callable[[str], CivilTime] | None
    lacks: Literal["", "year", "date"] = ""
    rival: str = ""


def _full_year(year: int) -> int:
    # POSIX strptime %y: 69 to 99 are of the last century
    if year >= 100:
        return year
    return year + (1900 if year >= 69 else 2000)


def _half_day_hour(text: str, hour: int) -> int:
    """The hour of a clock that may say AM or PM, in English or Chinese."""
    afternoon = (text.rstrip(".")[-1:] in "mM" and "p" in text[-4:].lower()) or re.search(
        "下午|晚上|中午", text
    )
    morning = text.rstrip(".")[-1:] in "mM" or re.search(_CHINESE_HALF, text)
    if hour > 12:
        return hour
    if afternoon:
        # 中午11点 is before noon
        return hour if hour == 12 or ("中午" in text and hour >= 10) else hour + 12
    return hour % 12 if morning else hour


def _numbers(text: str) -> list[int]:
    return [int(found) for found in _DIGITS.findall(text)]


def _month(text: str) -> int:
    for word in _LETTERS.findall(text):
        if (name := word[:3].lower()) in _MONTH_NAMES:
            return _MONTH_NAMES.index(name) + 1
    raise ValueError("no month")


def _read_iso(text: str) -> CivilTime:
    return (
        int(text[0:4]), int(text[5:7]), int(text[8:10]),
        int(text[-8:-6]), int(text[-5:-3]), int(text[-2:]),
    )  # fmt: skip


def _read_loose(text: str) -> CivilTime:
    year, month, day, hour, minute, *second = _numbers(text)[:6]
    return year, month, day, _half_day_hour(text, hour), minute, second[0] if second else 0


def _read_digits(text: str) -> CivilTime:
    digits = "".join(_DIGITS.findall(text))
    return (
        int(digits[0:4]), int(digits[4:6]), int(digits[6:8]),
        int(digits[8:10]), int(digits[10:12]), int(digits[12:14]),
    )  # fmt: skip


def _read_day_month_year(text: str) -> CivilTime:
    day, year, hour, minute, second = _numbers(text)[:5]
    return _full_year(year), _month(text), day, _half_day_hour(text, hour), minute, second


def _read_month_day_year(text: str) -> CivilTime:
    day, year, hour, minute, second = _numbers(text)[:5]
    return year, _month(text), day, _half_day_hour(text, hour), minute, second


def _read_chinese_month(text: str) -> CivilTime:
    name = text[: text.index("月")]
    tens, ones = name.startswith("十"), name.removeprefix("十")
    month = 10 * tens + (_CHINESE_DIGITS.index(ones) + 1 if ones else 0)
    day, year, hour, minute, second = _numbers(text)
    return year, month, day, _half_day_hour(text, hour), minute, second


def _read_year_month_day(text: str) -> CivilTime:
    year, day, hour, minute, second = _numbers(text)[:5]
    return year, _month(text), day, hour, minute, second


def _read_ctime(text: str) -> CivilTime:
    day, hour, minute, second, *_, year = _numbers(text)
    return year, _month(text), day, hour, minute, second


def _read_syslog(text: str) -> CivilTime:
    return (
        None, _MONTH_NAMES.index(text[:3].lower()) + 1, int(text[3:-9]),
        int(text[-8:-6]), int(text[-5:-3]), int(text[-2:]),
    )  # fmt: skip


def _read_month_day(text: str) -> CivilTime:
    return None, int(text[0:2]), int(text[-11:-9]), *_clock(text)


def _clock(text: str) -> tuple[int, int, int]:
    return int(text[-8:-6]), int(text[-5:-3]), int(text[-2:])


def _read_compact(text: str) -> CivilTime:
    clock = text[6:].strip().replace(":", "").zfill(6)
    return (
        _full_year(int(text[0:2])), int(text[2:4]), int(text[4:6]),
        int(clock[0:2]), int(clock[2:4]), int(clock[4:6]),
    )  # fmt: skip


def _numeric(order: str) -> Callable[[str], CivilTime]:
    """Reads numeric dates whose parts stand in the given order, such as `dmy`."""
    year, month, day = (order.index(part) for part in "ymd")

    def read(text: str) -> CivilTime:
        parts = _numbers(text)[:6]
        clock = (_half_day_hour(text, parts[3]), parts[4], parts[5])
        return _full_year(parts[year]), parts[month], parts[day], *clock

    return read


def _read_clock(text: str) -> CivilTime:
    return None, None, None, *_clock(text)


_LONG_NUMERIC = (
    rf"(\d{{1,2}}[/.-]\d{{1,2}}[/.-]{_YEAR}(?:,? {{1,2}}|T|-){_LOOSE_HMS}"
    rf"(?:{_PLAIN_FRACTION}{_HALF_DAY})?){_FRACTION}{ZONE}"
)
_SHORT_NUMERIC = (
    rf"(\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d\d,? {_LOOSE_HMS}(?:{_PLAIN_FRACTION}{_HALF_DAY})?)"
    rf"{_FRACTION}{ZONE}"
)

# Tried in this order where two match at the same place; each pattern has exactly three groups.
STAMP_KINDS = (
    StampKind(
        "iso-half-day",  # 2026-11-30 3:00:00 PM, 2026/11/30 下午03:00:00
        rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}},? (?:{_LOOSE_HMS}{_PLAIN_FRACTION}{_HALF_DAY}"
        rf"|{_CHINESE_HALF} ?{_LOOSE_HMS})){_FRACTION}{ZONE}",
        _read_loose,
    ),
    StampKind(
        "iso",
        rf"(\d{{4}}[-/.]\d\d[-/.]\d\d(?:[Tt _]|  |, ){_HMS}){_FRACTION}{ZONE}",
        _read_iso,
    ),
    StampKind(
        "iso-dots",  # DB2 2026-11-30-10.00.00.123456; its offset in minutes is not read
        r"(\d{4}-\d\d-\d\d[-T ][0-2]\d\.[0-5]\d\.[0-6]\d)(?:\.(\d{1,9}))?()",
        _read_iso,
    ),
    StampKind(
        "iso-loose",  # 2026/1/5 9:05:03
        rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}[T ] ?{_LOOSE_HMS}){_FRACTION}{ZONE}",
        _read_loose,
    ),
    StampKind(
        "iso-minute",
        rf"(\d{{4}}[-/]\d\d[-/]\d\d[T ][0-2]\d:[0-5]\d)(?![\d:])(){ZONE}",
        _read_loose,
    ),
    StampKind(
        "chinese",
        rf"(\d{{4}}年\d{{1,2}}月\d{{1,2}}日 ?(?:星期[一二三四五六日天] ?)?(?:{_CHINESE_HALF} ?)?"
        rf"[0-2]?\d[:：时点][0-5]?\d[:：分][0-6]?\d秒?){_FRACTION}{ZONE}",
        _read_loose,
    ),
    StampKind(
        "chinese-month",  # java.util.logging in Chinese: 十一月 30, 2026 10:00:00 上午
        rf"((?:[一二三四五六七八九十]|十[一二])月 \d{{1,2}}, {_YEAR} {_LOOSE_HMS}"
        rf"(?: {_CHINESE_HALF})?)()()",
        _read_chinese_month,
    ),
    StampKind(
        "basic",  # 20261130T100000Z, 20261130 10:00:00.123, 20261130100000
        rf"({_YEAR}[01]\d[0-3]\d[T _-]?[0-2]\d:?[0-5]\d:?[0-6]\d)(?!\d){_FRACTION}{ZONE}",
        _read_digits,
    ),
    StampKind(
        "day-month-year",  # access logs, Tomcat, Redis; RabbitMQ with two colons
        rf"(\d{{1,2}}[/ -]{_ANY_MON}[/ -](?:{_YEAR}|\d\d)(?::{{1,2}}|,? |T){_LOOSE_HMS}"
        rf"(?:{_PLAIN_FRACTION}{_HALF_DAY})?){_FRACTION}{ZONE}",
        _read_day_month_year,
    ),
    StampKind(
        "ctime",  # Apache's error log, date(1), Java; fraction and zone stand before the year
        rf"((?:{_WEEKDAY} )?{_MON} [ \d]?\d {_HMS}{_FRACTION}{ZONE} {_YEAR})(?![\w:-])",
        _read_ctime,
    ),
    StampKind(
        "month-day-year",  # java.util.logging, Cisco
        rf"({_ANY_MON} [ \d]?\d,? {_YEAR},? {_LOOSE_HMS}(?:{_PLAIN_FRACTION}{_HALF_DAY})?)"
        rf"{_FRACTION}{ZONE}",
        _read_month_day_year,
    ),
    StampKind(
        "year-month-day",
        rf"({_YEAR}[ /-]{_MON}[ /-][ \d]?\d,? {_LOOSE_HMS}){_FRACTION}{ZONE}",
        _read_year_month_day,
    ),
    StampKind("syslog", rf"({_MON} [ \d]?\d {_HMS}){_FRACTION}()", _read_syslog, lacks="year"),
    StampKind("mdy", _LONG_NUMERIC, _numeric("mdy"), rival="long"),
    StampKind("dmy", _LONG_NUMERIC, _numeric("dmy"), rival="long"),
    StampKind(
        "compact",  # HDFS 081109 203615, old MySQL 081109 20:36:15
        r"(\d\d[01]\d[0-3]\d {1,2}(?:[0-2]\d[0-5]\d[0-6]\d|[ 0-2]\d:[0-5]\d:[0-6]\d)(?!\d))"
        r"()()",
        _read_compact,
    ),
    StampKind("short-ymd", _SHORT_NUMERIC, _numeric("ymd"), rival="short"),  # Spark
    StampKind("short-mdy", _SHORT_NUMERIC, _numeric("mdy"), rival="short"),  # WebSphere
    StampKind("short-dmy", _SHORT_NUMERIC, _numeric("dmy"), rival="short"),
    StampKind(
        "klog",
        rf"(?<=[IWEFD])([01]\d[0-3]\d {_HMS})\.(\d{{6}})()",
        _read_month_day,
        lacks="year",
    ),
    StampKind(
        "month-day",  # logcat 11-30 10:00:00.123
        rf"((?:0[1-9]|1[0-2])[-/][0-3]\d {_HMS}){_FRACTION}()",
        _read_month_day,
        lacks="year",
    ),
    StampKind("clock", rf"({_HMS}){_FRACTION}(Z)?(?![\w:.+-])", _read_clock, lacks="date"),
    StampKind("epoch", r"(1\d{9}(?:\d{3}|\d{6}|\d{9})?)(?:\.(\d{1,9}))?()(?![\w./-])", None),
)
