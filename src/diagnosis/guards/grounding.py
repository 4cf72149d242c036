"""Whether a quote stands in what was shown: normalisation, least length, and the search.

The rules are those of the evidence guard for quotes: a quote stands inside one item, in one
field's value or in the item's JSON text, after both sides were normalised in the same way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from diagnosis.guards.shown_result import ShownItem

LEAST_CHARACTERS = 12
LEAST_CJK_CHARACTERS = 6

# Straight, curly and low quotes, guillemets, corner brackets, double primes of CJK; single and
# double. Full-width, half-width and vertical forms have become these by NFKC.
_QUOTATION_MARKS = "'‘’‚‛“”„‟«»‹›「」『』〝〞〟"
# Hyphens, figure, en, em, two-em and three-em dash, horizontal bar, minus sign.
_DASHES = "‐‑‒–—―−⸺⸻"
# Radicals, kana, bopomofo, ideographs, Hangul, and the punctuation of these scripts.
_CJK = (
    "\u1100-\u11ff\u2e80-\u2fff\u3000-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# NFKC is slow on a text that it changes, and quick on others: these are changed beforehand.
_COMMON_FULL_WIDTH = {"，": ",", "：": ":", "；": ";", "（": "(", "）": ")", "！": "!", "？": "?"}
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
# begins with a literal space, so that the search jumps from space to space
_SPACE_BESIDE_CJK = re.compile(f" (?:(?<=[{_CJK}] )|(?=[{_CJK}]))")
_PLAIN_MARKS = {**dict.fromkeys(_QUOTATION_MARKS, '"'), **dict.fromkeys(_DASHES, "-")}

_REDACTION = "[REDACTED"
_REDACTION_MARK = re.compile(r"\[REDACTED(?:[^\[\]\x00]{0,40}\])?")
# Parts passages that are searched as one text. It stands in no normalised text.
_BORDER = "\x00"


def normalise(text: str) -> str:
    """The form in which quotes and evidence are compared; letter case is kept.

    NFKC; white space at the ends dropped, runs of it one space, none beside a CJK character; every
    quotation mark `"`; every dash or run of dashes `-`.
    """
    return _normalise(text.replace(_BORDER, "\ufffd"))


def is_long_enough(normalised: str) -> bool:
    """Whether a normalised quote says enough to be searched for inside a longer text."""
    length = len(normalised)
    if length >= LEAST_CHARACTERS:
        return True
    cjk_characters = len(_CJK_CHARACTER.findall(normalised))
    return length >= LEAST_CJK_CHARACTERS and cjk_characters * 2 >= length


class Passages:
    """All that may be quoted from one result, normalised once.

    Args:
        items: of the result. A quote never reaches from one into another, nor from one field's
            value into the next, but it may be a piece of an item's JSON text.
    """

    def __init__(self, items: Iterable[ShownItem]) -> None:
        values: dict[str, None] = {}  # each once, in order: services and levels repeat
        texts: list[str] = []
        for item in items:
            values.update(dict.fromkeys(_values(item.value)))
            texts.append(item.text)
        shown_values = _normalise_all(values)
        self._whole_values = {value.strip(" ") for value in shown_values.split(_BORDER)}
        text = _BORDER.join((shown_values, _normalise_all(texts)))
        # what touches a mark cannot be found once a border stands in its place
        self._text = _REDACTION_MARK.sub(_BORDER, text) if _REDACTION in text else text

    def hold(self, quote: str) -> bool:
        """Whether the quote stands in one of them and is long enough, or is a whole value."""
        wanted = normalise(quote)
        if not wanted or _REDACTION in wanted:
            return False
        if wanted in self._whole_values:
            return True
        if wanted not in self._text:
            return False
        return is_long_enough(wanted) or _without_quotation_marks(wanted) in self._whole_values


def _normalise_all(texts: Iterable[str]) -> str:
    """Many texts as one, which is quicker than one by one, with a border between each two."""
    return _normalise(_BORDER.join(text.replace(_BORDER, "\ufffd") for text in texts))


def _normalise(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _replaced(text, _COMMON_FULL_WIDTH))
    text = " ".join(text.split())
    if text.isascii():
        text = text.replace("'", '"')
    else:
        text = _SPACE_BESIDE_CJK.sub("", _replaced(text, _PLAIN_MARKS))
    while "--" in text:
        text = text.replace("--", "-")
    return text


def _replaced(text: str, plain: Mapping[str, str]) -> str:
    for character, replacement in plain.items():  # far quicker than str.translate
        text = text.replace(character, replacement)
    return text


def _values(value: Any) -> Iterator[str]:
    """Every string, number and boolean in a JSON value, as shown; null says nothing."""
    waiting = [value]  # no recursion: nesting is as deep as the data wants
    while waiting:
        match waiting.pop():
            case str() as text:  # numbers too, as their digits
                yield text
            case bool() as flag:
                yield "true" if flag else "false"
            case dict() as members:
                waiting.extend(members.values())
            case list() as elements:
                waiting.extend(elements)


def _without_quotation_marks(text: str) -> str:
    """A whole value may be copied with the quotation marks that JSON puts around it."""
    enclosed = len(text) > 2 and text[0] == text[-1] == '"'
    return text[1:-1] if enclosed else text
