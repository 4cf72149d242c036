"""Reads HTML: what a person reads on the page, in sections by its headings.

Nothing is loaded or run. What is not shown (scripts, styles, hidden elements) and what leads
elsewhere (navigation, forms' controls) is left out; where the page says which part is its main
one, only that is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from diagnosis_knowledge.readers.decoding import decoded_html
from diagnosis_knowledge.readers.sections import Extract, Outline
from diagnosis_knowledge.readers.writing import fenced, in_backticks, table_lines

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag
    from bs4.element import PageElement

_DROPPED = (
    "script", "style", "nav", "template", "noscript", "svg", "canvas", "iframe", "object", "embed",
    "button", "select", "input", "textarea", "audio", "video", "map",
)  # fmt: skip
_NOT_SHOWN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_BLOCKS = frozenset(
    """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol p
    pre section summary table tbody td tfoot th thead tr ul
    """.split()  # noqa: SIM905 - a list of 40 quoted words is no easier to read
)
_BLOCK_NAMES = sorted(_BLOCKS)
_LISTS = ["ul", "ol", "menu"]
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NOT_IN_A_LINE = ["table", "pre", *_HEADINGS]
_ENDED_BY = {
    "li": {"li"},
    "p": {"p"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
    "tr": {"tr"},
    "td": {"td", "th"},
    "th": {"td", "th"},
}
_KEEPS_OPEN = frozenset({"ul", "ol", "menu", "dl", "table", "div", "section", "article", "body"})
_PERMALINKS = frozenset({"¶", "#", "§", "🔗", ""})
_NO_WIDTH = re.compile("[\u00ad\u200b\u2060\ufeff]")
_WIDE = "[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]"
_CHINESE_LINE_END = re.compile(rf"(?<={_WIDE})[ \t]*\n[ \t]*(?={_WIDE})")
_LIST_DEPTH = 50  # of lists in each other; what is deeper is read as one text


_END = object()  # of a block
_END_OF_TERMS = object()


def read_html(content: bytes) -> Extract:
    """Sections by h1 to h6; title by the first h1, else by `title`; category by a `meta`.

    Raises:
        DocumentUnreadable: it is no text, or too much.
    """
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(decoded_html(content), "html.parser")
    title = " ".join(soup.title.get_text(" ").split()) if soup.title else ""
    category = soup.find("meta", attrs={"name": "category"})
    named = str(category.get("content") or "").strip() if category is not None else ""
    _drop_what_is_not_shown(soup)
    _end_what_was_left_open(soup)
    page = _Page()
    page.read(_main_part(soup))
    sections = page.outline.sections()
    return Extract(page.outline.title or title or None, named or None, sections)


def _drop_what_is_not_shown(soup: BeautifulSoup) -> None:
    from bs4 import Comment, Doctype, ProcessingInstruction

    for text in soup.find_all(
        string=lambda s: isinstance(s, Comment | Doctype | ProcessingInstruction)
    ):
        text.extract()
    hidden = [
        tag
        for tag in soup.find_all(True)
        if tag.name in _DROPPED
        or tag.name in ("head", "title")
        or tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or tag.get("role") in ("navigation", "search")
        or _NOT_SHOWN.search(str(tag.get("style") or ""))
    ]
    for tag in hidden:
        # a heading's text stays, whatever was wrapped around the page
        if tag.name not in ("html", "body"):
            tag.extract()


def _end_what_was_left_open(soup: BeautifulSoup) -> None:
    """Take items and paragraphs out of the one before them, whose end tag was left out."""
    for tag in soup.find_all([*_ENDED_BY]):
        ended = _ENDED_BY[tag.name]
        for above in tag.parents:
            if above.name in ended:
                above.insert_after(tag.extract())
                break
            if above.name in _KEEPS_OPEN:
                break


def _main_part(soup: BeautifulSoup) -> Tag:
    for candidates in (soup.select("main, [role=main]"), soup.find_all("article")):
        if len(candidates) == 1 and candidates[0].get_text().strip():
            return candidates[0]
    return soup


class _Page:
    """Walks a page in reading order, without recursion: pages nest as deep as they like."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._inline: list[str] = []
        self._mark = ""
        self._pending: list[PageElement | object] = []

    def read(self, root: Tag) -> None:
        """Read everything below an element."""
        from bs4 import Tag

        self._enter(root, _END)
        while self._pending:
            step = self._pending.pop()
            if step is _END:
                self._end_paragraph()
            elif step is _END_OF_TERMS:
                self._end_term()
            elif not isinstance(step, Tag):
                self._inline.append(_flowing(str(step)))
            elif step.name in _BLOCKS:
                self._end_paragraph()
                self._read_block(step)
            elif step.find(_BLOCK_NAMES) is not None:  # a link or span around blocks
                self._enter(step)
            else:
                self._inline.append(_inline_text(step))
        self._end_term()

    def _enter(self, tag: Tag, *then: object) -> None:
        """Go on with what is in an element, and then with `then`."""
        self._pending += reversed([*tag.children, *then])

    def _end_paragraph(self) -> None:
        text, self._inline = _collapsed("".join(self._inline)), []
        if text:
            self.outline.add(self._mark + text)
            self._mark = ""

    def _add(self, text: str, *, code: bool = False) -> None:
        """Add what is more than a paragraph; a term waits for no definition then."""
        self._end_term()
        self.outline.add(text, code=code)

    def _end_term(self) -> None:
        if self._mark.endswith(": "):
            self.outline.add(self._mark.removesuffix(": "))
        self._mark = ""

    def _read_block(self, tag: Tag) -> None:
        if tag.name in _HEADINGS:
            self._end_term()
            self.outline.heading(_HEADINGS[tag.name], _heading_text(tag))
        elif tag.name == "pre":
            self._add(fenced(_NO_WIDTH.sub("", tag.get_text())), code=True)
        elif tag.name in _LISTS and tag.find(_NOT_IN_A_LINE) is None:
            self._add("\n".join(_list_lines(tag, "", 0)))
        elif tag.name == "table" and tag.find(_NOT_IN_A_LINE) is None:
            self._add("\n".join(_table_lines(tag)))
        elif tag.name == "dt" and tag.find(_BLOCK_NAMES) is None:
            self._mark += f"{_one_line(tag)}: "  # it stands before its definition
        elif tag.name == "dl":
            self._enter(tag, _END, _END_OF_TERMS)
        else:
            if tag.name == "li":
                self._mark = f"{_mark_of(tag)} "
            self._enter(tag, _END)


def _mark_of(item: Tag) -> str:
    """What stands before an item of a list."""
    if item.parent is None or item.parent.name != "ol":
        return "-"
    return f"{1 + len(item.find_previous_siblings('li'))}."


def _list_lines(tag: Tag, indent: str, depth: int) -> Iterator[str]:
    """A line for each item, those of inner lists further in."""
    number = 0
    for child in tag.find_all(True, recursive=False):
        mark = ""
        if child.name == "li":
            number += 1
            mark = f"{number}. " if tag.name == "ol" else "- "
        inner = [child] if child.name in _LISTS else child.find_all(_LISTS)
        if depth > _LIST_DEPTH:
            inner = []
        # the outermost ones: those inside them come with them
        inner = [each for each in inner if each is child or each.find_parent(_LISTS) is tag]
        for each in inner:
            each.extract()
        text = "" if child in inner else _one_line(child)
        if text:
            yield f"{indent}{mark}{text}"
        for each in inner:
            yield from _list_lines(each, f"{indent}{' ' * (len(mark) or 2)}", depth + 1)


def _inline_text(tag: Tag) -> str:
    """The text of an inline element: code in backticks as Markdown has it, images by their text."""
    from bs4 import Tag

    parts: list[str] = []
    pending: list[PageElement] = [tag]
    while pending:
        element = pending.pop()
        if not isinstance(element, Tag):
            parts.append(_flowing(str(element)))
        elif element.name == "br":
            parts.append("\n")
        elif element.name == "img":
            parts.append(str(element.get("alt") or ""))
        elif element.name in _CODE:
            parts.append(in_backticks(element.get_text()))
        else:
            if element.name in _BLOCKS:
                parts.append("\n")
            pending += reversed(list(element.children))
    return "".join(parts)


def _heading_text(tag: Tag) -> str:
    for link in tag.find_all("a"):
        if link.get_text().strip() in _PERMALINKS:
            link.extract()
    return _one_line(tag).replace("`", "")


def _table_lines(table: Tag) -> Iterator[str]:
    caption = table.find("caption")
    if caption is not None:
        yield _one_line(caption.extract())
    rows = table.find_all("tr")
    yield from table_lines([_one_line(cell) for cell in row.find_all(["td", "th"])] for row in rows)


def _one_line(tag: Tag) -> str:
    return " ".join(_collapsed(_inline_text(tag)).split())


def _flowing(text: str) -> str:
    """White space as a browser shows it; but a line end between Chinese characters is none."""
    text = _NO_WIDTH.sub("", text)
    return re.sub(r"\s+", " ", _CHINESE_LINE_END.sub("", text))


def _collapsed(text: str) -> str:
    """Lines only where the page breaks them."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
