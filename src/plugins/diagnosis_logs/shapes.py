"""The shape of a file's lines, learned from a sample: where a record begins, and when it was."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, tzinfo

from pydantic import JsonValue

from diagnosis_logs.timestamps import (
    STAMP_KINDS,
    StampKind,
    StampReader,
    instant_of_epoch,
    offset_of,
)

_SAMPLE_LINES = 300
_SEARCHED_CHARACTERS = 300
_MOST_TOKENS = 6
_RARE = 0.1
_FAR_FUTURE = 4_102_444_800_000_000  # 2100: only asks whether a sample's stamps are possible times

# What may stand directly before a stamp: syslog's priority, `time=`, a bracket or quote, klog's
# letter.
_LEAD_IN = r"(?:<\d{1,3}>)?(?:[\w.@-]{1,64}=)?[\"'\[(]?[IWEF]?"
_PREFIX = re.compile(rf"(?:\S{{1,256}}\s+){{0,{_MOST_TOKENS}}}{_LEAD_IN}")
_ANYWHERE = tuple((kind, re.compile(rf"(?<![\d.]){kind.pattern}")) for kind in STAMP_KINDS)
_AT_START = tuple((kind, re.compile(kind.pattern)) for kind in STAMP_KINDS)

_TIME_KEYS = (
    "@timestamp", "timestamp", "time", "ts", "datetime", "date", "@t", "asctime", "eventtime",
    "event_time", "created_at", "created", "t",
)  # fmt: skip
_LEVEL_KEYS = (
    "level", "severity", "log.level", "loglevel", "log_level", "levelname", "level_name", "lvl",
    "severity_text", "severitytext", "@l", "@level", "priority", "log",
)  # fmt: skip
_MESSAGE_KEYS = ("message", "msg", "event", "log", "text", "body", "@m", "@mt", "error", "err")
_SERVICE_KEYS = (
    "service", "service.name", "service_name", "servicename", "app", "application", "app_name",
    "component", "container_name", "container", "program", "logger",
)  # fmt: skip

LOGFMT_SERVICE = re.compile(
    r"(?:^|\s)(?:service|service_name|service\.name|app|component)="
    r"(?:\"([^\"]{1,128})\"|([^\s\"]{1,128}))"
)

# Start of a record: its instant, where its stamp ends, and the object of a JSON line.
Start = tuple[int, int, dict[str, JsonValue] | None]


@dataclass(frozen=True, slots=True)
class JsonKeys:
    """The keys, as this file spells them, most telling first."""

    time: tuple[str, ...]
    level: tuple[str, ...]
    message: tuple[str, ...]
    service: tuple[str, ...]


NO_KEYS = JsonKeys((), (), (), ())


@dataclass(frozen=True, slots=True)
class Shape:
    """What a sample taught.

    Attributes:
        stamps: kinds of timestamp and after how many words each stands; most frequent first.
        keys: of its JSON lines; NO_KEYS where it has none.
        zoned: whether the sample's times carry their zone.
        logfmt: whether most of its lines name their service as `service=...`.
    """

    stamps: tuple[tuple[StampKind, int], ...]
    keys: JsonKeys
    zoned: bool
    logfmt: bool

    @property
    def timed(self) -> bool:
        """Whether any line of the sample has a time."""
        return bool(self.stamps or self.keys.time)


class RecordStarts:
    """Recognises the lines that begin a record. Has state (years): one for each scan of a file.

    Args:
        shape: of the file.
        zone: of times that carry none.
        modified: when the file was last written, for times without a year.
    """

    def __init__(self, shape: Shape, zone: tzinfo, modified: int) -> None:
        self._json_times = shape.keys.time
        self._json_values = _ValueTimes(zone, modified)
        self._stamps = tuple(
            (_at_word(kind, words), StampReader(kind, zone, modified))
            for kind, words in shape.stamps
        )

    def start(self, line: str) -> Start | None:
        """What begins with this line, or None where it belongs to the record before it."""
        if self._json_times and line.startswith("{"):
            data = json_object(line)
            if data is not None:
                for key in self._json_times:
                    instant = self._json_values.instant(data.get(key))
                    if instant is not None:
                        return instant, 0, data
        for pattern, reader in self._stamps:
            found = pattern.match(line)
            if found is not None:
                instant = reader.instant(found)
                if instant is not None:
                    return instant, found.end(), None
        return None

    def offset(self, line: str) -> tzinfo | None:
        """The offset that the time of a record's first line shows; None where it shows none."""
        data = json_object(line) if self._json_times and line.startswith("{") else None
        if data is not None:
            for key in self._json_times:
                if self._json_values.instant(data.get(key)) is not None:
                    return self._json_values.offset(data.get(key))
        for pattern, reader in self._stamps:
            found = pattern.match(line)
            if found is not None and reader.instant(found) is not None:
                return offset_of(found[3]) if found[3] else None
        return None


class _ValueTimes:
    """Instants of JSON values: text in any shape, or a number since 1970."""

    def __init__(self, zone: tzinfo, modified: int) -> None:
        self._readers = tuple(
            (pattern.match, StampReader(kind, zone, modified)) for kind, pattern in _AT_START
        )

    def instant(self, value: JsonValue) -> int | None:
        if isinstance(value, str):
            for match, reader in self._readers:
                if found := match(value):
                    return reader.instant(found)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            try:
                return instant_of_epoch(value)
            except (ValueError, OverflowError):
                return None
        return None

    def offset(self, value: JsonValue) -> tzinfo | None:
        """The offset that a text which is a time shows."""
        if isinstance(value, str):
            for match, _ in self._readers:
                if found := match(value):
                    return offset_of(found[3]) if found[3] else None
        return None


def json_object(line: str) -> dict[str, JsonValue] | None:
    """The object a JSON line holds, or None."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def learn_shape(sample: Iterable[str]) -> Shape:
    """Learn the shape of a file from its first lines."""
    stamps: Counter[tuple[StampKind, int]] = Counter()
    spellings: dict[str, str] = {}
    zoned = False
    services = 0
    for line in list(sample)[:_SAMPLE_LINES]:
        data = json_object(line) if line.startswith("{") else None
        if data is not None:
            spellings.update((key.lower(), key) for key in data)
            continue
        found = _first_stamp(line)
        if found is not None:
            kind, words, match = found
            stamps[kind, words] += 1
            services += LOGFMT_SERVICE.search(line) is not None
            zoned = zoned or bool(match[3]) or kind.read is None
    total = stamps.total()
    kept = tuple(
        (kind, words)
        for (kind, words), count in stamps.most_common()
        # a stamp deep in a line that few lines have is text, not the beginning of a record
        if words == 0 or count >= total * _RARE
    )
    return Shape(kept, _keys(spellings), zoned or bool(spellings), 2 * services > total)


def _keys(spellings: dict[str, str]) -> JsonKeys:
    def present(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(spellings[name] for name in names if name in spellings)

    return JsonKeys(
        present(_TIME_KEYS), present(_LEVEL_KEYS), present(_MESSAGE_KEYS), present(_SERVICE_KEYS)
    )


def _first_stamp(line: str) -> tuple[StampKind, int, re.Match[str]] | None:
    best: tuple[StampKind, int, re.Match[str]] | None = None
    head = line[:_SEARCHED_CHARACTERS]
    for kind, pattern in _ANYWHERE:
        found = pattern.search(head)
        if found is None or (best is not None and found.start() >= best[2].start()):
            continue
        before = head[: found.start()]
        if not _PREFIX.fullmatch(before):
            continue
        words = len(before.split()) - (1 if before and not before[-1].isspace() else 0)
        if kind.read is None and words:
            continue  # a number deep in a line is hardly a time
        if StampReader(kind, UTC, _FAR_FUTURE).instant(found) is not None:
            best = (kind, words, found)
    return best


def _at_word(kind: StampKind, words: int) -> re.Pattern[str]:
    before = rf"(?:\S{{1,256}}\s+){{{words}}}" if words else ""
    return re.compile(f"{before}{_LEAD_IN}{kind.pattern}")
