"""What is found under the paths a user gives, and how it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnosis.plugin import SourceError
from diagnosis_knowledge.documents import (
    DOCUMENT_BYTES,
    DocumentUnreadable,
    find_files,
    read_all,
    read_document,
)


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_folder_gives_its_markdown_and_text_files_by_relative_name(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    for name in ("b.md", "net/a.txt", "net/deep/c.MD", "net/image.png", ".git/d.md", "x/.e.md"):
        write(folder / name, "text")
    found = find_files([folder])
    assert [(file.source, file.folder) for file in found] == [
        ("b.md", None),
        ("net/a.txt", "net"),
        ("net/deep/c.MD", "net"),
    ]


def test_a_file_named_itself_is_taken_whatever_its_suffix(tmp_path: Path) -> None:
    document = read_document(find_files([write(tmp_path / "RUNBOOK", "restart it")])[0])
    assert (document.source, document.title) == ("RUNBOOK", "RUNBOOK")


def test_a_link_that_leads_out_of_the_folder_is_left_out(tmp_path: Path) -> None:
    outside = write(tmp_path / "secret.md", "secret")
    write(tmp_path / "kb/a.md", "text")
    (tmp_path / "kb/link.md").symlink_to(outside)
    assert [file.source for file in find_files([tmp_path / "kb"])] == ["a.md"]


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
    document = read_document(find_files([tmp_path / "kb"])[0])
    assert (document.title, document.category) == (title, category)
    assert "category:" not in "".join(chunk.text for chunk in document.chunks)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\0\0", "binary"),
        (b"caf\xe9", "UTF-8"),
        (b" \n\n", "no text"),
        (b"x" * (DOCUMENT_BYTES + 1), "larger than 4 MiB"),
    ],
)
def test_what_cannot_be_indexed_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    path = write(tmp_path / "a.md", content)
    with pytest.raises(DocumentUnreadable, match=reason) as caught:
        read_document(find_files([path])[0])
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(SourceError, match=reason):
        read_all([path])


def test_one_unreadable_file_of_a_folder_does_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path / "a.md", "text")
    write(tmp_path / "b.md", b"\0")
    assert [document.source for document in read_all([tmp_path])] == ["a.md"]


def test_missing_paths_and_folders_without_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist") as caught:
        find_files([tmp_path / "missing"])
    assert caught.value.mend
    with pytest.raises(SourceError, match="holds no Markdown or text file"):
        find_files([tmp_path])
