"""When two records are of one kind, and the search that finds a record's like.

The tool that counts patterns has masks of its own; these decide whether a line that a search
brought is really "such a line", before anything is said of it.
"""

from __future__ import annotations

import re

from diagnosis.agent.offline.log_text import exception_of, message_of, quotable, spelled_message

# In this order: what tells records apart is kept, what varies is not.
_VARIES = re.compile(
    r"(?P<keep>\"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s|\"\s[1-5]\d\d\b"
    r"|\b(?i:status|code|errno|signal)\\?[\"']?\s?[=:]\s?\d{1,5}\b)"
    r"|(?P<mark>\[[\d,]+ characters left out\]|\[REDACTED[^\]]*\]?)"
    r"|(?P<quoted>(?<!\w)'[^'\n]{1,200}'(?!\w)|\\?\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”)"
    r"|(?P<id>\b(?=[A-Za-z_-]*\d)[0-9A-Fa-f]{8,}(?:-[0-9A-Fa-f]{4,})*\b"
    r"|\b(?=[a-zA-Z]*\d)(?=\d*[a-zA-Z])[0-9A-Za-z]{20,}\b|\b0x[0-9A-Fa-f]+)"
    r"|(?P<number>(?:(?<![^\W_])-)?\d+(?:[.,:]\d+)*)"
)
_SPECIAL = re.compile(r"([.+*?()|{}$])|[\[\]^]")
# What JSON may spell with a backslash or not, and white space, match whatever stands there.
_LOOSE = re.compile(r"[\\\"'\s]+")
_LONGEST_LITERAL = 60
_LONGEST_SEARCH = 480
_LEAST_LETTERS = 4


def pattern_of(record: str) -> str:
    """The record's message with what varies masked; the status of a request is kept."""
    masked = _VARIES.sub(_mask, message_of(record).split("\n", 1)[0])
    return " ".join(masked.split())


def same_kind(one: str, other: str) -> bool:
    """Whether two records are "such lines": one pattern, and one kind of exception."""
    if pattern_of(one) != pattern_of(other):
        return False
    first, second = exception_of(one), exception_of(other)
    if first is None or second is None:
        # a record that was shortened may have lost its last lines
        return first == second or not (quotable(one) and quotable(other))
    return _name(first) == _name(second)


def search_regex(record: str) -> str | None:
    """A regular expression (RE2's syntax) that every record of this kind matches, and few others.

    None where the message has too little that does not vary. At most 480 characters.
    """
    message = spelled_message(record)
    parts: list[str] = []
    end = 0
    for found in _VARIES.finditer(message):
        parts += [_literal(message[end : found.start()])]
        parts += [_literal(found[0]) if found["keep"] else ".*"]
        end = found.end()
    parts.append(_literal(message[end:]))
    pattern = ""
    for part in parts:
        if len(pattern) + len(part) > _LONGEST_SEARCH:
            break
        pattern += part
    pattern = re.sub(r"(?:\.\*)+", ".*", pattern).removeprefix(".*").removesuffix(".*")
    letters = sum(character.isalpha() for character in pattern.replace(r"\W", ""))
    return pattern if letters >= _LEAST_LETTERS else None


def _mask(found: re.Match[str]) -> str:
    return found[0] if found["keep"] else "<>"


def _literal(text: str) -> str:
    escaped = _SPECIAL.sub(
        lambda found: f"[{found[1]}]" if found[1] else ".", text[:_LONGEST_LITERAL]
    )
    return r"\W+".join(_LOOSE.split(escaped)) + (".*" if len(text) > _LONGEST_LITERAL else "")


def _name(exception: str) -> str:
    return exception.removeprefix("Caused by: ").split(":", 1)[0]
