"""Cuts a document into chunks along its headings: pure text in, chunks out.

A chunk never crosses a heading, so that its section says where it comes from. Code fences are
read as CommonMark reads them: what looks like a heading inside one is not one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

CHUNK_BYTES = 1_800  # about 450 tokens in English and 400 in Chinese: the embedding reads 512
FENCE_BYTES = 8_192  # a code fence is kept whole up to this, whatever CHUNK_BYTES says

_ATX_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)$")
_NOT_A_PARAGRAPH = re.compile(r"\s*(?:[-*+>|]|\d+[.)])(?:\s|$)|\s*\|")
_SENTENCE_END = re.compile(r"(?<=[。！？；])|(?<=[.!?;])\s+")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage of a document.

    Attributes:
        ordinal: its place in the document, from 0.
        section: the headings above it joined with "/"; the title where there are none.
        text: verbatim from the document, blank lines around it removed.
    """

    ordinal: int
    section: str
    text: str


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    limit: int


def chunk_markdown(text: str, title: str) -> list[Chunk]:
    """Cut Markdown: one chunk a section, more where a section is over `CHUNK_BYTES`."""
    chunks: list[Chunk] = []
    for headings, lines in _sections(text.splitlines()):
        section = "/".join(name for _, name in headings if name) or title
        for piece in _pack(_blocks(lines)):
            chunks.append(Chunk(len(chunks), section, piece))
    return chunks


def chunk_plain(text: str, title: str) -> list[Chunk]:
    """Cut plain text at paragraph borders; nothing in it is a heading."""
    blocks = (
        _Block(paragraph, CHUNK_BYTES)
        for paragraph in re.split(r"\n[ \t]*\n", "\n".join(text.splitlines()))
    )
    return [Chunk(ordinal, title, piece) for ordinal, piece in enumerate(_pack(blocks))]


def first_heading(text: str) -> str | None:
    """The first level-one heading of a Markdown text."""
    for headings, _ in _sections(text.splitlines()):
        if headings and headings[0][0] == 1 and headings[0][1]:
            return headings[0][1]
    return None


def _sections(lines: list[str]) -> Iterator[tuple[list[tuple[int, str]], list[str]]]:
    """Yield each section's headings, outermost first, as (level, name), and its own lines."""
    headings: list[tuple[int, str]] = []
    body: list[str] = []
    fence: str | None = None
    for line in lines:
        if fence is not None:
            body.append(line)
            fence = None if _closes(line, fence) else fence
            continue
        fence = _opens(line)
        heading = None if fence else _heading(line, body)
        if heading is None:
            body.append(line)
            continue
        level, name, underlined = heading
        if underlined:
            body.pop()
        yield headings, body
        body = []
        headings = [*(above for above in headings if above[0] < level), (level, name)]
    yield headings, body


def _heading(line: str, body: list[str]) -> tuple[int, str, bool] | None:
    """(level, name, whether the name is the last line of the body) of a heading, or None."""
    if match := _ATX_HEADING.match(line):
        return len(match[1]), (match[2] or "").strip(), False
    underline = _SETEXT_UNDERLINE.match(line)
    if underline is None or not body or not body[-1].strip():
        return None
    one_line = len(body) == 1 or not body[-2].strip()
    if not one_line or _NOT_A_PARAGRAPH.match(body[-1]) or body[-1].startswith("    "):
        return None
    return (1 if underline[1][0] == "=" else 2), body[-1].strip(), True


def _opens(line: str) -> str | None:
    match = _FENCE.match(line)
    if match is None or (match[1][0] == "`" and "`" in match[2]):
        return None  # ```like this``` is inline code
    return match[1]


def _closes(line: str, fence: str) -> bool:
    match = _FENCE.match(line)
    return (
        match is not None
        and match[1][0] == fence[0]
        and len(match[1]) >= len(fence)
        and not match[2].strip()
    )


def _blocks(lines: list[str]) -> Iterator[_Block]:
    """Paragraphs and whole code fences, in order."""
    current: list[str] = []
    fence: str | None = None
    for line in lines:
        if fence is not None:
            current.append(line)
            if _closes(line, fence):
                yield _Block("\n".join(current), FENCE_BYTES)
                current, fence = [], None
            continue
        fence = _opens(line)
        if fence is not None or not line.strip():
            yield _Block("\n".join(current), CHUNK_BYTES)
            current = []
        if fence is not None or line.strip():
            current.append(line)
    yield _Block("\n".join(current), FENCE_BYTES if fence is not None else CHUNK_BYTES)


def _pack(blocks: Iterator[_Block]) -> Iterator[str]:
    """Join blocks as long as they fit CHUNK_BYTES; cut only what is over its own limit."""
    packed = ""
    for block in blocks:
        for piece in _cut(block.text, block.limit):
            joined = f"{packed}\n\n{piece}" if packed else piece
            if packed and len(joined.encode()) > CHUNK_BYTES:
                yield packed
                joined = piece
            packed = joined
    if packed:
        yield packed


def _cut(text: str, limit: int) -> Iterator[str]:
    """The text in pieces of at most `limit` bytes: at lines, else sentences, else characters."""
    text = text.strip("\n").rstrip()
    if not text.strip():
        return
    if len(text.encode()) <= limit:
        yield text
        return
    for separator, parts in (("\n", text.split("\n")), (" ", _SENTENCE_END.split(text))):
        if len(parts) > 1:
            yield from _join(parts, separator, limit)
            return
    while text:
        head = text.encode()[:limit].decode(errors="ignore")
        yield head
        text = text[len(head) :]


def _join(parts: list[str], separator: str, limit: int) -> Iterator[str]:
    joined = ""
    for part in parts:
        # a sentence that ends in CJK punctuation is followed by no space
        glue = "" if separator == " " and joined and not joined[-1].isascii() else separator
        longer = joined + glue + part if joined else part
        if joined and len(longer.encode()) > limit:
            yield from _cut(joined, limit)
            longer = part
        joined = longer
    yield from _cut(joined, limit)
