"""A log record as text: what it says, what may be quoted of it, and what to search for it by."""

from __future__ import annotations

import json
import re

_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|SEVERE|FATAL|CRITICAL|CRIT"
_UP_TO_LEVEL = re.compile(rf"^.{{0,120}}?(?:\[(?i:{_LEVELS})\]|\b(?:{_LEVELS})\b)[\])>:,|\s-]*")
_STAMP = re.compile(
    r"^\W?(?:\w{3} )?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\w{3} +\d{1,2} |\d\d/\w{3}/\d{4}[: ])"
    r"\d\d:\d\d:\d\d[^\s\]]*\W*"
)
_THREAD = re.compile(r"^\W*\[[^\]]{1,120}\][\s:-]+")
# host and program of a syslog line
_SYSLOG = re.compile(r"^\w{3} +\d{1,2} [\d:]{8} \S+ [\w./-]+(?:\([^)]*\))?(?:\[\d+\])?: ")
# A request in an access log: the request line and its status say what happened.
_REQUEST = re.compile(
    r"^\S.{0,200}? \[\d\d/\w{3}/\d{4}:[^\]]{8,20}\] "
    r"(\"(?:[A-Z]{3,10} )?[^\"\n]{1,400}\" (?P<status>[1-5]\d\d))\b"
)
_PYTHON_TRACE = "Traceback (most recent call last)"
_PYTHON_FRAME = re.compile(r"(?m)^\s+File \".*$|^.*Traceback \(most recent call last\).*$")
# The line of another language's trace that names the exception.
_EXCEPTION = re.compile(
    r"(?m)^(?:Caused by: )?(?:[A-Za-z_]\w*[.$:]{1,2})*[A-Z]\w*"
    r"(?:Error|Exception|Interrupt|Exit|Failure|Timeout|Refused|DoesNotExist|NotFound)\b.*$"
)
_TRACE_KEYS = ("exception", "exc_info", "stack_trace", "stacktrace", "stack", "traceback", "error")
_MESSAGE_KEYS = ("message", "msg", "event", "log", "text", "body", "error")
_SPEAKER_KEYS = ("logger", "logger_name", "component", "thread", "exception", "error", "err")
_SPOKEN = 300
_SAME_END = 30
_LEFT_OUT = re.compile(r"\[[\d,]+ characters left out\]|\[REDACTED[^\]]*\]?")
_SHORTEST_QUOTE = 12
_LONGEST_QUOTE = 280
_LONGEST_SAID = 200


def message_of(record: str) -> str:
    """What a record says: a JSON line's message, or a line without its time, level and thread."""
    first = record.split("\n", 1)[0].strip()
    if first.startswith("{"):
        data = _json_object(first)
        for key in _MESSAGE_KEYS:
            value = data.get(key)
            if isinstance(value, str) and value.strip():
                return value.strip()
    if request := _REQUEST.match(first):
        return request[1]
    head = _UP_TO_LEVEL.match(first) or _SYSLOG.match(first) or _STAMP.match(first)
    body = first[head.end() if head else 0 :]
    return _THREAD.sub("", body).strip(" \t-|:") or first


def speech_of(record: str) -> str:
    """The message together with who speaks: its logger, its thread, its exception."""
    first = record.split("\n", 1)[0].strip()
    thrown = exception_of(record) or ""
    if is_request(record):
        return message_of(record)
    if not first.startswith("{"):
        stamp = _STAMP.match(first)
        return f"{first[stamp.end() if stamp else 0 :]}\n{thrown}"
    data = _json_object(first)
    more = [value[:_SPOKEN] for key in _SPEAKER_KEYS if isinstance(value := data.get(key), str)]
    return "\n".join((message_of(record), *more, thrown))


def is_request(record: str) -> bool:
    """Whether a record is a line of an access log: what a client saw, not why."""
    return _REQUEST.match(record) is not None


def exception_of(record: str) -> str | None:
    """The line that names what was thrown, or None where the record holds no trace.

    Of a Java trace it is the last cause, of a Python one the last line.
    """
    first, _, more = record.partition("\n")
    if first.lstrip().startswith("{"):
        data = _json_object(first.strip())
        more = "\n".join(v for key in _TRACE_KEYS if isinstance(v := data.get(key), str))
    if _PYTHON_TRACE in record:
        thrown = _PYTHON_FRAME.split(more)[-1].split("\n")
        return next((line.strip() for line in thrown if line[:1].strip()), None)
    found = [line[0].strip() for line in _EXCEPTION.finditer(more)]
    causes = [line for line in found if line.startswith("Caused by: ")]
    return causes[-1] if causes else found[0] if found else None


def said(record: str) -> str:
    """The message, short enough for a sentence, without marks of what was masked or cut."""
    message = message_of(record)
    return _short(message.replace('"', "") if is_request(record) else message)


def exception_said(record: str) -> str | None:
    """What was thrown, short enough for a sentence; None where the message says the same."""
    thrown = _exception_beyond_message(record)
    return None if thrown is None else _short(thrown)


def whole_message(record: str) -> str:
    """The message, and what was thrown: all that is looked up and compared with documents."""
    return "\n".join(filter(None, (message_of(record), exception_of(record))))


def _short(text: str) -> str:
    longest = max(_LEFT_OUT.split(text), key=len).strip()
    if len(longest) <= _LONGEST_SAID:
        return longest
    return f"{longest[:_LONGEST_SAID].rsplit(' ', 1)[0]} …"


def quote_of(record: str) -> str | None:
    """A passage that stands in `record` character for character, or None where none is long enough.

    Of a JSON line it is the message as the line spells it, with its escapes.
    """
    return _quote(message_of(record).split("\n", 1)[0], record) or _longest_part(
        record.split("\n", 1)[0]
    )


def exception_quote_of(record: str) -> str | None:
    """What was thrown, as it stands in the record; None where the message says the same."""
    thrown = _exception_beyond_message(record)
    return None if thrown is None else _quote(thrown, record)


def spelled_message(record: str) -> str:
    """The first line of the message as it stands in the record: of a JSON line with its escapes."""
    message = message_of(record).split("\n", 1)[0]
    return next((spelling for spelling in _spellings(message) if spelling in record), message)


def quotable(text: str) -> bool:
    """Whether nothing in a text was masked or cut."""
    return _LEFT_OUT.search(text) is None


def words_only(record: str) -> str:
    """The message without numbers, ids and names in quotes: what any such failure would say."""
    words = [
        word
        for word in said(record).replace('"', " ").replace("'", " ").split()
        if not re.search(r"[\d_=/\\]|\w\.\w", word)
    ]
    return " ".join(words)


def _exception_beyond_message(record: str) -> str | None:
    thrown = exception_of(record)
    return thrown if thrown and thrown[-_SAME_END:] not in message_of(record) else None


def _spellings(text: str) -> tuple[str, ...]:
    return text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]


def _quote(text: str, record: str) -> str | None:
    parts = (_longest_part(spelling) for spelling in _spellings(text) if spelling in record)
    return next((part for part in parts if part is not None), None)


def _longest_part(text: str) -> str | None:
    part = max(_LEFT_OUT.split(text), key=len).strip()[:_LONGEST_QUOTE].rstrip(" \\")
    return part if len(part) >= _SHORTEST_QUOTE or _is_short_chinese(part) else None


def _is_short_chinese(text: str) -> bool:
    chinese = len(re.findall(r"[\u3400-\u9fff]", text))
    return len(text) >= _SHORTEST_QUOTE // 2 and chinese * 2 >= len(text)


def _json_object(line: str) -> dict[str, object]:
    try:
        data = json.loads(line)
    except ValueError:
        # a line that was shortened is no JSON any more; its message may still be whole
        found = re.search(r'"(?:message|msg)"\s*:\s*("(?:[^"\\]|\\.)*")', line)
        data = {"message": json.loads(found[1], strict=False)} if found else {}
    return data if isinstance(data, dict) else {}
