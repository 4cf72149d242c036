"""PDF: its text in reading order, in sections by bookmarks or pages; and why one is refused."""

from __future__ import annotations

import io
from typing import Any

import pytest
from pypdf import PdfReader, PdfWriter

from diagnosis_knowledge.readers.pdf_reader import read_pdf
from diagnosis_knowledge.readers.pdf_text import is_readable, page_lines, without_running_heads
from diagnosis_knowledge.readers.sections import DocumentUnreadable, Extract


def texts(extract: Extract) -> list[str]:
    return [block.text for section in extract.sections for block in section.blocks]


def test_bookmarks_make_sections(pdf: Any) -> None:
    extract = read_pdf(
        bytes(
            pdf(
                [
                    ["Front", "Disk full", "Old logs.", "First aid", "Delete them."],
                    ["and rotate.", "A heading that goes", "over two lines", "More."],
                    ["Not named here."],
                ],
                [
                    (1, "Disk full", 0),
                    (2, "First aid", 0),
                    (2, "A heading that goes over two lines", 1),
                    (1, "Bookmark without its line", 2),
                ],
            )
        )
    )
    assert [
        (section.headings, [b.text for b in section.blocks]) for section in extract.sections
    ] == [
        ((), ["Front"]),
        (("Disk full",), ["Old logs."]),
        (("Disk full", "First aid"), ["Delete them.", "and rotate."]),
        (("Disk full", "A heading that goes over two lines"), ["More."]),
        (("Bookmark without its line",), ["Not named here."]),
    ]
    assert extract.title is None, "two bookmarks of level one: neither is the title"


def test_without_bookmarks_pages_are_sections(pdf: Any) -> None:
    extract = read_pdf(bytes(pdf([["a"], [], ["b"]])))
    assert [section.headings for section in extract.sections] == [("page 1",), ("page 3",)]
    assert extract.note is None


@pytest.mark.parametrize(
    ("bookmarks", "metadata", "title"),
    [
        ([(1, "The book", 0), (2, "Part", 0)], "Other", "The book"),
        ([], "磁盘 手册", "磁盘 手册"),
        ([], "Microsoft Word - disk.docx", None),
        ([], "disk.pdf", None),
        ([], "", None),
    ],
)
def test_title(pdf: Any, bookmarks: Any, metadata: str, title: str | None) -> None:
    assert read_pdf(bytes(pdf([["text"]], bookmarks, title=metadata))).title == title


def test_lines_that_the_page_broke_are_joined(pdf: Any) -> None:
    extract = read_pdf(
        bytes(
            pdf(
                [
                    [
                        "The connec-",
                        "tion pool is read-only while it is read-",
                        "only again.",
                        "磁盘空间不足时应用无法写入新的数据，日志也无法记",
                        "录，应当立即清理。",
                        "短行",
                        "下一段",
                    ]
                ]
            )
        )
    )
    assert texts(extract) == [
        "The connection\npool is read-only while it is read-only\nagain.\n"
        "磁盘空间不足时应用无法写入新的数据，日志也无法记录，应当立即清理。\n短行\n下一段"
    ]


def test_running_heads_and_page_numbers_are_left_out(pdf: Any) -> None:
    pages = [["Runbook v1", f"text {number}x", f"Page {number} of 4"] for number in range(1, 5)]
    assert texts(read_pdf(bytes(pdf(pages)))) == ["text 1x", "text 2x", "text 3x", "text 4x"]


def test_first_lines_that_count_are_headings_and_a_lone_line_is_text() -> None:
    pages = [[f"Step {number}", word] for number, word in enumerate("abcd")] + [["1"]] * 4
    assert without_running_heads(pages) == pages


def test_spaces_between_chinese_characters_and_invisible_ones_go() -> None:
    assert page_lines("磁 盘 空 间 不 足 df -h\nof\ufb01ce\u00a0so\u00adft\x00\n\n") == [
        "磁盘空间不足 df -h",
        "office soft",
    ]
    assert page_lines("磁盘 空间") == ["磁盘 空间"]


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("正常的文字 and words 50%", True),
        ("/usr/local/bin/x /etc/y", True),
        ("\ufffd\ufffd\ufffd a", False),
        ("\ue001\ue002\ue003 text", False),
        ("/g12/g34/g7/g8/g90/g11", False),
        ("(cid:12)(cid:3)(cid:40)(cid:5)(cid:6)", False),
        ("", True),
    ],
)
def test_numbers_of_glyphs_are_no_text(text: str, readable: bool) -> None:
    assert is_readable(text) is readable


def test_a_page_that_cannot_be_read_is_told_of(pdf: Any) -> None:
    pages = [["page one"], ["\ufffd\ufffd\ufffd"], ["page three"]]
    assert read_pdf(bytes(pdf(pages))).note == "1 of 3 pages cannot be read"


@pytest.mark.parametrize("made", [{"pages": [[]], "picture": True}, {"pages": [[], []]}])
def test_scanned_pages_hold_no_text(pdf: Any, made: dict[str, Any]) -> None:
    with pytest.raises(DocumentUnreadable, match="no text that can be read") as caught:
        read_pdf(bytes(pdf(**made)))
    assert "OCR" in str(caught.value.mend)


def encrypted(content: bytes, user_password: str) -> bytes:
    writer = PdfWriter(PdfReader(io.BytesIO(content)))
    writer.encrypt(user_password, "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_password_to_open_it_is_told(pdf: Any) -> None:
    with pytest.raises(DocumentUnreadable, match="encrypted with a password"):
        read_pdf(encrypted(bytes(pdf([["text"]])), "secret"))


def test_a_pdf_that_restricts_printing_only_is_read(pdf: Any) -> None:
    assert texts(read_pdf(encrypted(bytes(pdf([["text"]])), ""))) == ["text"]


def test_junk_before_and_after_is_no_harm(pdf: Any) -> None:
    content = bytes(pdf([["text"]]))
    assert texts(read_pdf(b"\n" + content + b"\n<!-- tail -->\n")) == ["text"]


def test_a_damaged_table_of_places_is_rebuilt(pdf: Any) -> None:
    content = bytes(pdf([["text"]])).replace(b"startxref\n", b"startxref\n9")
    assert texts(read_pdf(content)) == ["text"]


def test_bookmarks_that_turn_in_a_circle_do_not_hide_the_text(pdf: Any) -> None:
    content = bytes(pdf([["text"]], [(1, "a", 0), (1, "b", 0)]))
    second = content.rindex(b"/Title <FEFF0062>")
    own = (
        content[content.rindex(b"\n", 0, second - 3) - 10 : second].split(b" 0 obj")[0].split()[-1]
    )
    circle = content.replace(b"/Title <FEFF0062>", b"/Title <FEFF0062> /Next " + own + b" 0 R")
    assert "text" in texts(read_pdf(circle))
