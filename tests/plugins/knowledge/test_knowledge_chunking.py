"""Chunks follow headings, keep code fences whole and stay within their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnosis_knowledge.chunking import CHUNK_BYTES, CODE_BYTES, Chunk, chunked
from diagnosis_knowledge.readers.text_readers import read_markdown, read_plain


def chunk_markdown(text: str, title: str) -> list[Chunk]:
    return list(chunked(read_markdown(text).sections, title))


def chunk_plain(text: str, title: str) -> list[Chunk]:
    return list(chunked(read_plain(text).sections, title))


CASES = {
    "a section is named by the headings above it": (
        "# 磁盘告警\n\n## 排查步骤\n\n### 步骤1: 查看\n看磁盘\n\n### 步骤2: 清理\n清理日志\n",
        [
            ("磁盘告警/排查步骤/步骤1: 查看", "看磁盘"),
            ("磁盘告警/排查步骤/步骤2: 清理", "清理日志"),
        ],
    ),
    "a heading of the same level ends the one before": (
        "# A\none\n## B\ntwo\n## C\nthree\n# D\nfour",
        [("A", "one"), ("A/B", "two"), ("A/C", "three"), ("D", "four")],
    ),
    "a skipped level is no level": (
        "# A\n### C\ntext\n## B\nmore",
        [("A/C", "text"), ("A/B", "more")],
    ),
    "text before the first heading belongs to the title": (
        "intro\n\n# A\ntext",
        [("TITLE", "intro"), ("A", "text")],
    ),
    "without headings the section is the title": ("just\ntext", [("TITLE", "just\ntext")]),
    "a comment in a fence is no heading": (
        "# A\n```bash\n# not a heading\nls\n```\n",
        [("A", "```bash\n# not a heading\nls\n```")],
    ),
    "a fence inside a list is one too": (
        "# A\n1. do\n   ```bash\n   # comment\n\n   ls\n   ```\n",
        [("A", "1. do\n\n   ```bash\n   # comment\n\n   ls\n   ```")],
    ),
    "a longer or other fence is not closed by a shorter one": (
        "# A\n````\n```\n# still code\n~~~\n````\n# B\ntext",
        [("A", "````\n```\n# still code\n~~~\n````"), ("B", "text")],
    ),
    "an open fence runs to the end": ("# A\n```\n# B\ncode", [("A", "```\n# B\ncode")]),
    "inline code of three backticks opens no fence": (
        "# A\n```code``` here\n# B\ntext",
        [("A", "```code``` here"), ("B", "text")],
    ),
    "a heading may be underlined": (
        "Title\n=====\none\n\nPart\n----\ntwo",
        [("Title", "one"), ("Title/Part", "two")],
    ),
    "a rule after a blank line or a list is no heading": (
        "# A\none\n\n---\n\n- item\n---\ntwo",
        [("A", "one\n\n---\n\n- item\n---\ntwo")],
    ),
    "closing marks are not part of a heading, seven marks are none": (
        "## A ##\none\n####### no\n#no",
        [("A", "one\n####### no\n#no")],
    ),
    "a heading without text gives no chunk": ("# A\n## B\n## C\ntext", [("A/C", "text")]),
    "an empty document gives none": ("\n  \n", []),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_markdown(text: str, expected: list[tuple[str, str]]) -> None:
    chunks = chunk_markdown(text, "TITLE")
    assert [(chunk.section, chunk.text) for chunk in chunks] == expected
    assert [chunk.ordinal for chunk in chunks] == list(range(len(expected)))


def test_a_long_section_is_cut_at_paragraph_borders() -> None:
    paragraphs = [f"paragraph {number} " + "word " * 60 for number in range(20)]
    chunks = chunk_markdown("# A\n\n" + "\n\n".join(paragraphs), "T")
    assert len(chunks) > 2
    assert all(chunk.section == "A" for chunk in chunks)
    joined = "\n\n".join(chunk.text for chunk in chunks).split("\n\n")
    assert joined == [paragraph.rstrip() for paragraph in paragraphs]


def test_a_long_chinese_paragraph_is_cut_after_sentences_and_nothing_is_lost() -> None:
    sentence = "数据库连接池耗尽时请先检查慢查询。"
    chunks = chunk_markdown("# A\n" + sentence * 100, "T")
    assert all(chunk.text.endswith("。") for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks) == sentence * 100


def test_a_fence_longer_than_a_chunk_stays_whole() -> None:
    fence = "```\n" + "# not a heading\n\n" * 200 + "```"
    chunks = chunk_markdown(f"# A\nbefore\n\n{fence}\n\nafter", "T")
    assert CHUNK_BYTES < len(fence.encode()) < CODE_BYTES
    assert any(fence in chunk.text for chunk in chunks)


def test_plain_text_has_no_headings_and_no_fences() -> None:
    chunks = chunk_plain("# a comment\n\n```\ntext", "notes")
    assert [(chunk.section, chunk.text) for chunk in chunks] == [
        ("notes", "# a comment\n\n```\ntext")
    ]


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab 磁盘。.\n#`~-=|*"), max_size=400), st.integers(1, 30))
def test_every_chunk_is_bounded_and_no_visible_character_is_lost(text: str, times: int) -> None:
    chunks = chunk_plain(text * times, "T")
    assert all(len(chunk.text.encode()) <= CHUNK_BYTES for chunk in chunks)
    kept = "".join("".join(chunk.text.split()) for chunk in chunks)
    assert kept == "".join((text * times).split())
    markdown = chunk_markdown(text * times, "T")
    assert all(len(chunk.text.encode()) <= CODE_BYTES for chunk in markdown)
    assert all(chunk.text.strip() for chunk in markdown)


def test_the_first_heading_is_the_first_of_level_one() -> None:
    assert read_markdown("## no\n\ntext\n\n# yes/no\n").title == "yes/no"
    assert read_markdown("```\n# no\n```\n").title is None
