"""What kind of document a file is: by its first bytes, and where they do not tell, by its name."""

from __future__ import annotations

import codecs
import re
from enum import StrEnum
from pathlib import PurePath

from diagnosis_knowledge.readers.sections import TEXT_BYTES, DocumentUnreadable

_MIB = 1024 * 1024


class Kind(StrEnum):
    """A kind of document that can be read."""

    MARKDOWN = "MARKDOWN"
    TEXT = "TEXT"
    HTML = "HTML"
    RST = "RST"
    PDF = "PDF"


FILE_BYTES = {
    Kind.MARKDOWN: TEXT_BYTES,
    Kind.TEXT: TEXT_BYTES,
    Kind.RST: TEXT_BYTES,
    Kind.HTML: 8 * _MIB,
    Kind.PDF: 64 * _MIB,
}
LARGEST_FILE_BYTES = max(FILE_BYTES.values())

_SUFFIXES = {
    ".md": Kind.MARKDOWN,
    ".markdown": Kind.MARKDOWN,
    ".txt": Kind.TEXT,
    ".text": Kind.TEXT,
    ".html": Kind.HTML,
    ".htm": Kind.HTML,
    ".xhtml": Kind.HTML,
    ".rst": Kind.RST,
    ".rest": Kind.RST,
    ".pdf": Kind.PDF,
}
_EXPORT = "Export it as PDF or HTML, and add that."
_OFFICE = "an office document", _EXPORT
_ARCHIVE = "an archive", "Unpack it, and add the folder."
_UNSUPPORTED = {
    **dict.fromkeys((".doc", ".docx", ".odt", ".rtf"), ("a word processor's document", _EXPORT)),
    **dict.fromkeys((".xls", ".xlsx", ".ods", ".ppt", ".pptx", ".odp"), _OFFICE),
    **dict.fromkeys((".epub", ".mobi"), ("an e-book", _EXPORT)),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z"), _ARCHIVE),
}
_HTML_BEGINS = re.compile(
    r"(?:\s|<!--(?:(?!-->).)*-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_SNIFFED_BYTES = 1024


def kind_by_name(name: str) -> Kind | None:
    """The kind that a file's suffix stands for."""
    return _SUFFIXES.get(PurePath(name).suffix.lower())


def why_unsupported(name: str) -> str:
    """What a file is whose suffix stands for no kind that can be read."""
    suffix = PurePath(name).suffix.lower()
    if suffix in _UNSUPPORTED:
        return "{}: {}".format(*_UNSUPPORTED[suffix])
    return f"unknown kind {suffix}" if suffix else "unknown kind"


def kind_of(name: str, content: bytes) -> Kind:
    """The kind of a file's content; its name decides among the kinds that are all text.

    Raises:
        DocumentUnreadable: it is a kind that cannot be read, or no PDF although it is named so.
    """
    begin = content[:_SNIFFED_BYTES]
    if begin.lstrip().startswith(b"%PDF-"):
        return Kind.PDF
    if (known := _known_binary(name, begin)) is not None:
        what, mend = known
        raise DocumentUnreadable(f"is {what}, which cannot be read", mend)
    if _HTML_BEGINS.match(_text_of(begin)):
        return Kind.HTML
    kind = kind_by_name(name)
    if kind is Kind.PDF and b"%PDF-" not in begin:  # junk before it is common, and allowed
        raise DocumentUnreadable("is no PDF", "Export it again, and add that.")
    return kind or Kind.TEXT


def _known_binary(name: str, begin: bytes) -> tuple[str, str] | None:
    by_name = _UNSUPPORTED.get(PurePath(name).suffix.lower())
    if begin.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        if re.search(rb"word/|xl/|ppt/|\[Content_Types\]\.xml|mimetypeapplication/", begin):
            return by_name or _OFFICE
        return by_name or _ARCHIVE
    if begin.startswith((b"\xd0\xcf\x11\xe0", rb"{\rtf")):
        return by_name or _OFFICE
    if begin.startswith(
        (b"\x1f\x8b", b"BZh9", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf", b"Rar!\x1a")
    ):
        return _ARCHIVE
    return None


def _text_of(begin: bytes) -> str:
    utf16 = begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return begin.decode("utf-16" if utf16 else "utf-8-sig", errors="replace")
