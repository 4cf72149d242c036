"""Recognises the lines that begin a record, and tells their times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, tzinfo

from pydantic import JsonValue

from diagnosis_logs.containers import Wrapped, unwrap, unwrap_bare
from diagnosis_logs.continuations import Continuations, goes_on_stamped, is_detail
from diagnosis_logs.levels import begins_with_level
from diagnosis_logs.shape import Shape
from diagnosis_logs.stamped import StampedLines
from diagnosis_logs.stampreader import StampReader
from diagnosis_logs.structured import (
    Fields,
    embedded_at,
    is_logfmt,
    json_object,
    logfmt_fields,
    looked_up,
)
from diagnosis_logs.valuetimes import ValueTimes
from diagnosis_logs.zones import offset_of

# Start of a record: its instant, where its stamp ends, and the object of a JSON line if it was
# read for the time.
Start = tuple[int | None, int, dict[str, JsonValue] | None]

_SLOW_TIME = "# Time:"
_SLOW_USER = "# User@Host:"
# A program writes the lines of one record at once; what comes later is another.
_AT_ONCE = 50_000


class RecordStarts:
    """Recognises the lines that begin a record. Has state: one for each reading of a file.

    Args:
        shape: of the file.
        zone: of times that carry none.
        modified: when the file was last written, for times without a year or a date.
    """

    def __init__(self, shape: Shape, zone: tzinfo, modified: int) -> None:
        if shape.table is not None and shape.table.utc:
            zone = UTC
        self._shape = shape
        self._zone = zone
        self._values = ValueTimes(zone, modified)
        self._quick = tuple(self._values.quick(key) for key in shape.quick)
        self._stamps = tuple(
            (
                place.pattern().match,
                StampReader(place.kind, zone, modified, in_order=shape.in_order_only),
            )
            for place in shape.places
        )
        self._structured = shape.keys.timed
        self._logfmt = shape.logfmt and self._structured
        self._unwrap = unwrap_bare if shape.bare else unwrap
        self._follows = Continuations()
        self._slow_instant: int | None = None
        self._after_slow_time = False
        self._wrapped: Wrapped | None = None
        self._wrapped_instant = 0
        self._inner = None if shape.inner is None else RecordStarts(shape.inner, zone, modified)
        self.start: Callable[[str], Start | None] = self._chosen()

    @property
    def stamped(self) -> StampedLines | None:
        """Reads many lines at once, where a stamp of one shape and nothing else begins a record."""
        places = self._shape.places
        alone = self.start == self._start and not self._structured and len(places) == 1
        if not alone or places[0].kind.lacks or places[0].kind.read is None:
            return None
        return StampedLines(places[0], self._zone)

    def instant(self, line: str) -> int | None:
        """The time that a line shows by itself, whatever came before; None where it shows none."""
        if self._inner is not None:
            wrapped = self._unwrap(line)
            return None if wrapped is None else self._values.instant(wrapped.time)
        if (told := self._block_instant(line)) is not None:
            return told
        found = self._row(line) if self._shape.table is not None else self._start(line)
        return None if found is None else found[0]

    @property
    def whole(self) -> bool:
        """Whether some records tell their time only as a whole."""
        return self._shape.block is not None

    def instant_of(self, lines: Sequence[str]) -> int | None:
        """The time that a whole record tells which is data over several lines, or None."""
        block = self._shape.block
        data = None if block is None else block.fields(lines)
        found = None if data is None else self._in_fields(data)
        if found is not None:
            return found[0]
        return next((one for line in lines if (one := self.instant(line)) is not None), None)

    def offset(self, line: str) -> tzinfo | None:
        """The offset that the time of a record's first line shows; None where it shows none."""
        if self._inner is not None:
            wrapped = self._unwrap(line)
            return None if wrapped is None else self._values.offset(wrapped.time)
        if self._shape.block is not None and (value := self._block_value(line)) is not None:
            return self._values.offset(value)
        if self._structured and (data := self._data(line)) is not None:
            for path in self._shape.keys.time:
                value = looked_up(data, path)
                if self._values.instant(value) is not None:
                    return self._values.offset(value)
        for match, reader in self._stamps:
            found = match(line)
            if found is not None and reader.instant(found) is not None:
                return offset_of(found[3]) if found[3] else None
        return None

    def rehearse(self, blocks: Iterable[list[str]]) -> None:
        """Read all lines of a file that must be read in order, to know where its last one ends."""
        for block in blocks:
            for line in block:
                self._start(line)
        for _, reader in self._stamps:
            reader.rewind()

    def _chosen(self) -> Callable[[str], Start | None]:
        if self._inner is not None:
            return self._contained
        if not self._shape.timed:
            return self._untimed
        if self._shape.slow:
            return self._slow
        if self._shape.block is not None:
            return self._in_block
        if self._shape.table is not None:
            return self._row
        if self._shape.postgres:
            return self._postgres
        if self._shape.traced:
            return self._traced
        return self._start

    def _start(self, line: str) -> Start | None:
        if self._structured and line.startswith("{"):
            found = self._in_object(line, 0)
            if found is not None:
                return found
        for match, reader in self._stamps:
            stamp = match(line)
            if stamp is not None:
                instant = reader.instant(stamp)
                if instant is not None:
                    return instant, stamp.end(), None
        if self._structured:
            if self._logfmt and is_logfmt(line):
                return self._in_fields(logfmt_fields(line))
            if self._shape.embedded and (at := embedded_at(line)) > 0:
                return self._in_object(line, at)
        return None

    def _in_block(self, line: str) -> Start | None:
        block = self._shape.block
        if block is not None and block.begins(line):
            return None, 0, None  # its time stands in a later line
        return self._start(line) if self._stamps else None

    def _block_value(self, line: str) -> JsonValue:
        block, keys = self._shape.block, self._shape.keys
        return None if block is None or not keys.time else block.value(line, keys.time[0])

    def _block_instant(self, line: str) -> int | None:
        """The time that one line of a block tells."""
        block, keys = self._shape.block, self._shape.keys
        if block is not None and keys.clock:
            date, clock = block.value(line, keys.date), block.value(line, keys.clock)
            if isinstance(date, str) and isinstance(clock, str):
                return self._values.of_halves(date, clock)
        value = self._block_value(line)
        return None if value is None else self._values.instant(value)

    def _row(self, line: str) -> Start | None:
        """A row of a table; the data of one that goes on in further lines is read when whole."""
        for match, reader in self._stamps:
            if (stamp := match(line)) and (instant := reader.instant(stamp)) is not None:
                return instant, stamp.end(), None
        table = self._shape.table
        if table is None or self._stamps or (fields := table.fields(line)) is None:
            return None
        found = self._in_fields(fields)
        return None if found is None else (found[0], 0, None)

    def _in_object(self, line: str, at: int) -> Start | None:
        for quick in self._quick:
            instant = quick(line)
            if instant is not None:
                return instant, at, None
        data = json_object(line[at:])
        return None if data is None else self._in_fields(data, at)

    def _in_fields(self, data: Fields, at: int = 0) -> Start | None:
        keys = self._shape.keys
        for path in keys.time:
            instant = self._values.instant(looked_up(data, path))
            if instant is not None:
                return instant, at, data
        if keys.clock:
            date, clock = looked_up(data, keys.date), looked_up(data, keys.clock)
            instant = self._values.of_halves(str(date), str(clock))
            return None if instant is None else (instant, at, data)
        return None

    def _data(self, line: str) -> Fields | None:
        if line.startswith("{"):
            return json_object(line)
        if self._shape.table is not None:
            return self._shape.table.fields(line)
        if self._logfmt and is_logfmt(line):
            return logfmt_fields(line)
        return None

    def _untimed(self, line: str) -> Start | None:
        if self._follows.goes_on(line) or (self._shape.leveled and not begins_with_level(line)):
            return None
        return None, 0, None

    def _postgres(self, line: str) -> Start | None:
        found = self._start(line)
        return None if found is None or is_detail(line, found[1]) else found

    def _traced(self, line: str) -> Start | None:
        found = self._start(line)
        return None if found is None or goes_on_stamped(line, found[1]) else found

    def _slow(self, line: str) -> Start | None:
        if line.startswith(_SLOW_USER):
            first = not self._after_slow_time
            self._after_slow_time = False
            # the server writes the time only where it has changed
            return (self._slow_instant, 0, None) if first and self._slow_instant else None
        found = self._start(line)
        self._after_slow_time = found is not None and line.startswith(_SLOW_TIME)
        if self._after_slow_time and found is not None:
            self._slow_instant = found[0]
        return found

    def _contained(self, line: str) -> Start | None:
        wrapped = self._unwrap(line)
        before, instant_before = self._wrapped, self._wrapped_instant
        self._wrapped = wrapped
        if wrapped is None:
            return None
        instant = self._values.instant(wrapped.time)
        if instant is None:
            return None
        self._wrapped_instant = instant
        same = before is not None and before.stream == wrapped.stream
        if same and before is not None and before.partial:
            return None
        follows = self._follows.goes_on(wrapped.payload)
        if self._inner is not None:
            begins = self._inner.start(wrapped.payload) is not None
            follows = not begins and (follows or (same and instant - instant_before < _AT_ONCE))
        return None if follows else (instant, wrapped.body, None)

    @property
    def timed(self) -> bool:
        """Whether the file's lines have times."""
        return self._shape.timed
