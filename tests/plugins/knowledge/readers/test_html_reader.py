"""HTML is read as a person reads the page."""

from __future__ import annotations

import pytest

from diagnosis_knowledge.readers.html_reader import read_html
from diagnosis_knowledge.readers.sections import DocumentUnreadable, Extract


def page(body: str, head: str = "") -> Extract:
    return read_html(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode())


def texts(extract: Extract) -> list[str]:
    return [block.text for section in extract.sections for block in section.blocks]


CASES = {
    "paragraphs, white space and entities": (
        "<p>a &amp;\n  b&nbsp;c &lt;d&gt;</p>\n<p>e</p>",
        ["a & b c <d>", "e"],
    ),
    "a line break": ("<p>one<br>two<br/>three</p>", ["one\ntwo\nthree"]),
    "a line end between Chinese characters is no space": ("<p>磁盘\n 空间</p>", ["磁盘空间"]),
    "text of inline elements": ("<p>a <b>b</b><i>c</i> <a href='x'>d</a></p>", ["a bc d"]),
    "code in a sentence": ("<p>run <code>df\n -h</code> now</p>", ["run `df -h` now"]),
    "code": (
        "<pre><code>df -h\n  du &gt; x\n</code></pre>",
        ["```\ndf -h\n  du > x\n```"],
    ),
    "code that holds a fence": ("<pre>```\nx\n```</pre>", ["````\n```\nx\n```\n````"]),
    "highlighted code": (
        "<pre><span class=k>if</span> <span>x</span>:\n    y</pre>",
        ["```\nif x:\n    y\n```"],
    ),
    "lists": (
        "<ul><li>a</li><li>b <ul><li>c</li></ul></li></ul><ol><li>d<li>e</ol>",
        ["- a\n- b\n  - c", "1. d\n2. e"],
    ),
    "a list of which items hold code": (
        "<ol><li><p>first</p><pre>x</pre></li><li>second</li></ol>",
        ["1. first", "```\nx\n```", "2. second"],
    ),
    "terms and definitions": (
        "<dl><dt>RTO</dt><dd>time to recover</dd><dt>RPO<dd><p>data lost</p></dl>",
        ["RTO: time to recover", "RPO: data lost"],
    ),
    "a term without a definition": ("<dl><dt>alone</dt></dl><p>x</p>", ["alone", "x"]),
    "a table": (
        "<table><caption>T</caption><tr><th>a<th>b</tr><tr><td>1</td><td>2 | 3</td></tr></table>",
        ["T\n| a | b |\n| --- | --- |\n| 1 | 2 / 3 |"],
    ),
    "a table that only lays out": (
        "<table><tr><td><h2>H</h2><p>text</p></td></tr></table>",
        ["text"],
    ),
    "a picture is its description": (
        "<p>see <img src=x alt='the dashboard'></p>",
        ["see the dashboard"],
    ),
    "end tags left out": ("<p>one<p>two<ul><li>a<li>b</ul>", ["one", "two", "- a\n- b"]),
    "inline elements around blocks": ("<a href=x><div>in</div>after</a>", ["in", "after"]),
    "what is not shown": (
        "<script>no()</script><style>no{}</style><template>no</template><!-- no -->"
        "<div hidden>no</div><p style='display: none'>no</p><span aria-hidden=true>no</span>"
        "<svg><title>no</title></svg><p>yes</p><noscript>no</noscript>",
        ["yes"],
    ),
    "what leads elsewhere": (
        "<nav>no</nav><div role=navigation>no</div><button>no</button><p>yes</p>",
        ["yes"],
    ),
    "the main part": ("<div>menu</div><main><p>yes</p></main><footer>no</footer>", ["yes"]),
    "an empty main part": ("<main></main><p>yes</p>", ["yes"]),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    body, expected = CASES[name]
    assert texts(page(body)) == expected


def test_headings_make_sections() -> None:
    extract = page(
        "<p>intro</p><h1>Disk <em>full</em><a class=headerlink href=#a>¶</a></h1><p>a</p>"
        "<section><h2>Do <code>this</code></h2><p>b</p><h3>Now</h3><p>c</p></section><h2>End</h2>d",
        head="<title>Wiki - Disk</title>",
    )
    assert [section.headings for section in extract.sections] == [
        (),
        ("Disk full",),
        ("Disk full", "Do this"),
        ("Disk full", "Do this", "Now"),
        ("Disk full", "End"),
    ]
    assert extract.title == "Disk full"


def test_title_and_category() -> None:
    extract = page("<h2>x</h2>y", head="<title> A\n page </title><meta name=category content=net>")
    assert (extract.title, extract.category) == ("A page", "net")
    assert page("x").title is None


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("gb18030", "<meta charset='gb2312'>"),
        ("gbk", '<meta http-equiv="Content-Type" content="text/html; charset=GBK">'),
        ("gb18030", ""),
        ("utf-8", "<meta charset=utf-8>"),
        ("utf-8", ""),
        ("utf-8", "<meta charset=gbk>" + "é" * 3),  # it lies
        ("big5", "<meta charset=big5>"),
        ("utf-16", ""),
        ("utf-8-sig", "<meta charset=gb2312>"),
        ("utf-8", "<meta charset=rot13>"),
        ("utf-8", "<meta charset=no-such-thing>"),
    ],
)
def test_the_encoding_is_marked_declared_or_told_from_the_text(
    encoding: str, declared: str
) -> None:
    text = "服務器的磁盤空間" if encoding == "big5" else "服务器的磁盘空间不足时检查日志"
    content = f"<html><head>{declared}</head><body><p>{text}</p></body></html>".encode(encoding)
    assert texts(read_html(content))[-1] == text


def test_latin_text_needs_to_be_declared() -> None:
    assert texts(read_html("<meta charset=iso-8859-1><p>déjà “vu”</p>".encode("cp1252"))) == [
        "déjà “vu”"
    ]
    with pytest.raises(DocumentUnreadable, match="neither UTF-8 nor GB18030"):
        read_html("<p>déjà vu, café</p>".encode("cp1252"))


def test_a_deep_page_is_read_to_its_end() -> None:
    depth = 3_000
    assert texts(page("<div>" * depth + "deep" + "</div>" * depth)) == ["deep"]
    assert texts(page("<p>" + "<b>" * depth + "deep" + "</b>" * depth)) == ["deep"]
    assert "deep" in "".join(texts(page("<ul><li>" * 300 + "deep")))


@pytest.mark.parametrize("content", [b"<html>", b"", b"<html><script>x</script>"])
def test_a_page_without_text_has_no_sections(content: bytes) -> None:
    assert read_html(content).sections == ()
