"""Learning the shape of a file's lines from a sample."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC

from pydantic import JsonValue

from diagnosis_logs.blocks import learn_block
from diagnosis_logs.containers import is_contained, unwrap, unwrap_bare
from diagnosis_logs.continuations import Continuations, goes_on_stamped
from diagnosis_logs.keys import NO_KEYS, NO_NAMES, KeyNames, StructuredKeys, learn_keys
from diagnosis_logs.levels import begins_with_level, level_of_first_word
from diagnosis_logs.places import ALIGNED, FAR_FUTURE, Place, PlaceCounter
from diagnosis_logs.services import syslog_tag
from diagnosis_logs.shape import Shape
from diagnosis_logs.stampreader import StampReader
from diagnosis_logs.starts import RecordStarts, Start
from diagnosis_logs.structured import (
    Fields,
    embedded_at,
    is_logfmt,
    json_object,
    logfmt_fields,
)
from diagnosis_logs.tables import Rows, learn_table
from diagnosis_logs.timestamps import DAY
from diagnosis_logs.valuetimes import ValueTimes

__all__ = ["RecordStarts", "Shape", "Start", "learn_shape"]

_SAMPLE_LINES = 1_200
_HEAD_LINES = 300
_PIECE = 50
# Fewer timed lines than this among many are quotations in a log without times.
_TIMED_SHARE = 0.01
_COUNTED_FROM = 200
_FEWEST_BEHIND = 3

_POSTGRES = re.compile(
    r"\s(?:LOG|ERROR|FATAL|STATEMENT|DETAIL|HINT|FEHLER|WARNUNG|ERREUR|ERRORE|СООБЩЕНИЕ|ОШИБКА|日志"
    r"|错误|警告|语句):  "
)
_SLOW = ("# Query_time:", "# User@Host:")
_SLOW_WORDS = 2  # before the time of a line `# Time: ...`


def learn_shape(sample: Iterable[str], names: KeyNames = NO_NAMES) -> Shape:
    """Learn the shape of a file.

    Args:
        sample: lines of it, in order: from its beginning, and better also from later on.
        names: keys of structured lines to try before all others.
    """
    told = list(sample)
    lines = _thinned([line for line in told if line and not line.isspace()])
    if is_contained(lines):
        payloads = [wrapped.payload for line in lines if (wrapped := unwrap(line)) is not None]
        inner = _learn_blocks(payloads, names, timed=False) or _learn(payloads, names)
        return Shape(zoned=True, inner=inner)
    bare = [wrapped.payload for line in lines if (wrapped := unwrap_bare(line)) is not None]
    if 2 * len(bare) > len(lines):
        inner = _learn(bare, names)
        starts = RecordStarts(inner, UTC, FAR_FUTURE)
        stamped = sum(starts.start(payload) is not None for payload in bare)
        if (
            inner.timed
            and all(place.words == 0 for place in inner.places)
            and 3 * stamped > len(bare)
        ):
            return Shape(zoned=True, inner=inner, bare=True)
    if (shape := _learn_blocks(told, names)) is not None:
        return shape
    if (table := learn_table(lines)) is not None:
        shape_of_table = _learn_rows(table, lines, names)
        if shape_of_table.timed:
            return shape_of_table
    return _learn(lines, names)


def _learn_blocks(told: Sequence[str], names: KeyNames, *, timed: bool = True) -> Shape | None:
    """The shape of a sample of blocks; None for another.

    Args:
        told: the sample.
        names: of keys to try first.
        timed: whether blocks without a time are what a record of text tells further.
    """
    if (found := learn_block(told)) is None:
        return None
    block, objects, others = found
    shape = _learn([line for line in others if line and not line.isspace()], names)
    keys = learn_keys(objects, ValueTimes(UTC, FAR_FUTURE).instant, names)
    if not keys.timed and (timed or shape.timed):
        return None
    return replace(shape, keys=keys, quick=(), zoned=True, block=block)


def _learn_rows(table: Rows, lines: Sequence[str], names: KeyNames) -> Shape:
    rows = [(line, fields) for line in lines if (fields := table.fields(line)) is not None]
    counter = PlaceCounter()
    for line, _ in rows:
        counter.add(line)
    values = ValueTimes(UTC, FAR_FUTURE)
    return Shape(
        # a time elsewhere than at the beginning is told by its column
        places=tuple(place for place in counter.places() if not place.words)[:1],
        keys=learn_keys([fields for _, fields in rows], values.instant, names),
        zoned=bool(counter.zoned or table.utc),
        table=table,
    )


class _Sample:
    """Sample lines, sorted into objects and text."""

    def __init__(self) -> None:
        self.counter = PlaceCounter()
        self.objects: list[Fields] = []
        self.json_lines: list[str] = []
        self.text: list[str] = []
        self.logfmt = self.embedded = self.syslog = self.tags = 0
        self.traced = False
        self.stamped = self.worded = self.leveled = self.begun = 0
        self._follows = Continuations()

    def add(self, line: str) -> bool:
        """Take a line; whether it has a time or is an object."""
        at = 0 if line.startswith("{") else embedded_at(line)
        data = json_object(line[at:]) if at >= 0 else None
        if data is not None:
            self.embedded += at > 0
            self.json_lines.append(line)
        elif is_logfmt(line):
            data = logfmt_fields(line)
            self.logfmt += 1
        if data is not None:
            self.objects.append(data)
            if at:  # what stands before the object, or a logfmt line's own stamp
                self._text(line, line[:at] if at > 0 else line)
            return True
        return self._text(line, line)

    def _text(self, line: str, head: str) -> bool:
        self.text.append(line)
        if self._follows.goes_on(head) and not ALIGNED.match(head):
            return False
        stamp = self.counter.add(head)
        self.begun += 1
        self.leveled += begins_with_level(line)
        if stamp is None:
            return False
        place, match = stamp
        self.stamped += 1
        self.worded += level_of_first_word(line, match.end()) is not None
        self.syslog += place.kind.name == "syslog"
        self.traced = self.traced or goes_on_stamped(line, match.end())
        self.tags += (
            place.kind.name in ("iso", "epoch") and syslog_tag(line, match.end()) is not None
        )
        return True


def _learn(lines: Sequence[str], names: KeyNames) -> Shape:
    sample = _Sample()
    told = [sample.add(line) for line in lines]
    places = sample.counter.places()
    slow = all(any(line.startswith(mark) for line in lines) for mark in _SLOW)
    if slow:  # not the statements' own `SET timestamp=`
        places = tuple(place for place in places if place.words == _SLOW_WORDS)
    values = ValueTimes(UTC, FAR_FUTURE)
    keys = learn_keys(sample.objects, values.instant, names)
    if _quoted(told):
        places, keys = (), NO_KEYS
    return Shape(
        places=places,
        keys=keys,
        quick=_quick_keys(sample.json_lines, keys, values),
        zoned=bool(sample.counter.zoned or keys.time),
        logfmt=sample.logfmt > 0,
        embedded=sample.embedded > 0,
        tagged=sample.syslog > 0 or 2 * sample.tags > len(sample.text),
        slow=slow,
        postgres=any(_POSTGRES.search(line, 0, 200) for line in sample.text),
        traced=sample.traced,
        worded=5 * sample.worded > 4 * sample.stamped > 0,
        leveled=5 * sample.leveled > 3 * sample.begun,
        in_order_only=_in_order_only(places, sample.text),
    )


def _quoted(told: Sequence[bool]) -> bool:
    """Whether the few lines with times are quotations, and not the log behind a long banner."""
    if len(told) < _COUNTED_FROM or told[0] or sum(told) >= len(told) * _TIMED_SHARE:
        return False
    behind = told[told.index(True) :] if any(told) else ()
    return len(behind) < _FEWEST_BEHIND or sum(behind) < len(behind) * _TIMED_SHARE


def _thinned(lines: Sequence[str]) -> Sequence[str]:
    """The first lines, and short pieces from all over the rest."""
    if len(lines) <= _SAMPLE_LINES:
        return list(lines)
    pieces = (_SAMPLE_LINES - _HEAD_LINES) // _PIECE
    step = (len(lines) - _HEAD_LINES - _PIECE) / (pieces - 1)
    kept = list(lines[:_HEAD_LINES])
    for number in range(pieces):
        begin = _HEAD_LINES + round(number * step)
        kept += lines[begin : begin + _PIECE]
    return kept


def _quick_keys(lines: Sequence[str], keys: StructuredKeys, values: ValueTimes) -> tuple[str, ...]:
    """The time's key, if its first mention in every JSON line of the sample is the line's time."""
    if not keys.time or not lines:
        return ()
    key = keys.time[0][-1]
    quick = values.quick(key)
    for line in lines:
        at = max(0, line.find("{"))
        data: JsonValue = json_object(line[at:])
        for name in keys.time[0]:
            data = data.get(name) if isinstance(data, dict) else None
        if quick(line) != values.instant(data):
            return ()
    return (key,)


def _in_order_only(places: Sequence[Place], lines: Sequence[str]) -> bool:
    if not places or not (lacks := places[0].kind.lacks):
        return False
    if lacks == "date":
        return True
    pattern = places[0].pattern()
    reader = StampReader(places[0].kind, UTC, FAR_FUTURE, in_order=True)
    found = [reader.instant(match) for line in lines if (match := pattern.match(line))]
    instants = [instant for instant in found if instant is not None]
    return bool(instants) and 365 * DAY < instants[-1] - instants[0] < 20 * 366 * DAY
