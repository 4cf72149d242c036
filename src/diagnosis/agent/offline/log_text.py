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
_MESSAGE_KEYS = ("message", "msg", "event", "log", "text", "body", "error")
_SPEAKER_KEYS = ("logger", "logger_name", "component", "thread", "exception", "error", "err")
_SPOKEN = 300
_LEFT_OUT = re.compile(r"\[[\d,]+ characters left out\]|\[REDACTED[^\]]*\]?")
_VARIABLE = re.compile(r"[\d\"'\\<>{}\[\]\n\t]+")
_SHORTEST_QUOTE = 12
_LONGEST_QUOTE = 280
_LONGEST_SAID = 200
_SEARCH_TEXT = 100


def message_of(record: str) -> str:
    """What a record says: a JSON line's message, or a line without its time, level and thread."""
    first = record.split("\n", 1)[0].strip()
    if first.startswith("{"):
        data = _json_object(first)
        for key in _MESSAGE_KEYS:
            value = data.get(key)
            if isinstance(value, str) and value.strip():
                return value.strip()
    head = _UP_TO_LEVEL.match(first) or _SYSLOG.match(first) or _STAMP.match(first)
    body = first[head.end() if head else 0 :]
    return _THREAD.sub("", body).strip(" \t-|:") or first


def speech_of(record: str) -> str:
    """The message together with who speaks: its logger, its thread, its exception."""
    first = record.split("\n", 1)[0].strip()
    if not first.startswith("{"):
        stamp = _STAMP.match(first)
        return first[stamp.end() if stamp else 0 :]
    data = _json_object(first)
    more = [value[:_SPOKEN] for key in _SPEAKER_KEYS if isinstance(value := data.get(key), str)]
    return "\n".join((message_of(record), *more))


def alike(one: str, other: str) -> bool:
    """Whether two records say the same but for numbers and names: most of their words agree."""
    first, second = (frozenset(words_only(record).lower().split()) for record in (one, other))
    return bool(first & second) and len(first & second) >= 0.6 * min(len(first), len(second))


def said(record: str) -> str:
    """The message, short enough for a sentence, without marks of what was masked or cut."""
    message = message_of(record)
    longest = max(_LEFT_OUT.split(message), key=len).strip()
    if len(longest) <= _LONGEST_SAID:
        return longest
    return f"{longest[:_LONGEST_SAID].rsplit(' ', 1)[0]} …"


def quote_of(record: str) -> str | None:
    """A passage that stands in `record` character for character, or None where none is long enough.

    Of a JSON line it is the message as the line spells it, with its escapes.
    """
    message = message_of(record).split("\n", 1)[0]
    for spelling in (
        message,
        json.dumps(message, ensure_ascii=False)[1:-1],
        json.dumps(message)[1:-1],
    ):
        if spelling in record:
            quote = _longest_part(spelling)
            if quote is not None:
                return quote
    return _longest_part(record.split("\n", 1)[0])


def search_text(record: str) -> str | None:
    """The longest run of a record's message that does not vary, to find its like by; or None."""
    runs = [run.strip(" ,;:()=-") for run in _VARIABLE.split(message_of(record))]
    best = max(runs, key=len)
    return best[:_SEARCH_TEXT].strip() if len(best) >= 4 else None


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
