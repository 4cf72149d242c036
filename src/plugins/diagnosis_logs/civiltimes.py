"""What the text of a timestamp says: year to second, or a count; one function for each notation."""

from __future__ import annotations

import re
from collections.abc import Callable

from diagnosis_logs.timestamps import MICROSECONDS, instant_of_epoch

# year, month, day (None: not in the text), hour, minute, second
CivilTime = tuple[int | None, int | None, int | None, int, int, int]

_MONTH_NAMES = (
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip
# How the names of months begin in German, French, Spanish, Italian, Portuguese, Dutch and Russian
# where English ones begin in another way.
_OTHER_MONTHS = {
    "янв": 1, "ene": 1, "gen": 1, "fév": 2, "fev": 2, "фев": 2, "mär": 3, "mrz": 3,
    "mrt": 3, "мар": 3, "avr": 4, "abr": 4, "апр": 4, "mai": 5, "mag": 5, "mei": 5, "май": 5,
    "мая": 5, "juin": 6, "giu": 6, "июн": 6, "juil": 7, "lug": 7, "июл": 7, "aoû": 8, "aou": 8,
    "ago": 8, "авг": 8, "set": 9, "сен": 9, "okt": 10, "ott": 10, "out": 10, "окт": 10, "ноя": 11,
    "dez": 12, "déc": 12, "dic": 12, "дек": 12,
}  # fmt: skip
MONTHS = {**{name: at for at, name in enumerate(_MONTH_NAMES, 1)}, **_OTHER_MONTHS}
_CHINESE_DIGITS = "一二三四五六七八九"
CHINESE_HALF = "(?:凌晨|早上|上午|中午|下午|晚上|午前|午後)"

_DIGITS = re.compile(r"\d+")
_INNER_FRACTION = re.compile(r"[.,](\d{1,9}) ?[AaPp]")
_LETTERS = re.compile(r"[^\W\d_]+")


def of_epoch(text: str) -> int:
    """The instant of a count of seconds or parts of them since 1970."""
    return instant_of_epoch(int(text))


def of_tai64(text: str) -> int:
    """The instant of hexadecimal TAI64 or TAI64N."""
    # daemontools adds 10 seconds to the seconds since 1970 and knows of no leap seconds
    seconds = int(text[:16], 16) - (1 << 62) - 10
    return seconds * MICROSECONDS + int(text[16:] or "0", 16) // 1_000


def half_day_fraction(text: str) -> int:
    """The fraction that stands before AM or PM."""
    found = _INNER_FRACTION.search(text)
    return int(found[1][:6].ljust(6, "0")) if found else 0


def chinese_fraction(text: str) -> int:
    """The milliseconds of `8时00分00秒123毫秒`."""
    found = re.search("秒([0-9]{1,3})毫秒", text)
    return 1_000 * int(found[1]) if found else 0


def loose_fraction(text: str) -> int:
    """The milliseconds of `0:7:20:44`, without leading zeros."""
    milliseconds = text.split(":")[3:]
    return 1_000 * int(milliseconds[0]) if milliseconds else 0


def _full_year(year: int) -> int:
    # POSIX strptime %y: 69 to 99 are of the last century
    if year >= 100:
        return year
    return year + (1900 if year >= 69 else 2000)


def _half_day_hour(text: str, hour: int) -> int:
    """The hour of a clock that may say AM or PM, in English or Chinese."""
    afternoon = (text.rstrip(".")[-1:] in "mM" and "p" in text[-4:].lower()) or re.search(
        "下午|晚上|中午|午後", text
    )
    morning = text.rstrip(".")[-1:] in "mM" or re.search(CHINESE_HALF, text)
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
        name = word.lower()
        if found := MONTHS.get(name[:3]) or MONTHS.get(name[:4]):
            return found
    raise ValueError("no month")


def read_iso(text: str) -> CivilTime:
    """2026-11-30 10:00:00, of fixed width."""
    return (
        int(text[0:4]), int(text[5:7]), int(text[8:10]),
        int(text[-8:-6]), int(text[-5:-3]), int(text[-2:]),
    )  # fmt: skip


def read_loose(text: str) -> CivilTime:
    """Year, month and day as numbers of any width; AM and PM."""
    year, month, day, hour, minute, *second = _numbers(text)[:6]
    return year, month, day, _half_day_hour(text, hour), minute, second[0] if second else 0


def read_digits(text: str) -> CivilTime:
    """20261130100000, with or without marks between."""
    digits = "".join(_DIGITS.findall(text))
    return (
        int(digits[0:4]), int(digits[4:6]), int(digits[6:8]),
        int(digits[8:10]), int(digits[10:12]), int(digits[12:14]),
    )  # fmt: skip


def read_basic_loose(text: str) -> CivilTime:
    """20261130-0:7:20."""
    hour, minute, second, *_ = _numbers(text[8:].lstrip("-"))
    return int(text[0:4]), int(text[4:6]), int(text[6:8]), hour, minute, second


def read_day_month_year(text: str) -> CivilTime:
    """30/Nov/2026:10:00:00."""
    day, year, hour, minute, second = _numbers(text)[:5]
    return _full_year(year), _month(text), day, _half_day_hour(text, hour), minute, second


def read_month_day_year(text: str) -> CivilTime:
    """Nov 30, 2026 10:00:00 AM."""
    day, year, hour, minute, second = _numbers(text)[:5]
    return year, _month(text), day, _half_day_hour(text, hour), minute, second


def read_chinese_month(text: str) -> CivilTime:
    """十一月 30, 2026 10:00:00 上午; 11月 30, 2026 10:00:00 午前."""
    name, _, rest = text.partition("月")
    if name.isdecimal():
        month = int(name)
    else:
        tens, ones = name.startswith("十"), name.removeprefix("十")
        month = 10 * tens + (_CHINESE_DIGITS.index(ones) + 1 if ones else 0)
    day, year, hour, minute, second = _numbers(rest)
    return year, month, day, _half_day_hour(text, hour), minute, second


def read_year_month_day(text: str) -> CivilTime:
    """2026 Nov 30 10:00:00."""
    year, day, hour, minute, second = _numbers(text)[:5]
    return year, _month(text), day, hour, minute, second


def read_ctime(text: str) -> CivilTime:
    """Mon Nov 30 10:00:00 2026."""
    day, hour, minute, second, *_, year = _numbers(text)
    return year, _month(text), day, hour, minute, second


def read_syslog(text: str) -> CivilTime:
    """Nov 30 10:00:00."""
    return (
        None, _MONTH_NAMES.index(text[:3].lower()) + 1, int(text[3:-9]),
        int(text[-8:-6]), int(text[-5:-3]), int(text[-2:]),
    )  # fmt: skip


def read_day_month(text: str) -> CivilTime:
    """30 Nov 10:00:00."""
    return None, _month(text), _numbers(text)[0], *_clock(text)


def read_month_day(text: str) -> CivilTime:
    """11-30 10:00:00."""
    return None, int(text[0:2]), int(text[-11:-9]), *_clock(text)


def read_chinese_month_day(text: str) -> CivilTime:
    """11月30日 10:00:00."""
    month, day, hour, minute, second = _numbers(text)
    return None, month, day, hour, minute, second


def read_day_month_number(text: str) -> CivilTime:
    """30.11 10:00:00."""
    return None, int(text[3:5]), int(text[0:2]), *_clock(text)


def read_clock_half_day(text: str) -> CivilTime:
    """3:04PM, 3:04:05 PM."""
    hour, minute, *second = _numbers(text.partition(".")[0].partition(",")[0])[:3]
    return None, None, None, _half_day_hour(text, hour), minute, second[0] if second else 0


def _clock(text: str) -> tuple[int, int, int]:
    return int(text[-8:-6]), int(text[-5:-3]), int(text[-2:])


def read_compact(text: str) -> CivilTime:
    """261130 100000, 261130 10:00:00."""
    clock = text[6:].strip().replace(":", "").zfill(6)
    return (
        _full_year(int(text[0:2])), int(text[2:4]), int(text[4:6]),
        int(clock[0:2]), int(clock[2:4]), int(clock[4:6]),
    )  # fmt: skip


def numeric(order: str) -> Callable[[str], CivilTime]:
    """Reads numeric dates whose parts stand in the given order, such as `dmy`."""
    year, month, day = (order.index(part) for part in "ymd")

    def read(text: str) -> CivilTime:
        parts = _numbers(text)[:6]
        clock = (_half_day_hour(text, parts[3]), parts[4], parts[5])
        return _full_year(parts[year]), parts[month], parts[day], *clock

    return read


def read_clock(text: str) -> CivilTime:
    """10:00:00."""
    return None, None, None, *_clock(text)
