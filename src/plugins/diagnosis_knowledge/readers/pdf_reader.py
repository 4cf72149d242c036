"""Reads PDF: the text that is in it, in sections by its bookmarks, else by its pages.

A PDF can be made to need any time and memory, so this belongs into a process that can be killed
(`worker`).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diagnosis_knowledge.readers.pdf_text import (
    flowing,
    is_readable,
    page_lines,
    without_running_heads,
)
from diagnosis_knowledge.readers.sections import (
    TEXT_BYTES,
    DocumentUnreadable,
    Extract,
    Outline,
)

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_EXPORT_AGAIN = "Export it again, or convert it to text."
_NO_TITLE = re.compile(
    r"microsoft \w+ - |untitled|无标题|.*\.(?:docx?|xlsx?|pptx?|pdf|indd|tex|html?)$",
    re.IGNORECASE,
)
_HEADING_LINES = 3  # a long heading goes over so many
_BOOKMARKS = 5_000


@dataclass(frozen=True, slots=True)
class _Bookmark:
    level: int
    name: str
    page: int


def read_pdf(content: bytes) -> Extract:
    """Sections by bookmarks, else by pages; title by the only outermost bookmark or the metadata.

    Raises:
        DocumentUnreadable: it is encrypted, damaged, or holds no text or too much.
    """
    reader = _opened(content)
    pages, unreadable = _texts(reader)
    if not any(pages):
        raise DocumentUnreadable(
            "holds no text that can be read: its pages are pictures, or its fonts tell no "
            "characters",
            "Run it through text recognition (OCR), and add the result.",
        )
    bookmarks = _bookmarks(reader)
    lines = without_running_heads(pages)
    document = "\n".join("\n".join(page) for page in lines)
    outline = Outline()
    for number, page in enumerate(lines):
        if not bookmarks:
            outline.heading(1, f"page {number + 1}")
        begin = 0
        for bookmark in (each for each in bookmarks if each.page == number):
            first, after = _place(bookmark.name, page, begin)
            outline.add(flowing(page[begin:first], document))
            outline.heading(bookmark.level, bookmark.name)
            begin = after
        outline.add(flowing(page[begin:], document))
    outermost = [each.name for each in bookmarks if each.level == 1]
    title = outermost[0] if len(outermost) == 1 else _metadata_title(reader)
    note = f"{unreadable} of {len(pages)} pages cannot be read" if unreadable else None
    return Extract(title, None, outline.sections(), note)


def _opened(content: bytes) -> PdfReader:
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    encrypted = DocumentUnreadable(
        "is encrypted with a password", "Save it without the password, and add that."
    )
    try:
        reader = PdfReader(io.BytesIO(content))
        # a PDF that only restricts printing opens with an empty password
        if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
            raise encrypted
        if not len(reader.pages):
            raise DocumentUnreadable("is a PDF without pages", _EXPORT_AGAIN)
    except (DependencyError, FileNotDecryptedError, NotImplementedError) as error:
        raise encrypted from error
    except PyPdfError as error:
        raise DocumentUnreadable("is a damaged PDF", _EXPORT_AGAIN) from error
    return reader


def _texts(reader: PdfReader) -> tuple[list[list[str]], int]:
    """The lines of every page, and how many pages hold something that cannot be read."""
    pages: list[list[str]] = []
    unreadable, size = 0, 0
    for page in reader.pages:
        try:
            text = page.extract_text()
        except (MemoryError, RecursionError):
            raise
        except Exception:  # noqa: BLE001 - pypdf raises anything on a damaged page; others are whole
            text = "\ufffd"
        if not is_readable(text) or (not text.strip() and _has_picture(page)):
            unreadable += 1
            text = ""
        size += len(text.encode(errors="replace"))
        if size > TEXT_BYTES:
            raise DocumentUnreadable(
                f"holds more than {TEXT_BYTES // 1024 // 1024} MiB of text", "Split it."
            )
        pages.append(page_lines(text))
    return pages, unreadable


def _has_picture(page: PageObject) -> bool:
    try:
        return "/XObject" in page["/Resources"]  # type: ignore[operator]
    except Exception:  # noqa: BLE001 - as above
        return False


def _bookmarks(reader: PdfReader) -> list[_Bookmark]:
    """All bookmarks in the order of the document; none where they are damaged."""
    try:
        found = list(_flat(reader, reader.outline, 1))
    except Exception:  # noqa: BLE001 - the pages can be read without them
        return []
    return sorted(found, key=lambda bookmark: bookmark.page)


def _flat(reader: PdfReader, items: Any, level: int) -> Iterator[_Bookmark]:
    for item in items[:_BOOKMARKS]:
        if isinstance(item, list):
            yield from _flat(reader, item, level + 1)
            continue
        page = reader.get_destination_page_number(item)
        name = " ".join(str(item.title or "").split())
        if page is not None and page >= 0 and name:
            yield _Bookmark(level, name, page)


def _place(name: str, lines: list[str], begin: int) -> tuple[int, int]:
    """Where a heading stands among the lines of its page: its first line and the one after it."""
    wanted = _letters(name)
    for first in range(begin, len(lines)):
        text = ""
        for after in range(first, min(first + _HEADING_LINES, len(lines))):
            text += _letters(lines[after])
            if text == wanted:
                return first, after + 1
            if not wanted.startswith(text):
                break
    return begin, begin


def _letters(text: str) -> str:
    return "".join(text.split()).casefold()


def _metadata_title(reader: PdfReader) -> str | None:
    try:
        known = reader.metadata
        title = " ".join(str(known.get("/Title") or "").split()) if known else ""
    except Exception:  # noqa: BLE001 - as above
        return None
    return None if not title or _NO_TITLE.match(title) else title
