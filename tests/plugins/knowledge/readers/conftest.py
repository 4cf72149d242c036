"""Makes documents of every format: PDF by a small writer, all of them from Markdown runbooks."""

from __future__ import annotations

import html
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

Parts = list[tuple[str, int, str]]
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_LINE_WIDTH = 76


@dataclass
class Pdf:
    """A PDF with text of any script: its font is not in it, but a map of its glyphs is.

    Attributes:
        bookmarks: (level from 1, name, page from 0).
        mapped: whether the font tells which characters its glyphs are.
    """

    pages: Sequence[Sequence[str]]
    bookmarks: Sequence[tuple[int, str, int]] = ()
    title: str = ""
    mapped: bool = True
    picture: bool = False
    objects: list[bytes] = field(default_factory=list)

    def __bytes__(self) -> bytes:
        kids = [self._page(lines) for lines in self.pages]
        count = len(kids)
        pages = self._add(
            b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, b" ".join(map(_ref, kids)))
        )
        for kid in kids:
            self.objects[kid - 1] = self.objects[kid - 1].replace(b"@PAGES", _ref(pages))
        outlines = self._outlines(kids)
        catalog = self._add(
            b"<< /Type /Catalog /Pages %s %s >>"
            % (_ref(pages), b"/Outlines " + _ref(outlines) if outlines else b"")
        )
        info = self._add(b"<< /Title <%s> >>" % (b"FEFF" + _hex(self.title)))
        return self._written(catalog, info)

    def _add(self, body: bytes) -> int:
        self.objects.append(body)
        return len(self.objects)

    def _stream(self, content: bytes) -> int:
        packed = zlib.compress(content)
        return self._add(
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
        )

    def _page(self, lines: Sequence[str]) -> int:
        shown = [b"BT /F1 10 Tf 14 TL 50 800 Td"]
        shown += [b"<%s> Tj T*" % _hex(line) for line in lines]
        content = self._stream(b"\n".join([*shown, b"ET"]))
        picture = b"/XObject << >>" if self.picture else b""
        return self._add(
            b"<< /Type /Page /Parent @PAGES /MediaBox [0 0 595 842] /Contents %s"
            b" /Resources << /Font << /F1 %s >> %s >> >>"
            % (_ref(content), _ref(self._font()), picture)
        )

    def _font(self) -> int:
        for number, body in enumerate(self.objects, 1):
            if b"/Type0" in body:
                return number
        used = sorted({_hex(c) for page in self.pages for line in page for c in line})
        to_unicode = self._stream(
            b"/CMapName /X def 1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
            b"%d beginbfchar\n"
            % len(used)
            + b"\n".join(b"<%s> <%s>" % (each, each) for each in used)
            + b"\nendbfchar"
        )
        below = self._add(
            b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 1000 /CIDSystemInfo"
            b" << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>"
        )
        unicode = b"/ToUnicode " + _ref(to_unicode) if self.mapped else b""
        return self._add(
            b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H"
            b" /DescendantFonts [%s] %s >>" % (_ref(below), unicode)
        )

    def _outlines(self, kids: Sequence[int]) -> int:
        """The tree of bookmarks."""
        if not self.bookmarks:
            return 0
        root = self._add(b"")
        children: dict[int, list[int]] = {root: []}
        above = {0: root}
        bodies: dict[int, tuple[str, int, int]] = {}
        for level, name, page in self.bookmarks:
            parent = above[max(each for each in above if each < level)]
            item = self._add(b"")
            above = {each: number for each, number in above.items() if each < level} | {level: item}
            children[parent].append(item)
            children[item] = []
            bodies[item] = (name, kids[page], parent)
        for parent, items in children.items():
            for place, item in enumerate(items):
                name, page, _ = bodies[item]
                links = b"/Parent %s" % _ref(parent)
                if place:
                    links += b" /Prev %s" % _ref(items[place - 1])
                if place + 1 < len(items):
                    links += b" /Next %s" % _ref(items[place + 1])
                if children[item]:
                    links += b" /First %s /Last %s /Count %d" % (
                        _ref(children[item][0]), _ref(children[item][-1]), len(children[item]),
                    )  # fmt: skip
                self.objects[item - 1] = b"<< /Title <FEFF%s> /Dest [%s /Fit] %s >>" % (
                    _hex(name), _ref(page), links,
                )  # fmt: skip
        tops = children[root]
        self.objects[root - 1] = b"<< /Type /Outlines /First %s /Last %s /Count %d >>" % (
            _ref(tops[0]), _ref(tops[-1]), len(tops),
        )  # fmt: skip
        return root

    def _written(self, catalog: int, info: int) -> bytes:
        out = bytearray(b"%PDF-1.7\n")
        places = []
        for number, body in enumerate(self.objects, 1):
            places.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
        out += b"".join(b"%010d 00000 n \n" % place for place in places)
        out += b"trailer << /Size %d /Root %s /Info %s >>\nstartxref\n%d\n%%%%EOF\n" % (
            len(places) + 1, _ref(catalog), _ref(info), start,
        )  # fmt: skip
        return bytes(out)


def _ref(number: int) -> bytes:
    return b"%d 0 R" % number


def _hex(text: str) -> bytes:
    return text.encode("utf-16-be").hex().upper().encode()


# --- Markdown in other formats -------------------------------------------------------------------


def parts_of(markdown: str) -> Parts:
    """(kind, level, text) for the headings, code blocks, tables, lists and paragraphs."""
    parts: Parts = []
    markdown = re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.DOTALL)
    lines = iter(markdown.splitlines())
    paragraph: list[str] = []

    def end() -> None:
        if paragraph:
            first = paragraph[0].lstrip()
            listed = re.match(r"[-*+] |\d+\. ", first)
            kind = "table" if first.startswith("|") else "list" if listed else "paragraph"
            parts.append((kind, 0, "\n".join(paragraph)))
            paragraph.clear()

    for line in lines:
        heading = re.match(r"(#+) (.*)", line)
        fence = re.match(r"(\s*)```(\w*)", line)
        if heading:
            end()
            parts.append(("heading", len(heading[1]), heading[2].strip()))
        elif fence:
            end()
            code = []
            for inside in lines:
                if inside.strip() == "```":
                    break
                code.append(inside.removeprefix(fence[1]))
            parts.append(("code", 0, "\n".join(code)))
        elif not line.strip():
            end()
        else:
            listed = re.match(r"\s*(?:[-*+]|\d+\.) ", line)
            if listed and paragraph and not re.match(r"\s*(?:[-*+]|\d+\.) ", paragraph[0]):
                end()
            paragraph.append(line)
    end()
    return parts


def _rows(table: str) -> list[list[str]]:
    rows = [
        [cell.strip() for cell in row.strip().strip("|").split("|")] for row in table.splitlines()
    ]
    return [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]


def _items(text: str) -> list[str]:
    """The items of a list, lines that go on joined; inner lists become items of the list."""
    items: list[str] = []
    for line in text.splitlines():
        marked = re.match(r"\s*(?:[-*+]|\d+\.) (.*)", line)
        if marked:
            items.append(marked[1])
        else:
            items[-1] += f" {line.strip()}"
    return items


def as_html(markdown: str) -> bytes:
    """The page that a wiki makes of it."""

    def inline(text: str) -> str:
        return _INLINE.sub(
            lambda m: f"<code>{m[1]}</code>" if m[1] else f"<b>{m[2]}</b>",
            html.escape(text, quote=False),
        )

    body: list[str] = []
    for kind, level, text in parts_of(markdown):
        if kind == "heading":
            body.append(f"<h{level}>{inline(text)}</h{level}>")
        elif kind == "code":
            body.append(f"<pre><code>{html.escape(text)}</code></pre>")
        elif kind == "table":
            rows = ("".join(f"<td>{inline(cell)}</td>" for cell in row) for row in _rows(text))
            body.append("<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>")
        elif kind == "list":
            body.append("<ul>" + "".join(f"<li>{inline(i)}</li>" for i in _items(text)) + "</ul>")
        else:
            body.append(f"<p>{inline(text)}</p>")
    page = "\n".join(body)
    return (
        '<!doctype html><html><head><meta charset="utf-8"><title>Wiki</title></head><body>'
        f"<nav><a href='/'>All runbooks</a></nav><main>{page}</main></body></html>"
    ).encode()


def as_rst(markdown: str) -> bytes:
    """The same in reStructuredText."""

    def inline(text: str) -> str:
        plain = re.sub(r"\*\*([^*]+)\*\*", r"\1", text)
        return re.sub(r"`([^`]+)`|([*|_])", lambda m: f"``{m[1]}``" if m[1] else f"\\{m[2]}", plain)

    out: list[str] = []
    for kind, level, text in parts_of(markdown):
        if kind == "heading":
            under = '=-~^"+'[level - 1] * max(4, 2 * len(text))
            out += [inline(text), under, ""]
        elif kind == "code":
            out += ["::", "", *(f"   {line}" for line in text.splitlines()), "", "..", ""]
        elif kind == "table":
            rows = _rows(text)
            out += [".. list-table::", "   :header-rows: 1", ""]
            for row in rows:
                cells = [inline(cell) for cell in row] + [""] * (len(rows[0]) - len(row))
                out += [f"   {'* -' if n == 0 else '  -'} {cell}" for n, cell in enumerate(cells)]
            out.append("")
        elif kind == "list":
            out += [*(f"- {inline(item)}" for item in _items(text)), ""]
        else:
            out += [inline(text), ""]
    return "\n".join(out).encode()


def as_pdf(markdown: str) -> bytes:
    """As a word processor prints it: wrapped lines on pages, headings as bookmarks."""
    pages: list[list[str]] = [[]]
    bookmarks: list[tuple[int, str, int]] = []
    for kind, level, marked in parts_of(markdown):
        text = marked if kind == "code" else _INLINE.sub(lambda m: m[1] or m[2], marked)
        if kind == "heading":
            bookmarks.append((level, text, len(pages) - 1))
        elif kind == "table":
            text = "\n".join("  ".join(row) for row in _rows(text))
        for line in text.splitlines():
            for visual in _wrapped(line):
                pages[-1].append(visual)
        if len(pages[-1]) > 45:
            pages.append([])
    return bytes(Pdf([page for page in pages if page], bookmarks))


def _wrapped(line: str) -> Iterator[str]:
    width, current = 0, ""
    for word in re.findall(r"[\x21-\x7e]+|\s+|[^\x21-\x7e\s]", line):
        width += sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in word)
        if width > _LINE_WIDTH:
            yield current
            width, current = len(word), ""
        current += word
    yield current


@pytest.fixture(scope="session")
def pdf() -> type[Pdf]:
    return Pdf


@pytest.fixture(scope="session")
def converters() -> dict[str, Callable[[str], bytes]]:
    """What makes a document of Markdown, by the suffix of its format."""
    return {".html": as_html, ".rst": as_rst, ".pdf": as_pdf}
