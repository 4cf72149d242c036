"""reStructuredText is read whole, whatever directives and roles it uses; nothing is included."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from diagnosis_knowledge.readers.rst_reader import read_rst
from diagnosis_knowledge.readers.sections import Extract


def texts(extract: Extract) -> list[str]:
    return [block.text for section in extract.sections for block in section.blocks]


CASES = {
    "paragraphs and inline markup": ("a *b* **c** ``d``\n\ne", ["a b c `d`", "e"]),
    "a literal block": ("run::\n\n    df -h\n      x", ["run:", "```\ndf -h\n  x\n```"]),
    "a code block with Sphinx options": (
        ".. code-block:: bash\n   :linenos:\n   :caption: Free it\n   :emphasize-lines: 1\n\n   df",
        ["Free it", "```\ndf\n```"],
    ),
    "lists": ("* a\n* b\n\n  - c\n\n3. d\n4. e", ["- a\n- b\n  - c", "3. d\n4. e"]),
    "a list of which items hold code": (
        "1. first::\n\n      x\n\n2. second",
        ["1. first:", "```\nx\n```", "2. second"],
    ),
    "definitions and fields": (
        "RTO\n    time *to* recover\n\n:owner: me",
        ["RTO: time to recover", "owner: me"],
    ),
    "a table": (
        "=== ===\na   b\n=== ===\n1   ``2``\n=== ===",
        ["| a | b |\n| --- | --- |\n| 1 | `2` |"],
    ),
    "a list table": (
        ".. list-table:: T\n   :header-rows: 1\n\n   * - a\n     - b\n   * - 1\n     - 2",
        ["T\n| a | b |\n| --- | --- |\n| 1 | 2 |"],
    ),
    "an admonition": (".. warning::\n\n   Mind the *gap*.", ["Mind the gap."]),
    "a quotation and line block": ("    quoted\n\n| one\n| two", ["quoted", "one\ntwo"]),
    "an unknown directive's argument and content": (
        ".. versionadded:: 1.2\n   Now *faster*.",
        ["1.2\nNow faster."],
    ),
    "an unknown directive with options": (
        ".. card:: See :term:`this`\n   :link: x\n\n   Inside.\n\n   .. tab:: Two\n\n      Deep.",
        ["See this", "Inside.", "Two", "Deep."],
    ),
    "a directive of a domain": (".. py:function:: f(x)\n   :noindex:\n\n   Doc.", ["f(x)", "Doc."]),
    "unknown roles": (
        "see :ref:`the page <rotation>`, :doc:`/x`, :py:func:`~os.path.join` and `x`:custom:",
        ["see the page, /x, os.path.join and x"],
    ),
    "a known directive with an unknown option": (
        ".. figure:: a.png\n   :nope: 1\n\n   The caption",
        [".. figure:: a.png\n   :nope: 1\n\n   The caption"],
    ),
    "what is broken": ("*open and |undefined| and `bad <", ["*open and |undefined| and `bad <"]),
    "a picture is its description": (".. image:: x.png\n   :alt: the dashboard", ["the dashboard"]),
    "comments, navigation and targets": (
        ".. a comment\n\n.. _target:\n\n.. toctree::\n   :maxdepth: 2\n\n   install\n\ntext",
        ["text"],
    ),
    "a substitution": (".. |p| replace:: production\n\nOn |p|.", ["On production."]),
    "a footnote": ("Text [#a]_.\n\n.. [#a] Noted.", ["Text 1.", "Noted."]),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    source, expected = CASES[name]
    assert texts(read_rst(source)) == expected


def test_titles_make_sections() -> None:
    extract = read_rst(
        textwrap.dedent("""\
        intro

        磁盘满
        ======
        a

        Do ``this``
        -----------
        b

        Now
        ~~~
        c

        End
        ---
        d
        """)
    )
    assert [section.headings for section in extract.sections] == [
        (),
        ("磁盘满",),
        ("磁盘满", "Do this"),
        ("磁盘满", "Do this", "Now"),
        ("磁盘满", "End"),
    ]
    assert extract.title == "磁盘满"


def test_fields_at_the_top_name_title_and_category() -> None:
    extract = read_rst(":title: Named\n:category: net\n:author: me\n\nHeading\n=======\ntext")
    assert (extract.title, extract.category) == ("Named", "net")
    assert texts(extract) == ["text"]


@pytest.mark.parametrize(
    "directive",
    [
        ".. include:: {path}",
        ".. literalinclude:: {path}",
        ".. csv-table:: T\n   :file: {path}",
        ".. raw:: html\n   :file: {path}",
        ".. raw:: html\n\n   <b>secret</b>",
        ".. |x| raw:: html\n   :file: {path}\n\n|x|",
    ],
)
def test_no_other_file_comes_in(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], directive: str
) -> None:
    path = tmp_path / "other.txt"
    path.write_text("secret")
    found = read_rst("before\n\n" + directive.format(path=path) + "\n\nafter")
    assert "secret" not in "\n".join(texts(found))
    assert (texts(found)[0], texts(found)[-1]) == ("before", "after")
    assert capfd.readouterr() == ("", "")


def test_no_configuration_is_taken_from_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docutils.conf").write_text("[general]\nfile_insertion_enabled: yes\n")
    (tmp_path / "x.txt").write_text("secret")
    monkeypatch.chdir(tmp_path)
    assert "secret" not in "\n".join(texts(read_rst("a\n\n.. csv-table::\n   :file: x.txt\n\nb")))


def test_one_document_teaches_the_next_one_nothing() -> None:
    read_rst(".. default-role:: math\n\n`x`")
    assert texts(read_rst("`x`")) == ["x"]
