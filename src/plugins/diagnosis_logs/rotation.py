"""Names of rotated files: which belong to one log, and in what order they were written."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

_PACKED = re.compile(r"\.(?:gz|gzip|zst|zstd|bz2|xz)\Z", re.IGNORECASE)
_MONTH, _OF_MONTH = r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_DAY = (
    rf"(?:19|20)\d\d(?:-{_MONTH}(?:-{_OF_MONTH})?|_{_MONTH}_{_OF_MONTH}"
    rf"|\.{_MONTH}\.{_OF_MONTH}|{_MONTH}{_OF_MONTH})"
)
_CLOCK = r"(?:[T_.-]?[0-2]\d(?:[_:.-]?[0-5]\d(?:[_:.-]?[0-5]\d)?)?(?!\d)Z?)?"
_DATE = rf"(?<!\d)(?P<date>{_DAY}{_CLOCK})(?!\d)(?:[._-](?P<index>\d{{1,10}}))?"
# app.log-20260101, app.log.2026-01-01_12, app.log.2026-01-01.3
_DATE_LAST = re.compile(rf"(?P<base>.+?)[._-]{_DATE}\Z")
# app-2026-01-01.log, app.2026-01-01.0.log
_DATE_WITHIN = re.compile(rf"(?P<base>.+?)[._-]?{_DATE}(?P<ending>\.[A-Za-z]\w{{0,9}})\Z")
# 2026-01-01-app.log, 2026-01-01.log
_DATE_FIRST = re.compile(rf"{_DATE}(?:(?P<ending>\.[A-Za-z]\w{{0,9}})|[._-](?P<base>.+))\Z")
# u_ex260101.log, as IIS names them
_IIS = re.compile(r"(?P<base>(?:u_)?ex)(?P<date>\d{6}(?:\d\d)?)(?:_x)?(?P<ending>\.log)\Z")
# app.log.1
_NUMBER_LAST = re.compile(r"(?P<base>.+?)\.(?P<number>\d{1,5})\Z")
# app.1.log
_NUMBER_WITHIN = re.compile(r"(?P<base>.+?)\.(?P<number>\d{1,5})(?P<ending>\.[A-Za-z]\w{0,9})\Z")
# app.log.old
_WORD_LAST = re.compile(r"(?P<base>.+?)(?:\.(?:old|prev|previous|bak|1st)|~)\Z", re.IGNORECASE)
_LOG_NAME = re.compile(r"\.(?:log|out|err|txt|jsonl?|ndjson|csv|access|trace)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z")


@dataclass(frozen=True)
class Rotated:
    """What a file's name says.

    Attributes:
        base: the name of the log that it is a part of: of the file that is written now.
        digits: of its date, "" where it has none.
        number: its number, 0 where it has none.
    """

    base: str
    digits: str = ""
    number: int = 0

    @cached_property
    def order(self) -> tuple[int, str, int]:
        """The older, the smaller: by dates, then from the highest number down; the live one last.

        Of one date the lower number is the older.
        """
        if self.digits:
            return 0, self.digits, self.number
        return 1, "", -self.number


def unpacked_name(name: str) -> str:
    """A file's name without what says that it is packed."""
    return _PACKED.sub("", name)


def rotated(name: str, others: Collection[str]) -> Rotated:
    """What a file's name says of the set it belongs to.

    A number alone is a weak sign: `app.1.log` and `app-1.2` belong to another file only where that
    is there; `app.log.1` always does.

    Args:
        name: of the file.
        others: the names in its folder, each as `unpacked_name` gives it.
    """
    name = unpacked_name(name)
    for pattern in (_DATE_LAST, _DATE_FIRST, _DATE_WITHIN, _IIS):
        if found := pattern.match(name):
            parts = found.groupdict()
            base = (parts.get("base") or "DATE") + (parts.get("ending") or "")
            digits = re.sub(r"\D", "", found["date"]).ljust(14, "0")
            return Rotated(base, digits, int(parts.get("index") or 0))
    if found := _NUMBER_LAST.match(name):
        base = found["base"]
        if base in others or _LOG_NAME.search(base) or ("." not in base):
            return Rotated(base, number=1 + int(found["number"]))
    if found := _NUMBER_WITHIN.match(name):
        base = found["base"] + found["ending"]
        if base in others and not _ADDRESS.match(f"{found['base']}.{found['number']}"):
            return Rotated(base, number=1 + int(found["number"]))
    if (found := _WORD_LAST.match(name)) and found["base"] in others:
        return Rotated(found["base"], number=1)
    return Rotated(name)
