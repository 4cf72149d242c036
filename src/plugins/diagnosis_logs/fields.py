"""What a record says of itself: level, service and message."""

from __future__ import annotations

import re

from pydantic import JsonValue

from diagnosis_logs.levels import Level, level_of_text, level_of_value
from diagnosis_logs.records import Record
from diagnosis_logs.shapes import LOGFMT_SERVICE, JsonKeys, Shape
from diagnosis_logs.trouble import clearly_an_error

_FILE_ENDING = re.compile(r"\.(?:log|jsonl?|ndjson|txt|out|err)(?=[.\-_]|$).*", re.IGNORECASE)
_ROTATION = re.compile(r"(?:\.gz|[.-]\d+)+$")
_SYSLOG_TAG = re.compile(r"\s\S{1,128}\s([A-Za-z_][\w./-]{0,63})(?:\([^)\s]{0,64}\))?(?:\[\d+\])?:")


def service_of_file_name(name: str) -> str:
    """The service a log file's name speaks of: `nova-api.log.1.gz` is `nova-api`."""
    return _FILE_ENDING.sub("", _ROTATION.sub("", name)) or name


class RecordFields:
    """Reads level, service and message of the records of one file.

    Args:
        shape: of the file.
        service: of records that name none.
    """

    def __init__(self, shape: Shape, service: str) -> None:
        self._keys: JsonKeys = shape.keys
        self._service = service
        self._logfmt = shape.logfmt
        self._syslog = any(kind.name == "syslog" for kind, _ in shape.stamps)
        self._file_word = any(words == 1 for _, words in shape.stamps)

    def level(self, record: Record) -> Level | None:
        """The level the record states, or None."""
        if record.data is not None:
            for key in self._keys.level:
                level = level_of_value(_looked_up(record.data, key))
                if level is not None:
                    return level
            return level_of_text(self._json_message(record.data))
        return level_of_text(record.first, record.body)

    def service(self, record: Record) -> str:
        """The service the record names, else that of its file."""
        if record.data is not None:
            for key in self._keys.service:
                value = _looked_up(record.data, key)
                if isinstance(value, dict):
                    value = value.get("name")
                if isinstance(value, str) and value:
                    # JSON can spell half a surrogate pair, which no UTF-8 text can hold
                    return value[:128].encode("utf-8", "replace").decode()
            return self._service
        if self._syslog and (tag := _SYSLOG_TAG.match(record.first, record.body)):
            return tag[1]
        if self._file_word:
            before = record.first[: record.body].split(maxsplit=1)
            if before and ".log" in before[0]:  # the line names the file it was first written to
                return service_of_file_name(before[0])
        if self._logfmt and (named := LOGFMT_SERVICE.search(record.first)):
            return named[1] or named[2]
        return self._service

    def message(self, record: Record) -> str:
        """What the record's first line says, without its time."""
        if record.data is not None:
            return self._json_message(record.data) or record.first
        return record.first[record.body :]

    def _json_message(self, data: dict[str, JsonValue]) -> str:
        for key in self._keys.message:
            value = data.get(key)
            if isinstance(value, str) and value:
                return value
        return ""


def severity(level: Level | None, text: str) -> Level | None:
    """The level to rank and filter by: the stated one, else ERROR where the text is clearly so."""
    if level is None and clearly_an_error(text):
        return Level.ERROR
    return level


def _looked_up(data: dict[str, JsonValue], key: str) -> JsonValue:
    value = data.get(key)
    if key == "log" and isinstance(value, dict):
        return value.get("level")
    return value
