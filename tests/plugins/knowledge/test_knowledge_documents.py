"""What is found under the paths a user gives, and how it is read."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from diagnosis.plugin import SourceError
from diagnosis_knowledge.documents import (
    DOCUMENT_CHUNKS,
    DocumentReader,
    DocumentUnreadable,
    find_files,
    survey,
)
from diagnosis_knowledge.readers.sections import TEXT_BYTES


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_folder_gives_its_documents_by_relative_name_and_tells_of_the_rest(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "kb"
    for name in ("b.md", "net/a.txt", "net/deep/c.MD", "net/image.png", ".git/d.md", "x/.e.md"):
        write(folder / name, "text")
    for name in ("f.html", "g.HTM", "h.rst", "i.pdf", "j.docx", "k.tar.gz", "README"):
        write(folder / name, "text")
    found = survey([folder])
    assert [(file.source, file.folder) for file in found.files] == [
        ("b.md", None),
        ("f.html", None),
        ("g.HTM", None),
        ("h.rst", None),
        ("i.pdf", None),
        ("net/a.txt", "net"),
        ("net/deep/c.MD", "net"),
    ]
    assert [(file.source, file.reason) for file in found.skipped] == [
        ("README", "unknown kind"),
        ("j.docx", "a word processor's document: Export it as PDF or HTML, and add that."),
        ("k.tar.gz", "an archive: Unpack it, and add the folder."),
        ("net/image.png", "unknown kind .png"),
    ]


def test_a_file_named_itself_is_taken_whatever_its_suffix(tmp_path: Path) -> None:
    document = DocumentReader().read(find_files([write(tmp_path / "RUNBOOK", "restart it")])[0])
    assert (document.source, document.title) == ("RUNBOOK", "RUNBOOK")


def test_a_link_that_leads_out_of_the_folder_is_left_out(tmp_path: Path) -> None:
    outside = write(tmp_path / "secret.md", "secret")
    write(tmp_path / "kb/a.md", "text")
    (tmp_path / "kb/link.md").symlink_to(outside)
    found = survey([tmp_path / "kb"])
    assert [file.source for file in found.files] == ["a.md"]
    assert [(file.source, file.reason) for file in found.skipped] == [
        ("link.md", "a link that leads out of the folder")
    ]


def test_names_that_are_no_utf8_are_shown_as_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    for name in ("磁盘.md".encode("gb18030"), b"caf\xe9.md"):
        Path(os.fsdecode(folder + b"/" + name)).write_text("text")
    documents = DocumentReader().read_all([tmp_path])
    assert {document.source for document in documents} == {
        "磁盘.md",
        "caf\N{REPLACEMENT CHARACTER}.md",
    }
    assert {document.title for document in documents} == {"磁盘", "caf\N{REPLACEMENT CHARACTER}"}


def test_the_document_id_depends_on_the_source_name_alone(tmp_path: Path) -> None:
    one = find_files([write(tmp_path / "1/a.md", "one")])[0]
    two = find_files([write(tmp_path / "2/a.md", "two")])[0]
    assert one.document_id == two.document_id
    assert len(one.document_id) == 12


@pytest.mark.parametrize(
    ("content", "title", "category"),
    [
        ("# Heading\ntext", "Heading", "folder"),
        ("text", "a", "folder"),
        (
            "---\ntitle: 'Named'\ncategory: network\nowner: me\n---\n# Heading\nx",
            "Named",
            "network",
        ),
        ("---\ncategory:\n---\ntext", "a", "folder"),
        ("---\nno end of it\n# Heading\nx", "Heading", "folder"),
        ("\ufeff# Heading\r\ntext\r\n", "Heading", "folder"),
    ],
)
def test_title_and_category(tmp_path: Path, content: str, title: str, category: str) -> None:
    write(tmp_path / "kb/folder/a.md", content)
    document = DocumentReader().read(find_files([tmp_path / "kb"])[0])
    assert (document.title, document.category) == (title, category)
    assert "category:" not in "".join(chunk.text for chunk in document.chunks)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\0\0", "binary"),
        (b"caf\xe9", "neither UTF-8 nor GB18030"),
        (b"# a\nb\n\n" * (DOCUMENT_CHUNKS + 1), "more than 5000 passages"),
        (b"PK\x03\x04....word/document.xml", "an office document"),
        (b"PK\x03\x04....runbooks/a.md", "an archive"),
        (b"\x1f\x8b\x08\0", "an archive"),
        (b"\xd0\xcf\x11\xe0\0", "an office document"),
        (b" \n\n", "no text"),
        (b"x" * (TEXT_BYTES + 1), "larger than 4 MiB"),
    ],
)
def test_what_cannot_be_indexed_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    path = write(tmp_path / "a.md", content)
    with pytest.raises(DocumentUnreadable, match=reason) as caught:
        DocumentReader().read(find_files([path])[0])
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(SourceError, match=reason):
        DocumentReader().read_all([path])


def test_one_unreadable_file_of_a_folder_does_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path / "a.md", "text")
    write(tmp_path / "b.md", b"\0")
    assert [document.source for document in DocumentReader().read_all([tmp_path])] == ["a.md"]


def test_missing_paths_and_folders_without_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist") as caught:
        find_files([tmp_path / "missing"])
    assert caught.value.mend
    with pytest.raises(
        SourceError, match="holds no Markdown, text, HTML, PDF or reStructuredText file"
    ):
        find_files([tmp_path])


HTML = "<!doctype html><html><body><h1>Disk</h1><p>磁盘</p></body></html>"


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("page.md", HTML, "磁盘"),
        ("page", f"\n<!-- saved -->\n<?xml version='1.0'?>{HTML.upper()}", "磁盘"),
        ("page.pdf", HTML, "磁盘"),
        ("page.txt", HTML.encode("utf-16"), "磁盘"),
        ("part.html", "<p>磁盘</p>", "磁盘"),
        ("a.md", "<div align=center>\n\n# H\n\n`x`\n", "<div align=center>"),
        ("a.rst", "H\n=\n\n*x*", "x"),
        ("a.rest", "*x*", "x"),
        ("a.adoc", "*x*", "*x*"),
        ("a.txt", "磁盘空间不足，请检查日志".encode("gb18030"), "磁盘空间不足，请检查日志"),
        ("a.md", "# 磁盘\n空间".encode("utf-16"), "空间"),
        ("a.txt", "%PDF-1.7 is how a PDF begins", None),
        ("a.pdf", "no PDF at all", None),
    ],
)
def test_the_content_tells_the_kind_where_the_suffix_does_not(
    tmp_path: Path, name: str, content: str | bytes, text: str | None
) -> None:
    (file,) = find_files([write(tmp_path / name, content)])
    with DocumentReader() as reader:
        if text is None:
            with pytest.raises(DocumentUnreadable, match="PDF"):
                reader.read(file)
        else:
            assert reader.read(file).chunks[0].text == text


@pytest.mark.parametrize(
    "hostile",
    [
        "#" + " " * 1_000_000 + "x",
        "# a" + " #" * 500_000 + "x",
        "---\ntitle: a" + " " * 1_000_000 + "x\n---\ntext",
        "a\n" + "=" * 1_000_000 + " x",
        "`" * 1_000_000,
        "<!-- -->" * 100_000,
        "x" * 2_000_000,
        ". " * 1_000_000,
        "a\n" * 1_000_000,
    ],
)
@pytest.mark.timeout(20)  # what is quadratic takes an hour
def test_no_markdown_takes_long_to_read(tmp_path: Path, hostile: str) -> None:
    (file,) = find_files([write(tmp_path / "a.md", hostile)])
    with contextlib.suppress(DocumentUnreadable):
        DocumentReader().read(file)


def test_a_document_that_was_read_is_not_read_again(tmp_path: Path) -> None:
    (file,) = find_files([write(tmp_path / "a.html", HTML)])
    reader = DocumentReader()
    first = reader.read(file)
    assert reader.read(file) is first
    write(tmp_path / "a.html", HTML.replace("磁盘", "new"))
    assert reader.read(file).chunks[0].text == "new"
    reader.close()
    with pytest.raises(DocumentUnreadable, match="has ended"):
        reader.read(file)
