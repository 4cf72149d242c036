"""Makes sense of the text that a PDF gives: visual lines, page by page, without paragraphs."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

_CJK = "\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uffef"
_ENDS_OPEN = re.compile("[\u3400-\u9fff\uf900-\ufaff、，]$")
_BEGINS_CJK = re.compile(f"[{_CJK}]")
_BETWEEN_CJK = re.compile(f"(?<=[{_CJK}]) +(?=[{_CJK}])")
_SPACED_CJK = re.compile(f"(?:[{_CJK}] ){{4}}")
_HYPHENATED = re.compile(r"(\b[^\W\d_]{2,})[-\u2010]\n([a-z]{2,}\w*)[ ]?")
_LIGATURES = {ord(each): unicodedata.normalize("NFKC", each) for each in "ﬀﬁﬂﬃﬄﬅﬆ"}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u2060\ufeff]")
_GLYPH_NAMES = re.compile(r"(?:/[A-Za-z]{1,6}\d{1,5}|\(cid:\d+\)){5,}")
_UNREADABLE_SHARE = 0.2
_FULL_LINE = 0.8  # of the widest line of the page: what is shorter ends a paragraph
_REPEATED_SHARE = 0.6
_REPEATED_PAGES = 3


def is_readable(text: str) -> bool:
    """Whether text is characters and not the numbers of glyphs in a font without a map."""
    visible = [character for character in text if not character.isspace()]
    strange = sum(
        character == "\ufffd" or unicodedata.category(character) in ("Cc", "Co", "Cn", "Cs")
        for character in visible
    )
    names = sum(len(match[0]) for match in _GLYPH_NAMES.finditer(text))
    return strange + names <= _UNREADABLE_SHARE * len(visible)


def page_lines(text: str) -> list[str]:
    """The lines of a page, characters and spaces as a reader sees them."""
    text = text.translate(_LIGATURES).replace("\u00a0", " ")
    text = _CONTROL.sub("", text)
    if _SPACED_CJK.search(text):  # each character was placed by itself
        text = _BETWEEN_CJK.sub("", text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def without_running_heads(pages: Sequence[list[str]]) -> list[list[str]]:
    """The pages without the first and last lines that nearly every one has.

    The last lines may differ in their numbers, as page numbers do; first lines that differ so can
    be headings. A line that is all of its page stays.
    """
    full = [lines for lines in pages if len(lines) > 1]
    first = Counter(lines[0].strip() for lines in full)
    last = Counter(_numberless(lines[-1]) for lines in full)
    often = max(_REPEATED_PAGES, _REPEATED_SHARE * len(full))
    kept: list[list[str]] = []
    for lines in pages:
        rest = lines
        if len(rest) > 1 and last[_numberless(rest[-1])] >= often:
            rest = rest[:-1]
        if len(rest) > 1 and first[rest[0].strip()] >= often:
            rest = rest[1:]
        kept.append(rest)
    return kept


def flowing(lines: Sequence[str], document: str) -> str:
    """Lines as text: words that a line end cut are joined, in Chinese those of a paragraph too.

    Args:
        lines: of one page.
        document: all of its text, which tells whether a word is written with its hyphen elsewhere.
    """
    widest = max(map(_width, lines), default=0)
    joined: list[str] = []
    previous = ""
    for line in lines:
        goes_on = (
            _ENDS_OPEN.search(previous)
            and _width(previous) >= _FULL_LINE * widest
            and _BEGINS_CJK.match(line)
        )
        if goes_on:
            joined[-1] += line
        else:
            joined.append(line)
        previous = line

    def mend(match: re.Match[str]) -> str:
        hyphen = "-" if f"{match[1]}-{match[2]}" in document else ""
        return f"{match[1]}{hyphen}{match[2]}\n"

    return _HYPHENATED.sub(mend, "\n".join(joined))


def _numberless(line: str) -> str:
    return re.sub(r"\d+", "0", line.strip())


def _width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
