"""The shapes that timestamps have in logs: one row for each, and how its text is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from diagnosis_logs.civiltimes import (
    CHINESE_HALF,
    MONTHS,
    CivilTime,
    chinese_fraction,
    half_day_fraction,
    loose_fraction,
    numeric,
    of_epoch,
    of_tai64,
    read_basic_loose,
    read_chinese_month,
    read_chinese_month_day,
    read_clock,
    read_clock_half_day,
    read_compact,
    read_ctime,
    read_day_month,
    read_day_month_number,
    read_day_month_year,
    read_digits,
    read_iso,
    read_loose,
    read_month_day,
    read_month_day_year,
    read_syslog,
    read_year_month_day,
)
from diagnosis_logs.zones import ZONE

_MON = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_ANY_MON = rf"(?i:{'|'.join(MONTHS)})[^\W\d_]{{0,8}}\.?"
_WEEKDAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_HMS = r"[0-2]\d:[0-5]\d:[0-6]\d"
_LOOSE_HMS = r"[0-2]?\d:[0-5]\d:[0-6]\d"
# three digits after a colon are milliseconds (WebSphere), or after a space in a bracket
_FRACTION = r"(?:(?:\.|,(?!\d{10})|:(?=\d{3}(?!\d))| (?=\d{3}\]))(\d{1,9}))?"
_PLAIN_FRACTION = r"(?:[.,]\d{1,9})?"
_HALF_DAY = r" ?[AaPp]\.?[Mm]\b\.?"
_YEAR = r"(?:19|20)\d\d"


@dataclass(frozen=True, slots=True)
class StampKind:
    """One shape of timestamp.

    Attributes:
        name: for messages and tests.
        pattern: regular expression; group 1 is the time to the second, group 2 its fraction,
            group 3 its zone.
        read: turns group 1 into a civil time; None for a count.
        lacks: what of its date the text does not say: its year, or the whole date.
        rival: numeric dates that differ only in the order of their parts share this name.
        count: turns group 1 into an instant, where it is a count.
        inner: the microseconds of a fraction that stands within group 1.
    """

    name: str
    pattern: str
    read: Callable[[str], CivilTime] | None
    lacks: Literal["", "year", "date"] = ""
    rival: str = ""
    count: Callable[[str], int] | None = None
    inner: Callable[[str], int] | None = None


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
        rf"|{CHINESE_HALF} ?{_LOOSE_HMS})){_FRACTION}{ZONE}",
        read_loose,
        inner=half_day_fraction,
    ),
    StampKind(
        "iso",
        # also with a column's end between date and time, and `2026/11/30 - 10:00:00`
        rf"(\d{{4}}[-/.]\d\d[-/.]\d\d(?:[Tt _\t,;|:-]|  |, | - |\",\"){_HMS}){_FRACTION}{ZONE}",
        read_iso,
    ),
    StampKind(
        "iso-dots",  # DB2 2026-11-30-10.00.00.123456+060, its offset in minutes
        r"(\d{4}-\d\d-\d\d[-T ][0-2]\d\.[0-5]\d\.[0-6]\d)(?:\.(\d{1,9}))?([+-]\d{3}(?!\d))?",
        read_iso,
    ),
    StampKind(
        "iso-loose",  # 2026/1/5 9:05:03
        rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}[T ] ?{_LOOSE_HMS}){_FRACTION}{ZONE}",
        read_loose,
    ),
    StampKind(
        "iso-minute",
        rf"(\d{{4}}[-/]\d\d[-/]\d\d[T ][0-2]\d:[0-5]\d)(?![\d:])(){ZONE}",
        read_loose,
    ),
    StampKind(
        "chinese",
        rf"(\d{{4}}年\d{{1,2}}月\d{{1,2}}日 ?(?:星期[一二三四五六日天] ?)?(?:{CHINESE_HALF} ?)?"
        rf"[0-2]?\d[:：时点][0-5]?\d[:：分][0-6]?\d(?:秒(?:\d{{1,3}}毫秒)?)?){_FRACTION}{ZONE}",
        read_loose,
        inner=chinese_fraction,
    ),
    StampKind(
        "chinese-month",  # java.util.logging in Chinese and Japanese: 十一月 30, 2026 10:00:00 上午
        rf"((?:[一二三四五六七八九十]|十[一二]|1?\d)月 \d{{1,2}}, {_YEAR} {_LOOSE_HMS}"
        rf"(?: {CHINESE_HALF})?)()()",
        read_chinese_month,
    ),
    StampKind(
        "basic",  # 20261130T100000Z, 20261130 10:00:00.123, 20261130100000
        rf"({_YEAR}[01]\d[0-3]\d[T _:-]?[0-2]\d:?[0-5]\d:?[0-6]\d)(?!\d){_FRACTION}{ZONE}",
        read_digits,
    ),
    StampKind(
        "basic-loose",  # 20261130-0:7:20:444, its milliseconds without leading zeros
        rf"({_YEAR}[01]\d[0-3]\d[T _-]\d{{1,2}}:\d{{1,2}}:\d{{1,2}}(?::\d{{1,3}}(?!\d))?)(?!\d)"
        rf"{_FRACTION}{ZONE}",
        read_basic_loose,
        inner=loose_fraction,
    ),
    StampKind(
        "day-month-year",  # access logs, Tomcat, Redis; RabbitMQ with two colons
        rf"(\d{{1,2}}(?:\. |[/ -]){_ANY_MON}[/ -](?:{_YEAR}|\d\d)(?::{{1,2}}|,? |T){_LOOSE_HMS}"
        rf"(?:{_PLAIN_FRACTION}{_HALF_DAY})?){_FRACTION}{ZONE}",
        read_day_month_year,
        inner=half_day_fraction,
    ),
    StampKind(
        "ctime",  # Apache's error log, date(1), Java; fraction and zone stand before the year
        rf"((?:{_WEEKDAY} )?{_MON} [ \d]?\d {_HMS}{_FRACTION}{ZONE} {_YEAR})(?![\w:-])",
        read_ctime,
    ),
    StampKind(
        "month-day-year",  # java.util.logging, Cisco
        rf"({_ANY_MON} [ \d]?\d,? {_YEAR},? {_LOOSE_HMS}(?:{_PLAIN_FRACTION}{_HALF_DAY})?)"
        rf"{_FRACTION}{ZONE}",
        read_month_day_year,
        inner=half_day_fraction,
    ),
    StampKind(
        "year-month-day",
        rf"({_YEAR}[ /-]{_MON}[ /-][ \d]?\d,? {_LOOSE_HMS}){_FRACTION}{ZONE}",
        read_year_month_day,
    ),
    StampKind("syslog", rf"({_MON} [ \d]?\d {_HMS}){_FRACTION}{ZONE}", read_syslog, lacks="year"),
    StampKind(
        "day-month",  # old Redis: 30 Nov 10:00:00.123
        rf"(\d{{1,2}}[ /-]{_MON}[ /-]? ?{_HMS}){_FRACTION}{ZONE}",
        read_day_month,
        lacks="year",
    ),
    StampKind("mdy", _LONG_NUMERIC, numeric("mdy"), rival="long", inner=half_day_fraction),
    StampKind("dmy", _LONG_NUMERIC, numeric("dmy"), rival="long", inner=half_day_fraction),
    StampKind(
        "compact",  # HDFS 081109 203615, old MySQL 081109 20:36:15
        r"(\d\d[01]\d[0-3]\d {1,2}(?:[0-2]\d[0-5]\d[0-6]\d|[ 0-2]\d:[0-5]\d:[0-6]\d)(?!\d))"
        r"(?:\.(\d{1,9}))?()",
        read_compact,
    ),
    StampKind("short-ymd", _SHORT_NUMERIC, numeric("ymd"), rival="short"),  # Spark
    StampKind("short-mdy", _SHORT_NUMERIC, numeric("mdy"), rival="short"),  # WebSphere
    StampKind("short-dmy", _SHORT_NUMERIC, numeric("dmy"), rival="short"),
    StampKind(
        "klog",
        rf"(?<=[IWEFD])([01]\d[0-3]\d {_HMS})\.(\d{{6}})()",
        read_month_day,
        lacks="year",
    ),
    StampKind(
        "month-day",  # logcat 11-30 10:00:00.123, Proxifier 11.30 10:00:00, 11/30-10:00:00
        rf"((?:0[1-9]|1[0-2])[-/.][0-3]\d[ -]{_HMS}){_FRACTION}()",
        read_month_day,
        lacks="year",
        rival="no-year",
    ),
    StampKind(
        "chinese-month-day",  # 11月30日 10:00:00
        rf"(\d{{1,2}}月\d{{1,2}}日 ?{_LOOSE_HMS}){_FRACTION}()",
        read_chinese_month_day,
        lacks="year",
    ),
    StampKind(
        "day-month-number",
        rf"([0-3]\d[-/.](?:0[1-9]|1[0-2]) {_HMS}){_FRACTION}()",
        read_day_month_number,
        lacks="year",
        rival="no-year",
    ),
    StampKind(
        "clock-half-day",  # 3:04PM of Go's time.Kitchen, 3:04:05 PM
        rf"(\d{{1,2}}:[0-5]\d(?::[0-6]\d)?(?:{_PLAIN_FRACTION}{_HALF_DAY}))()()(?!\w)",
        read_clock_half_day,
        lacks="date",
        inner=half_day_fraction,
    ),
    StampKind("clock", rf"({_HMS}){_FRACTION}(Z)?(?![\w:.+-])", read_clock, lacks="date"),
    StampKind(
        "tai64n",  # daemontools: @ and 24 hexadecimal digits
        r"(?<=@)(40000000[0-9a-f]{8}(?:[0-9a-f]{8})?)()()(?!\w)",
        None,
        count=of_tai64,
    ),
    StampKind(
        "epoch",
        r"(1\d{9}(?:\d{3}|\d{6}|\d{9})?)(?:\.(\d{1,9}))?()(?![\w./-])",
        None,
        count=of_epoch,
    ),
)
