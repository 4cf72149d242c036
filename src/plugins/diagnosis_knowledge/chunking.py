"""Cuts the sections of a document into chunks: pure text in, chunks out.

A chunk never crosses a heading, so that its section says where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from diagnosis_knowledge.readers.sections import Block, Section

CHUNK_BYTES = 1_800  # about 450 tokens in English and 400 in Chinese: the embedding reads 512
CODE_BYTES = 8_192  # a code block is kept whole up to this, whatever CHUNK_BYTES says

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


def chunked(sections: Iterable[Section], title: str) -> Iterator[Chunk]:
    """One chunk a section, more where a section is over `CHUNK_BYTES`."""
    ordinal = 0
    for section in sections:
        name = "/".join(section.headings) or title
        for piece in _pack(section.blocks):
            yield Chunk(ordinal, name, piece)
            ordinal += 1


def _pack(blocks: Iterable[Block]) -> Iterator[str]:
    """Join blocks as long as they fit CHUNK_BYTES; cut only what is over its own limit."""
    packed = ""
    for block in blocks:
        for piece in _cut(block.text, CODE_BYTES if block.code else CHUNK_BYTES):
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
    start = 0
    while start < len(text):
        # a character is a byte or more
        head = text[start : start + limit].encode()[:limit].decode(errors="ignore")
        yield head
        start += len(head)


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
