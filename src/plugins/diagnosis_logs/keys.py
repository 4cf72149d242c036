"""Which keys of structured lines say time, level, message and service: learned from the values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from diagnosis_logs.columns import Column
from diagnosis_logs.levels import level_of_name
from diagnosis_logs.scales import LEVEL_HINT, LevelReader, level_reader
from diagnosis_logs.structured import Fields, Path, leaves
from diagnosis_logs.timestamps import MICROSECONDS

_TIME = (
    "@timestamp", "timestamp", "time", "ts", "datetime", "@t", "asctime", "eventtime",
    "event_time", "log_time", "logtime", "timestamp_ms", "timeunixnano", "t.$date",
    "__realtime_timestamp", "_source_realtime_timestamp", "instant", "date", "t", "start_time",
    "startutc", "rt", "devtime", "created_at", "created", "time_iso8601", "time_local", "start",
    "_time",
    "时间", "日期", "时间戳", "日志时间", "发生时间",
)  # fmt: skip
_LEVEL = (
    "level", "severity", "log.level", "loglevel", "log_level", "levelname", "level_name", "lvl",
    "severity_text", "severitytext", "error_severity", "@l", "@level", "levelno", "severitynumber",
    "severity_number", "priority", "s", "status", "级别", "等级", "日志级别",
)  # fmt: skip
_MESSAGE = (
    "message", "msg", "event", "short_message", "log", "text", "body", "@m", "@mt", "textpayload",
    "jsonpayload.message", "fields.message", "@message", "resultdescription", "error.message",
    "error", "err", "err.message", "errormessage", "m", "renderedmessage",
    "messagetemplate", "log_message", "logmessage", "line", "_raw", "raw", "content", "details",
    "description", "payload", "消息", "内容", "日志内容", "信息", "描述",
)  # fmt: skip
_SERVICE = (
    "service", "service.name", "service_name", "servicename", "resource.service.name",
    "resource.attributes.service.name", "attributes.service.name", "resource.labels.container_name",
    "resource.labels.service_name", "resource.labels.function_name", "resource.labels.module_id",
    "app", "application",
    "app_name", "appname", "svc", "kubernetes.labels.app", "kubernetes.container_name",
    "kubernetes.container.name", "container_name", "container.name", "container",
    "syslog_identifier", "program", "component", "fields.service", "eventsource", "logger",
    "system.provider.name", "provider.name", "providername", "sourcename", "deviceproduct",
    "服务", "服务名", "服务名称", "应用", "应用名", "系统", "模块",
)  # fmt: skip
_STATUS = (
    "status", "status_code", "statuscode", "http_status", "http.status_code", "http.status",
    "http.response.status_code", "response.status", "response.status_code", "res.statuscode",
    "responsestatus.code", "response_code", "response_status", "downstreamstatus",
    "elb_status_code", "sc-status", "code",
)  # fmt: skip
_TRACE = (
    "stack", "stack_trace", "stacktrace", "exception", "exc_info", "error.stack_trace",
    "error.stack", "err.stack", "@x", "traceback", "exception.stacktrace", "trace", "error.trace",
)  # fmt: skip

# Names that say little inside another object: `user.status`, `span.trace`.
_VAGUE = {
    "t", "s", "m", "error", "err", "log", "event", "code", "date", "start", "trace",
    "status", "created", "created_at", "priority", "container", "program", "system", "描述", "系统",
}  # fmt: skip

_TIME_HINT = re.compile(r"time|date|stamp|when|clock|epoch|\bts\b|\bat\b|时间|日期", re.IGNORECASE)
_OTHER_TIME = re.compile(r"expir|birth|until|deadline|valid|due|updat|deliver|since", re.IGNORECASE)
_SERVICE_HINT = re.compile(
    r"serv|svc|\bapp|program|\bproc|\bunit|module|subsystem|component|服务|应用|模块|来源"
    r"|\A(?:sys|system|daemon|emitter|origin|source|sender|workload|deployment|who|from)\Z",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?!stdout\Z|stderr\Z)[^\W\d][\w./-]{1,63}\Z")
_MOST_VALUES = 300
_DATE = re.compile(r"(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{4})\Z")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:[+-]\d{3})?\Z")
_QUARTER = 900 * MICROSECONDS
_MOST_QUARTERS = 14 * 4


@dataclass(frozen=True, slots=True)
class KeyNames:
    """Names of keys to try before all others; nested ones as `outer.inner`."""

    time: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    message: tuple[str, ...] = ()
    service: tuple[str, ...] = ()


NO_NAMES = KeyNames()


@dataclass(frozen=True, slots=True)
class StructuredKeys:
    """The keys as this file spells them, most telling first.

    Attributes:
        level: with how each is read.
        status: of an HTTP response.
        trace: of a stack trace.
        date, clock: of a time whose two halves stand in fields of their own.
    """

    time: tuple[Path, ...] = ()
    level: tuple[tuple[Path, LevelReader], ...] = ()
    message: tuple[Path, ...] = ()
    service: tuple[Path, ...] = ()
    status: tuple[Path, ...] = ()
    trace: tuple[Path, ...] = ()
    date: Path = ()
    clock: Path = ()

    @property
    def timed(self) -> bool:
        """Whether fields tell the time."""
        return bool(self.time or self.clock)


NO_KEYS = StructuredKeys()


def learn_keys(
    sample: Sequence[Fields],
    instant_of: Callable[[JsonValue], int | None],
    names: KeyNames = NO_NAMES,
) -> StructuredKeys:
    """Learn which keys say what.

    Args:
        sample: objects of the file, in order.
        instant_of: the instant a value means, or None.
        names: tried first.
    """
    columns: dict[Path, Column] = {}
    for data in sample:
        for path, value in leaves(data):
            column = columns.setdefault(path, Column(path))
            if len(column.values) < _MOST_VALUES and value is not None:
                column.values.append(value)
                if (instant := instant_of(value)) is not None:
                    column.instants.append(instant)
    found = [column for column in columns.values() if column.values]
    time = _times(found, names, len(sample))
    level = _levels(found, names)
    date, clock = ((), ()) if time else (_whole(found, _DATE), _whole(found, _CLOCK))
    taken = {*time, date, clock, *(path for path, _ in level)}
    rest = [column for column in found if column.path not in taken]
    return StructuredKeys(
        time=time,
        level=level,
        message=_messages(rest, names),
        service=_services(rest, names),
        status=tuple(column.path for column in _named(rest, _STATUS)),
        trace=tuple(column.path for column in _named(rest, _TRACE)),
        date=date if clock else (),
        clock=clock if date else (),
    )


def _whole(columns: Sequence[Column], pattern: re.Pattern[str]) -> Path:
    """The first column all of whose values match."""
    for column in columns:
        if len(column.texts) == len(column.values) and all(map(pattern.match, column.texts)):
            return column.path
    return ()


def _named(columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
    """The columns that bear one of the names, in the names' order.

    Where none does: those whose last key does, in an object around the whole record.
    """
    order = {name.lower(): rank for rank, name in reversed(list(enumerate(names)))}
    known = [column for column in columns if column.name.lower() in order]
    if known:
        return sorted(known, key=lambda column: order[column.name.lower()])
    telling = order.keys() - _VAGUE
    inner = [column for column in columns if column.last.lower() in telling]
    return sorted(inner, key=lambda column: (len(column.path), order[column.last.lower()]))


def _times(columns: Sequence[Column], names: KeyNames, total: int) -> tuple[Path, ...]:
    timed = [column for column in columns if 2 * len(column.instants) > len(column.values)]
    known = _named(timed, (*names.time, *_TIME))
    if any(2 * len(column.instants) > total for column in known):
        return tuple(column.path for column in (*_zoned_twins(known[0], timed), *known))
    others = [column for column in timed if column not in known and _is_time(column)]

    def rank(column: Column) -> tuple[object, ...]:
        return (
            _OTHER_TIME.search(column.name) is not None,
            -len(column.instants),
            _TIME_HINT.search(column.name) is None,
            -column.rising,
            not column.texts,
            len(set(column.instants)) == 1,  # a birthday, or the one start of all
            len(column.path),
        )

    others.sort(key=rank)
    return tuple(column.path for column in (*others[:2], *known))


def _zoned_twins(column: Column, others: Sequence[Column]) -> list[Column]:
    """Columns that tell the same moments as one without a zone, and tell their zone."""
    if column.zoned:
        return []
    return [
        other
        for other in others
        if other.zoned
        and len(other.instants) == len(column.instants)
        and len(
            distances := {
                _quarters(a - b) for a, b in zip(other.instants, column.instants, strict=True)
            }
        )
        <= 2
        and None not in distances
    ][:1]


def _quarters(distance: int) -> int | None:
    """How many quarters of an hour, give or take a second; None for no zone's distance."""
    quarters = round(distance / _QUARTER)
    near = abs(distance - quarters * _QUARTER) <= MICROSECONDS
    return quarters if near and abs(quarters) <= _MOST_QUARTERS else None


def _is_time(column: Column) -> bool:
    if column.texts and not column.texts[0].isdecimal():
        return True  # a date in words
    # numbers of that size are often ids and sizes: theirs must rise with the lines
    hinted = _TIME_HINT.search(column.name) is not None
    return column.rising > 0.9 and (hinted or len(set(column.instants)) >= 5)


def _levels(columns: Sequence[Column], names: KeyNames) -> tuple[tuple[Path, LevelReader], ...]:
    found: list[tuple[Path, LevelReader]] = []
    known = _named(columns, (*names.level, *_LEVEL))
    hinted = [column for column in columns if LEVEL_HINT.search(column.last)]
    of_windows = any("EventID" in column.path for column in columns)
    for column in (*known, *hinted, *columns):
        if any(column.path == path for path, _ in found):
            continue
        texts = [value for value in column.values if level_of_name(value) is not None]
        plain = [value for value in column.values if str(value).lower() == "normal"]
        sure = column in known or (
            bool(texts) and 10 * (len(texts) + len(plain)) >= 9 * len(column.values)
        )
        if column not in known and column not in hinted and not sure:
            continue
        if column not in known and column not in hinted and len(column.texts[0]) < 3:
            continue  # a letter says a level only where the key does
        reader = level_reader(column.last, column.values, of_windows=of_windows)
        if reader is not None and any(reader(value) is not None for value in column.values):
            found.append((column.path, reader))
    return tuple(found)


def _messages(columns: Sequence[Column], names: KeyNames) -> tuple[Path, ...]:
    texts = [column for column in columns if column.is_said]
    # a text that begins with a time is the whole line that was collected
    plain = [column for column in texts if not column.instants]
    known = [
        *_named(texts, names.message),
        *(_named(plain, _MESSAGE) or _named(texts, _MESSAGE)),
    ]
    others = [
        column for column in texts if column not in known and column.last.lower() not in _TRACE
    ]
    others.sort(key=lambda column: -column.words)
    prose = [column for column in others[:1] if column.words]
    return tuple(column.path for column in (*known, *prose))


def _services(columns: Sequence[Column], names: KeyNames) -> tuple[Path, ...]:
    texts = [column for column in columns if column.texts and not column.instants]
    known = _named(texts, (*names.service, *_SERVICE))
    paths = {column.path for column in columns}
    if ("hostname",) in paths and ("pid",) in paths:  # bunyan and pino
        known += _named(texts, ("name",))
    hinted = [
        column
        for column in texts
        if column not in known
        # PostgreSQL names its client so
        and not (column.name == "application_name" and ("backend_type",) in paths)
        and _SERVICE_HINT.search(column.last)
        and all(_NAME.match(text) for text in column.texts)
    ]
    return tuple(column.path for column in (*known, *hinted[:1]))
