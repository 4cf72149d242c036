"""Where a timestamp stands in a line: after how many words, and directly after what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from diagnosis_logs.stampreader import StampReader
from diagnosis_logs.stamps import STAMP_KINDS, StampKind
from diagnosis_logs.timestamps import DAY, to_instant

_SEARCHED_CHARACTERS = 300
_MOST_WORDS = 6
FAR_FUTURE = 4_102_444_800_000_000  # 2100: only asks whether a sample's stamps are possible times

_COLOUR = r"(?:\x1b\[[\d;]{0,16}m){1,4}"
# What may stand directly before a stamp: syslog's priority, `time=`, `msg=audit(`, brackets and
# quotes, klog's letter.
_LEAD = (
    rf"(?:{_COLOUR})?(?:<\d{{1,3}}>)?(?:[\[<({{]\w{{1,32}}[\])>}}][,|;:]?){{0,3}}"
    r"(?:[\w.@-]{1,64}[=:(：,|;]{1,2}|[\w.@-]{1,64}=\w{1,32}\()?"
    rf"[^\s\w.\x1b/:-]{{0,5}}(?:{_COLOUR})?[IWEFD]?"
)
# A number set to the right before the time, as Zabbix writes process ids, or a whole time.
ALIGNED = re.compile(r" {1,8}(?:\d{1,8}:(?=\d)|(?=[12]\d{3}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d))")
_MOST_WORDS_BRACKETED = 14
_BEFORE = re.compile(rf"(?:\S{{1,256}}\s+){{0,{_MOST_WORDS_BRACKETED}}}{_LEAD}")
_VARYING = re.compile(
    rf"(?P<colour>{_COLOUR})|(?P<number>\d+)|(?P<letter>[IWEFD]\Z)"
    r"|(?P<word>(?:(?<=[\[<({])|(?<!.))[A-Za-z_][\w.@-]{0,63}(?=[\])>}]|[,|;]))"
)
_GENERAL = {
    "colour": _COLOUR, "number": r"\d{1,20}", "letter": "[IWEFD]", "word": r"[\w.@-]{1,64}",
}  # fmt: skip
_DIGIT = re.compile(r"\d")
_ANYWHERE = tuple((kind, re.compile(rf"(?<![\d.]){kind.pattern}")) for kind in STAMP_KINDS)

_EPOCH_KIND = next(kind for kind in STAMP_KINDS if kind.name == "epoch")
_BARE_EPOCH = re.compile(r"(?<!\S)1\d{9}(?:\.\d{1,9})?(?!\S)")
_AHEAD = 2 * DAY  # of a clock that is wrong, or in a zone far to the east
_EPOCH_SPAN_S = 5 * 366 * 86_400

# Shares of a sample's stamps below which a place is the text of a few lines.
_RARE_AT_START = 0.02
_RARE_INSIDE = 0.1
_RARE_ATTRIBUTE = 0.3
_COUNTED_FROM = 50


@dataclass(frozen=True, slots=True)
class Place:
    """One shape of timestamp at one place.

    Attributes:
        kind: the shape.
        words: how many words stand before it.
        lead: a regular expression for what stands directly before it.
    """

    kind: StampKind
    words: int
    lead: str

    def pattern(self) -> re.Pattern[str]:
        """Matches the beginning of a line up to the stamp's end; groups as of `StampKind`."""
        before = rf"(?:\S{{1,256}}\s+){{{self.words}}}" if self.words else ""
        return re.compile(f"{before}{self.lead}{self.kind.pattern}")


class PlaceCounter:
    """Counts the places of the stamps of sample lines."""

    def __init__(self) -> None:
        self.counts: Counter[Place] = Counter()
        self.zoned = 0
        self._known: dict[Place, tuple[re.Pattern[str], StampReader]] = {}
        self._dates: dict[Place, list[re.Match[str]]] = {}
        self._lines = 0
        self._epochs: dict[int, list[float]] = {}

    def add(self, line: str) -> tuple[Place, re.Match[str]] | None:
        """Count the first stamp of a line; None where it has none."""
        self._lines += 1
        if bare := _BARE_EPOCH.search(line, 0, _SEARCHED_CHARACTERS):
            words = len(line[: bare.start()].split())
            self._epochs.setdefault(words, []).append(float(bare[0]))
        found = self._at_known_place(line) or _first_stamp(line)
        if found is None:
            return None
        place, match = found
        if place not in self._known:
            self._known[place] = (place.pattern(), StampReader(place.kind, UTC, FAR_FUTURE))
        self.counts[place] += 1
        self.zoned += bool(match[3]) or place.kind.read is None
        if place.kind.rival:
            self._dates.setdefault(place, []).append(match)
        return found

    def places(self) -> tuple[Place, ...]:
        """The places that count, the most frequent first."""
        counts = self._without_rivals()
        full = sum(count for place, count in counts.items() if not place.kind.lacks)
        if 2 * full < self._lines and (column := self._epoch_column()) is not None:
            return (column,)
        dated = sum(count for place, count in counts.items() if place.kind.lacks != "date")
        total = counts.total()
        return tuple(
            place
            for place, count in counts.most_common()
            if count >= total * self._least_share(place, total)
            # the clock of a line without a date, in a file of full times, is text
            and (place.kind.lacks != "date" or count > 10 * dated)
        )

    def _epoch_column(self) -> Place | None:
        """The word that is a number of seconds since 1970 in nearly every line, or None."""
        for words, values in sorted(self._epochs.items()):
            if (
                10 * len(values) >= 9 * self._lines
                and 0 < words <= _MOST_WORDS_BRACKETED
                and 0 < max(values) - min(values) < _EPOCH_SPAN_S
            ):
                return Place(_EPOCH_KIND, words, "")
        return None

    def _least_share(self, place: Place, total: int) -> float:
        if place.words and place.lead.endswith(('="', "='")):
            return _RARE_ATTRIBUTE
        bracketed = place.lead.endswith("\\[") and place.words <= 4
        if place.words == 0 or bracketed:
            return _RARE_AT_START if total >= _COUNTED_FROM else 0
        return _RARE_INSIDE

    def _at_known_place(self, line: str) -> tuple[Place, re.Match[str]] | None:
        for place, (pattern, reader) in self._known.items():
            if (found := pattern.match(line)) and reader.instant(found) is not None:
                return place, found
        return None

    def _without_rivals(self) -> Counter[Place]:
        """Numeric dates read in one order of their parts for the whole file."""
        counts = Counter(self.counts)
        groups: dict[tuple[str, int, str], list[re.Match[str]]] = {}
        for place, matches in self._dates.items():
            groups.setdefault((place.kind.rival, place.words, place.lead), []).extend(matches)
            del counts[place]
        for (rival, words, lead), matches in groups.items():
            kinds = [kind for kind in STAMP_KINDS if kind.rival == rival]
            best = max(kinds, key=lambda kind: _plausibility(kind, matches))
            counts[Place(best, words, lead)] += len(matches)
        return counts


def _plausibility(kind: StampKind, matches: Iterable[re.Match[str]]) -> tuple[int, bool, int]:
    """How well an order suits some dates: how many are possible, none to come, near each other."""
    reader = StampReader(kind, UTC, FAR_FUTURE)
    instants = [instant for match in matches if (instant := reader.instant(match)) is not None]
    if not instants:
        return 0, False, 0
    past = max(instants) < to_instant(datetime.now(UTC)) + _AHEAD
    return len(instants), past, min(instants) - max(instants)


def _first_stamp(line: str) -> tuple[Place, re.Match[str]] | None:
    best: tuple[Place, re.Match[str]] | None = None
    head = line[:_SEARCHED_CHARACTERS]
    for kind, pattern in _ANYWHERE:
        found = pattern.search(head)
        if found is None or (best is not None and found.start() >= best[1].start()):
            continue
        before = head[: found.start()]
        if not _BEFORE.fullmatch(before.lstrip(" ")):
            continue
        lead = [] if before[-1:].isspace() else before.split()[-1:]
        words = len(before.split()) - len(lead)
        if words > _MOST_WORDS and lead != ["["]:
            continue
        if kind.read is None and words and not lead:
            continue  # a bare number deep in a line is hardly a time
        if kind.lacks == "date" and (words > 1 or _DIGIT.search(before)):
            continue  # the clock of a date that is none
        if StampReader(kind, UTC, FAR_FUTURE).instant(found) is not None:
            aligned = " {0,8}" if before.startswith(" ") and not words else ""
            best = (Place(kind, words, aligned + _general("".join(lead))), found)
    return best


def _general(lead: str) -> str:
    """The regular expression of what stands before a stamp: colours, numbers and letters vary."""
    parts = []
    end = 0
    for part in _VARYING.finditer(lead):
        general = _GENERAL[part.lastgroup or ""]
        parts += [re.escape(lead[end : part.start()]), general]
        end = part.end()
    return "".join((*parts, re.escape(lead[end:])))
