"""Zones as timestamps spell them: offsets, and the names that mean one offset only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# Hours east of Greenwich. CST, IST, BST, AST and the like mean several zones: such a time is in
# the configured zone.
_HOURS = {
    "Z": 0, "UTC": 0, "GMT": 0, "UT": 0, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2,
    "EEST": 3, "MSK": 3, "SAMT": 4, "HKT": 8, "SGT": 8, "AWST": 8, "JST": 9, "KST": 9, "AEST": 10,
    "AEDT": 11, "NZST": 12, "NZDT": 13, "EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6,
    "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8, "HST": -10,
}  # fmt: skip
_AMBIGUOUS = ("CST", "IST", "BST", "AST", "WIB", "BRT", "ART", "PKT", "SAST", "GST", "ICT")


def _alternatives(names: list[str]) -> str:
    """The names as one pattern that looks at each first letter once: it is tried on every line."""
    endings: dict[str, list[str]] = {}
    for name in sorted(names, key=len, reverse=True):
        endings.setdefault(name[0], []).append(name[1:])
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in endings.items())


_NAMES = _alternatives([*_HOURS, *_AMBIGUOUS])
# The zone of a stamp, as an optional group: after a space or not; hours alone only without one.
_PLACES = (
    "(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)"
    "/[A-Z][A-Za-z_/+-]{2,28}"
)
ZONE = (
    rf"(?:[ \t]?(?=[A-Z+-])((?:GMT|UTC)?[+-]\d\d:?\d\d|(?:GMT|UTC)[+-]\d{{1,2}}|{_NAMES}"
    rf"|(?<=\d)[+-]\d\d|{_PLACES})(?!\w|:\d))?"
)


def offset_of(text: str) -> tzinfo | None:
    """The offset that a zone's text means: `Z`, `MSK`, `+01:00`, `+01`, `GMT+0800`, `Asia/Tokyo`.

    Returns:
        None for a name of several zones, such as CST.
    """
    if "/" in text:
        try:
            return ZoneInfo(text)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return None
    sign = next((index for index, character in enumerate(text) if character in "+-"), None)
    if sign is None:
        hours = _HOURS.get(text)
        if hours is None:
            return None
        return timezone(timedelta(hours=hours)) if hours else UTC
    digits = text[sign + 1 :].replace(":", "")
    if len(digits) == 3:  # DB2 counts minutes
        minutes = timedelta(minutes=int(digits))
        return timezone(-minutes if text[sign] == "-" else minutes)
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or "0"))
    return timezone(-offset if text[sign] == "-" else offset)


def zone_at(text: str, civil: datetime, configured: tzinfo) -> tzinfo:
    """The zone of a time that carries one as text.

    Args:
        text: as it stands in the stamp.
        civil: the time, in the configured zone.
        configured: used where it bears that name at that time (CST in Shanghai), and where the
            name alone does not tell.
    """
    if text.isalpha() and text not in ("Z", "UTC", "GMT"):
        try:
            if configured.tzname(civil) == text:
                return configured
        except (ValueError, OverflowError):
            pass
    return offset_of(text) or configured
