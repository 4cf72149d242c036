"""Reads reStructuredText as docutils does; nothing is included, run or left out for being unknown.

Directives and roles of Sphinx and its extensions are unknown to docutils. Their text is kept: what
a directive holds is read on as text, and a role gives the text it marks. They are made known for
the process, so this belongs into one that only reads (`worker`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diagnosis_knowledge.readers.sections import Extract, Outline
from diagnosis_knowledge.readers.writing import fenced, in_backticks, table_lines

if TYPE_CHECKING:
    from docutils import nodes

_DIRECTIVE = re.compile(
    r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]{1,200}\|[ \t]+)?([\w.:+-]{1,80}?)::", re.MULTILINE
)
_ROLE = re.compile(r":([A-Za-z][\w.:+-]{0,80}):`|`:([A-Za-z][\w.:+-]{0,80}):")
_TARGET = re.compile(r"\s*<[^<>]*>\s*$", re.DOTALL)
_NO_TEXT = ("raw", "include", "toctree", "index", "contents", "meta")
_CODE_DIRECTIVES = ("code-block", "sourcecode", "highlight", "prompt", "literalinclude")
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,  # a docutils.conf lies in the folder the user happens to be in
    "warning_stream": False,
    "report_level": 5,
    "halt_level": 5,
    "doctitle_xform": False,
    "sectsubtitle_xform": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "input_encoding": "unicode",
    "traceback": True,
    "line_length_limit": 1_000_000,
}


def read_rst(text: str) -> Extract:
    """Sections by the section titles; title by the first; category by a field at the top."""
    from docutils.core import publish_doctree

    _make_known(text)
    tree = publish_doctree(text, settings_overrides=dict(_SETTINGS))
    fields = _top_fields(tree)
    outline = Outline()
    _read_children(outline, tree, 0)
    sections = outline.sections()
    return Extract(fields.get("title") or outline.title, fields.get("category"), sections)


def _top_fields(tree: nodes.document) -> dict[str, str]:
    from docutils import nodes

    return {
        field[0].astext().strip().lower(): " ".join(field[1].astext().split())
        for info in tree.findall(nodes.docinfo)
        for field in info.findall(nodes.field)
    }


def _read_children(outline: Outline, parent: nodes.Element, level: int) -> None:
    for child in parent.children:
        _read(outline, child, level)


def _read(outline: Outline, node: nodes.Node, level: int) -> None:
    from docutils import nodes

    if isinstance(node, nodes.section):
        _read_children(outline, node, level + 1)
    elif isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
        outline.heading(level, " ".join(node.astext().split()))
    elif isinstance(node, nodes.literal_block | nodes.doctest_block | nodes.math_block):
        outline.add(fenced(node.astext()), code=True)
    elif isinstance(node, nodes.system_message):
        # what could not be parsed is still something that was written
        for source in node.findall(nodes.literal_block):
            outline.add(source.astext())
    elif isinstance(
        node,
        nodes.comment
        | nodes.docinfo
        | nodes.decoration
        | nodes.substitution_definition
        | nodes.target
        | nodes.label,
    ):
        pass
    elif isinstance(
        node,
        nodes.bullet_list
        | nodes.enumerated_list
        | nodes.definition_list
        | nodes.field_list
        | nodes.option_list,
    ):
        _read_list(outline, node, level)
    elif isinstance(node, nodes.table):
        _read_table(outline, node)
    elif isinstance(node, nodes.TextElement | nodes.Text | nodes.line_block):
        outline.add(_inline(node))
    elif isinstance(node, nodes.image):
        outline.add(str(node.get("alt", "")))
    elif isinstance(node, nodes.Element):
        _read_children(outline, node, level)


def _read_list(outline: Outline, node: nodes.Element, level: int) -> None:
    """As lines of one block; items that hold code, tables or more are read one by one."""
    from docutils import nodes

    simple = not any(
        isinstance(each, nodes.literal_block | nodes.table | nodes.system_message)
        for each in node.findall()
    )
    if simple:
        outline.add("\n".join(_list_lines(node, "")))
        return
    for item, mark in _items(node):
        first, *rest = item.children or [nodes.paragraph()]
        if isinstance(first, nodes.TextElement) and not isinstance(first, nodes.literal_block):
            outline.add(f"{mark}{_inline(first)}")
        else:
            rest = [first, *rest]
            if not mark.startswith(("-", *"0123456789")):
                outline.add(mark.rstrip(": "))
        for child in rest:
            _read(outline, child, level)


def _items(node: nodes.Element) -> list[tuple[Any, str]]:
    """What holds the body of each item, and the mark, term or name before it."""
    from docutils import nodes

    found: list[tuple[Any, str]] = []
    for number, item in enumerate(node.children, int(node.get("start", 1))):
        if isinstance(item, nodes.definition_list_item):
            terms = ": ".join(" ".join(_inline(t).split()) for t in item.children[:-1])
            found.append((item.children[-1], f"{terms}: "))
        elif isinstance(item, nodes.field | nodes.option_list_item):
            found.append((item.children[1], f"{' '.join(item.children[0].astext().split())}: "))
        elif isinstance(item, nodes.Element):
            ordered = isinstance(node, nodes.enumerated_list)
            found.append((item, f"{number}. " if ordered else "- "))
    return found


def _list_lines(node: nodes.Element, indent: str) -> list[str]:
    from docutils import nodes

    lines: list[str] = []
    inner = indent + "  "
    for item, mark in _items(node):
        texts = [""]
        nested: list[str] = []
        for child in item.children:
            if isinstance(child, _lists()):
                nested += _list_lines(child, inner)
            elif not isinstance(child, nodes.comment | nodes.target):
                texts.append(" ".join(_inline(child).split()))
        lines.append(f"{indent}{mark}{' '.join(text for text in texts if text)}".rstrip())
        lines += nested
    return lines


def _lists() -> tuple[type[nodes.Element], ...]:
    from docutils import nodes

    return (
        nodes.bullet_list, nodes.enumerated_list, nodes.definition_list, nodes.field_list,
        nodes.option_list,
    )  # fmt: skip


def _read_table(outline: Outline, table: nodes.Element) -> None:
    from docutils import nodes

    titles = (" ".join(title.astext().split()) for title in table.findall(nodes.title))
    rows = (
        [" ".join(_inline(entry).split()) for entry in row.children]
        for row in table.findall(nodes.row)
    )
    outline.add("\n".join([*titles, *table_lines(rows)]))


def _inline(node: nodes.Node) -> str:
    """The text of a node, code in backticks as Markdown has it."""
    from docutils import nodes

    if isinstance(node, nodes.literal):
        return in_backticks(node.astext())
    if isinstance(node, nodes.image):
        return str(node.get("alt", ""))
    if isinstance(node, nodes.Text):
        return str(node.astext())
    if isinstance(node, nodes.Element):
        separator = "" if isinstance(node, nodes.TextElement) else "\n"
        return separator.join(map(_inline, node.children))
    return ""


# --- what docutils does not know -----------------------------------------------------------------


def _make_known(text: str) -> None:
    """Register every directive and role of a text that docutils does not know."""
    from docutils.parsers.rst import directives, roles
    from docutils.parsers.rst.languages import en
    from docutils.utils import new_document

    kept, code, without_text = _directive_classes()
    for name in _NO_TEXT:
        directives.register_directive(name, without_text)
    for name in _CODE_DIRECTIVES:
        directives.register_directive(name, code)
    english: Any = en  # mypy knows no docutils, and pyright knows it too narrowly
    plain: Any = _plain_role
    document = new_document("")
    for name in {match.lower() for match in _DIRECTIVE.findall(text)}:
        if directives.directive(name, english, document)[0] is None:
            directives.register_directive(name, kept)
    for match in _ROLE.findall(text):
        name = (match[0] or match[1]).lower()
        if roles.role(name, english, 0, document.reporter)[0] is None:
            roles.register_local_role(name, plain)


class _AnyOptions(dict[str, Any]):
    """Options of any name, each with any value."""

    def __missing__(self, _: str) -> Any:
        return str

    def __bool__(self) -> bool:
        return True


def _directive_classes() -> tuple[type, type, type]:
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class Kept(Directive):  # type: ignore[misc]
        """An unknown directive: its argument and its content are text."""

        optional_arguments = 1
        final_argument_whitespace = True
        has_content = True
        option_spec = _AnyOptions()

        def run(self) -> list[nodes.Node]:
            found: list[nodes.Node] = []
            if self.arguments:
                texts, messages = self.state.inline_text(self.arguments[0], self.lineno)
                found += [nodes.paragraph("", "", *texts), *messages]
            inside = nodes.container()
            self.state.nested_parse(self.content, self.content_offset, inside)
            return [*found, inside]

    class Code(Kept):
        """A directive whose content is code."""

        def run(self) -> list[nodes.Node]:
            caption = self.options.get("caption") or ""
            text = "\n".join(self.content)
            return [nodes.paragraph("", caption), nodes.literal_block(text, text)]

    class WithoutText(Kept):
        """A directive that holds nothing to be read, or what must not be."""

        def run(self) -> list[nodes.Node]:
            return []

    return Kept, Code, WithoutText


def _plain_role(
    _name: str, raw: str, text: str, _line: int, _inliner: Any, **_: Any
) -> tuple[Sequence[nodes.Node], Sequence[nodes.Node]]:
    """An unknown role: the text it shows, without the target."""
    from docutils import nodes
    from docutils.utils import unescape

    shown = _TARGET.sub("", unescape(text)) or text
    return [nodes.inline(raw, shown.lstrip("~!"))], []
