"""What a record says of itself: level, severity, service and message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC

from pydantic import JsonValue

from diagnosis_logs.access import severity_of_status, status_of
from diagnosis_logs.blocks import object_of
from diagnosis_logs.containers import unwrap, unwrap_bare
from diagnosis_logs.levels import Level, level_in_column, level_of_first_word, level_of_text
from diagnosis_logs.records import Record
from diagnosis_logs.services import service_of_file_name, service_of_text
from diagnosis_logs.shapes import RecordStarts, Shape
from diagnosis_logs.structured import (
    Fields,
    embedded_at,
    is_logfmt,
    json_object,
    logfmt_fields,
    looked_up,
)
from diagnosis_logs.trouble import clearly_an_error

_SECOND_LINE_LEVEL = re.compile(r"([^\W\d_]{2,16}) ?[:：] ")  # java.util.logging, in its language
_NUMBERED = re.compile(r"[A-Z]{3,5}\d{4,5}[IWES]: ")
_HEAD_LINES = 8
_SLOW_HEAD = re.compile(r"#|SET timestamp=|use \S+;", re.IGNORECASE)


# Keys of what a record says; others, such as `error`, may stand beside words of its own.
_MAIN_TEXTS = frozenset(
    ("message", "msg", "@message", "short_message", "@m", "@mt", "event", "text", "log", "body",
     "textpayload", "消息", "内容", "信息"),
)  # fmt: skip
_TRACE_WORDS = re.compile(r"\n|Error|Exception|Traceback|panic|\bat ")
# First lines that only head what the next one says: .NET's console, Payara.
_HEADING = re.compile(
    r"\s*(?:(?:trce|dbug|info|warn|fail|crit): [\w.+`<>-]{1,256}\[\d+\]|.*\[\[|[^\w]{1,16})\Z"
)
_XML_MESSAGE = re.compile(r"\s*<(?:log4j:)?[mM]essage>(?:<!\[CDATA\[)?(.*?)(?:\]\]>)?(?:</.*)?\Z")


class RecordFields:
    """Reads level, severity, service and message of the records of one file.

    Args:
        shape: of the file.
        service: of records that name none.
    """

    def __init__(self, shape: Shape, service: str) -> None:
        self._shape = shape
        self._keys = shape.keys
        self._service = service
        self._messages = [path for path in shape.keys.message if path[-1].lower() in _MAIN_TEXTS]
        self._structured = shape.keys != type(shape.keys)()
        self._file_word = any(place.words == 1 for place in shape.places)
        self._inner = None if shape.inner is None else RecordFields(shape.inner, service)
        self._inner_starts = None if shape.inner is None else RecordStarts(shape.inner, UTC, 0)
        self._unwrapped: tuple[Record, Record] | None = None

    def level(self, record: Record) -> Level | None:
        """The level the record states, or None."""
        if self._inner is not None:
            return self._inner.level(self._payload(record))
        data = self._data(record)
        stated = self._level_of(data) if data else None
        if data and stated is not None and not self._is_context(record, data):
            return stated
        if data and record.first.startswith("{"):
            return level_of_text(self._message_of(data))
        level = None
        if self._shape.worded:
            level = level_of_first_word(record.first, record.body)
        if level is None:
            level = level_of_text(record.first, record.body)
        if level is None:
            level = stated
        if level is None and record.more:
            level = level_below(record.more)
            if level is None and not record.first[record.body :].strip("]) \t"):
                level = level_of_text(said_by("", record.more))
        return level

    def _level_of(self, data: Fields) -> Level | None:
        for path, read in self._keys.level:
            if (level := read(looked_up(data, path))) is not None:
                return level
        return None

    def _is_context(self, record: Record, data: Fields) -> bool:
        """Whether an object only adds to the text before it, as zap's fields on a console do."""
        return (
            self._shape.embedded
            and embedded_at(record.first) > 0
            and not any(looked_up(data, path) for path in self._messages)
        )

    def severity(self, record: Record, level: Level | None) -> Level | None:
        """The level to rank and filter by: the stated one, else what its status or words tell."""
        if level is not None:
            return level
        if self._inner is not None:
            return self._inner.severity(self._payload(record), None)
        if data := self._data(record):
            found = self._severity_of(data)
            if found is not None or record.first.startswith("{"):
                return found
        status: JsonValue = status_of(record.first)
        if (found := severity_of_status(status)) is not None:
            return found
        if self._shape.slow:
            return Level.WARN  # it took longer than the server's owner wanted
        return severity(None, record.text)

    def _severity_of(self, data: Fields) -> Level | None:
        for path in self._keys.status:
            if (found := severity_of_status(looked_up(data, path))) is not None:
                return found
        if any(_is_trace(looked_up(data, path)) for path in self._keys.trace):
            return Level.ERROR
        return Level.ERROR if clearly_an_error(self._message_of(data)) else None

    def service(self, record: Record) -> str:
        """The service the record names, else that of its file."""
        if self._inner is not None:
            return self._inner.service(self._payload(record))
        data = self._data(record)
        if data:
            for path in self._keys.service:
                value = looked_up(data, path)
                if isinstance(value, str) and value:
                    # JSON can spell half a surrogate pair, which no UTF-8 text can hold
                    return value[:128].encode("utf-8", "replace").decode()
        if record.first.startswith("{") or (data and embedded_at(record.first) <= 0):
            return self._service
        head, body = record.first, record.body
        if self._file_word:
            before = head[:body].split(maxsplit=1)
            if before and ".log" in before[0]:  # the line names the file it was first written to
                return service_of_file_name(before[0])
        return service_of_text(head, body, tagged=self._shape.tagged) or self._service

    def message(self, record: Record) -> str:
        """What the record's first line says, without its time."""
        if self._inner is not None:
            return self._inner.message(self._payload(record))
        data = self._data(record)
        if data and not self._is_context(record, data):
            return self._message_of(data) or record.first[record.body :]
        if self._shape.slow:
            query = [line for line in record.more if not _SLOW_HEAD.match(line)]
            return " ".join(query) or record.first[record.body :]
        return said_by(record.first[record.body :], record.more)

    def more(self, record: Record) -> list[str]:
        """The record's further lines, or those of the stack trace that a field holds."""
        if self._inner is not None:
            return self._inner.more(self._payload(record))
        data = self._data(record)
        if data:
            for path in self._keys.trace:
                value = looked_up(data, path)
                if isinstance(value, list):  # of lines
                    value = "\n".join(line for line in value if isinstance(line, str))
                if isinstance(value, str) and value:
                    return [*value.split("\n"), *record.more]
        return record.more

    def _message_of(self, data: Fields) -> str:
        for path in self._keys.message:
            value = looked_up(data, path)
            if isinstance(value, str) and value:
                return value
        return ""

    def _data(self, record: Record) -> Fields | None:
        """The fields of a structured line, read when first asked for."""
        if record.data is None and self._structured:
            first, shape = record.first, self._shape
            if shape.block is not None and shape.block.begins(first):
                record.data = shape.block.fields(record.lines) or {}
            elif shape.table is not None:
                record.data = shape.table.fields(record.text) or {}
            elif first.startswith("{"):
                # an object may go on over further lines, as Elasticsearch writes its traces
                record.data = json_object(first) or object_of(record.lines) or {}
            elif shape.embedded and (at := embedded_at(first)) > 0:
                record.data = json_object(first[at:]) or {}
            elif shape.logfmt and is_logfmt(first):
                record.data = logfmt_fields(first)
            else:
                record.data = {}
        return record.data

    def _payload(self, record: Record) -> Record:
        """The record that a container's lines hold."""
        if self._unwrapped is not None and self._unwrapped[0] is record:
            return self._unwrapped[1]
        lines: list[str] = []
        partial = False
        for line in record.lines:
            wrapped = unwrap_bare(line) if self._shape.bare else unwrap(line)
            text = line if wrapped is None else wrapped.payload
            if partial:
                lines[-1] += text
            else:
                lines.append(text)
            partial = wrapped is not None and wrapped.partial
        found = None if self._inner_starts is None else self._inner_starts.start(lines[0])
        inner = Record(record.number, record.instant, lines[0], found[1] if found else 0, None)
        inner.more = lines[1:]
        self._unwrapped = (record, inner)
        return inner


def _second_line_level(line: str) -> Level | None:
    found = _SECOND_LINE_LEVEL.match(line)
    return level_in_column(found[1]) if found and found[1] == found[1].upper() else None


def level_below(more: Sequence[str]) -> Level | None:
    """The level that stands at the beginning of a further line: a word, or a message's number."""
    if not more:
        return None
    level = _second_line_level(more[0])
    if level is None and (head := message_number(more)) is not None:
        return level_of_text(head)
    return level


def message_number(more: Sequence[str]) -> str | None:
    """The line that begins with a message's number, as IBM's do below a head of several lines."""
    return next((line for line in more[:_HEAD_LINES] if _NUMBERED.match(line)), None)


def said_by(first: str, more: Sequence[str]) -> str:
    """What a record of text says first: in its first line, or below a line that is a heading."""
    if not more:
        return first
    if not first or first.isspace() or _HEADING.match(first):
        return next((line.strip() for line in more if line and not line.isspace()), first)
    if _second_line_level(more[0]) is not None:
        return more[0]
    if (head := message_number(more)) is not None:
        return head
    if found := _XML_MESSAGE.match(more[0]):
        return found[1]
    return first


def _is_trace(value: JsonValue) -> bool:
    """Whether a value is a stack trace, and not the id of a trace."""
    if isinstance(value, str):
        return _TRACE_WORDS.search(value) is not None
    return bool(value) and not isinstance(value, int | float)


def severity(level: Level | None, text: str) -> Level | None:
    """The level to rank and filter by: the stated one, else ERROR where the text is clearly so."""
    if level is None and clearly_an_error(text):
        return Level.ERROR
    return level
