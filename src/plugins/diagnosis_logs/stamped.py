"""Many lines at once: whether each begins with a stamp, and between which instants they all lie.

A stamp that tells its whole date is the same moment wherever its minute stands, and its seconds
count from there: so the few minutes of many lines are read, and not every line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import tzinfo

from diagnosis_logs.places import Place
from diagnosis_logs.reading import LINE_BYTES
from diagnosis_logs.stampreader import MINUTE, StampReader

_SECONDS = frozenset(f"{second:02}" for second in range(60))  # a leap second is looked at


@dataclass(frozen=True, slots=True)
class Stamped:
    """Lines of which each begins with a stamp.

    Attributes:
        lines: how many.
        earliest, latest: instants that none of them is before or after.
    """

    lines: int
    earliest: int
    latest: int


class StampedLines:
    """Reads lines that are told with their offsets.

    Args:
        place: where the stamp stands, and its shape; one that tells its whole date.
        zone: of stamps that carry none.
    """

    def __init__(self, place: Place, zone: tzinfo) -> None:
        pattern = place.pattern()
        self._lines = re.compile(rf"(?m)^\d+:{pattern.pattern}", pattern.flags)
        self._reader = StampReader(place.kind, zone, 0)

    def told(self, lines: bytes) -> Stamped | None:
        """What lines of UTF-8 say, each after its offset and a colon; None where not all say it.

        Nor where a line is longer than is read, or holds what is not read as it stands.
        """
        if b"\0" in lines:
            return None
        parted = lines.split(b"\n")
        if max(map(len, parted)) > LINE_BYTES:
            return None
        if not self._lines.match(parted[0].decode(errors="replace")):
            return None  # most likely the others have none either
        stamps = self._lines.findall(lines.decode(errors="replace"))
        # what is found reaches over a line's end only where that line has no stamp of its own
        if len(stamps) != len(parted):
            return None
        if not {stamp[0][-2:] for stamp in stamps} <= _SECONDS:
            return None
        instants = [
            self._reader.minute(minute, zone)
            for minute, zone in {(stamp[0][:-2], stamp[2]) for stamp in stamps}
        ]
        known = [instant for instant in instants if instant is not None]
        if len(known) < len(instants):
            return None
        return Stamped(len(stamps), min(known), max(known) + MINUTE - 1)
