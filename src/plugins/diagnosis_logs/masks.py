"""What varies between records of one kind is masked: numbers, ids, addresses and quoted texts.

A line is taken apart at its spaces, and what a word becomes is remembered: most words come again.
"""

from __future__ import annotations

import re

_REMEMBERED = 20_000

# Only what begins with a quote: quoted texts, and an access log's request with the status after it.
_QUOTED = re.compile(
    r"\"((?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s[^\"\n]{0,4000}\") ([1-5]\d\d)\b"
    r"|\"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s"
    r"|\"[^\"\n]{1,200}\"|(?<!\w)'[^'\n]{1,200}'(?!\w)"
)
_DAYS = frozenset(
    f"{before}{day}{after}"
    for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    for before in ("", "[", "(", '"')
    for after in ("", ",")
)
_TIME = re.compile(
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [A-Z][a-z]{2} [ \d]?\d [\d:.]{8,15} \d{4}\b"
)
# Kept: what kind of request or failure it is; {status} and the like tell records apart.
_KIND = r"(?i:status|code|errno|signal)[\"']?\s?[=:]"
_KIND_BEFORE = re.compile(rf"\b{_KIND}$")
_VARIABLE = re.compile(
    rf"(?P<keep>\b{_KIND}\d{{1,5}}\b)"
    r"|(?P<uuid>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)"
    r"|(?P<address>\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b)"
    # an id has letters and digits: a number is a number however long it is
    r"|(?P<id>\b(?=[a-zA-Z]*\d)(?=\d*[a-zA-Z])(?:0x[\da-fA-F]+|[\da-fA-F]{8,}|[\da-zA-Z]{20,})\b)"
    # a hyphen between letters and digits is no sign
    r"|(?P<number>(?:(?<![^\W_])-)?\d+(?:[.,]\d+)*)"
)
_DIGIT = re.compile(r"\d")
_OUTLINE = str.maketrans("23456789", "1" * 8)
_SIGNS = ("=", ":")  # by themselves, after what is told
# Stands before a word that is kept as it is; no line holds it.
_KEPT = "\0"


class Masker:
    """Masks lines; remembers words in bounded memory, so each search has its own."""

    def __init__(self) -> None:
        self._words = _Words()

    def masked(self, line: str) -> str:
        """The line with what varies replaced by `<number>` and the like, its spaces made single."""
        if '"' in line or "'" in line:
            line = _QUOTED.sub(_quoted, line)
        words = line.split()
        if not _DAYS.isdisjoint(words):
            words = _TIME.sub("<time>", line).split()
        known = self._words
        masked = [known[word] for word in words]
        if not known.before_kept.isdisjoint(masked):
            for index, word in enumerate(words):
                before = " ".join(masked[max(0, index - 2) : index])
                if word.isdigit() and len(word) <= 5 and _KIND_BEFORE.search(before):
                    masked[index] = word
        return " ".join(masked)


class _Words(dict[str, str]):
    """What words become; one that is asked for the first time is masked then.

    Which digits a word has plays no part, except that `0x` begins with the one that it does; or all
    do, where they are kept.

    Attributes:
        before_kept: after these a number may have to be kept, because they tell what it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.before_kept: set[str] = set(_SIGNS)
        self._outlines: dict[str, str] = {}

    def __missing__(self, word: str) -> str:
        if word.isdigit():
            if len(word) <= 3:
                self[word] = "<number>"
            return "<number>"
        # words with a number seldom come again as they are, but do so with other digits
        masked = self._outlines.get(word.translate(_OUTLINE))
        return self._first(word) if masked is None else masked

    def _first(self, word: str) -> str:
        if word[0] == _KEPT:
            return word[1:]
        if len(self) + len(self._outlines) + len(self.before_kept) >= _REMEMBERED:
            self.clear()
            self._outlines.clear()
            self.before_kept = set(_SIGNS)
        masked = word
        if _DIGIT.search(word):
            outline = word.translate(_OUTLINE)
            masked = _VARIABLE.sub(_variable, outline)
            if _DIGIT.search(masked):  # some are kept
                masked = _VARIABLE.sub(_variable, word)
            else:
                self._outlines[outline] = masked
        else:
            self[word] = word
        if _KIND_BEFORE.search(masked):
            self.before_kept.add(masked)
        return masked


def _quoted(found: re.Match[str]) -> str:
    if found[1] is not None:
        return f'"{found[1]} {_KEPT}{found[2]}'
    return found[0] if found[0][-1].isspace() else "<quote>"


def _variable(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind == "keep":
        return found[0]
    # an id may happen to have no letter
    return f"<{kind}>"
