"""Reads Markdown and plain text.

Code fences are read as CommonMark reads them: what looks like a heading inside one is not one.
"""

from __future__ import annotations

import re

from diagnosis_knowledge.readers.sections import Extract, Outline

_ATX_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_ATX_END = re.compile(r"(?:^|[ \t])#+$")
_SETEXT_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)$")
_NOT_A_PARAGRAPH = re.compile(r"\s*(?:[-*+>|]|\d+[.)])(?:\s|$)|\s*\|")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_MATTER_LINE = re.compile(r"(title|category)[ \t]*:(.*)$")


def read_markdown(text: str) -> Extract:
    """Sections by the headings; title and category by the front matter, else the first heading."""
    entries: dict[str, str] = {}
    if match := _FRONT_MATTER.match(text):
        entries = _front_matter(match[1] or "")
        text = text[match.end() :]
    outline = Outline()
    body: list[str] = []
    fence: str | None = None
    for line in text.splitlines():
        if fence is not None:
            body.append(line)
            fence = None if _closes(line, fence) else fence
            continue
        fence = _opens(line)
        heading = None if fence else _heading(line, body)
        if heading is None:
            body.append(line)
            continue
        level, name, underlined = heading
        if underlined:
            body.pop()
        _add_blocks(outline, body)
        body = []
        outline.heading(level, name)
    _add_blocks(outline, body)
    return Extract(
        entries.get("title") or outline.title, entries.get("category"), outline.sections()
    )


def read_plain(text: str) -> Extract:
    """Paragraphs in one section; nothing in plain text is a heading."""
    outline = Outline()
    for paragraph in re.split(r"\n[ \t]*\n", "\n".join(text.splitlines())):
        outline.add(paragraph)
    return Extract(None, None, outline.sections())


def _front_matter(block: str) -> dict[str, str]:
    entries: dict[str, str] = {}
    for line in block.splitlines():
        if match := _FRONT_MATTER_LINE.match(line):
            value = match[2].strip().strip("\"'").strip()
            if value:
                entries[match[1]] = value
    return entries


def _heading(line: str, body: list[str]) -> tuple[int, str, bool] | None:
    """(level, name, whether the name is the last line of the body) of a heading, or None."""
    if match := _ATX_HEADING.match(line):
        return len(match[1]), _ATX_END.sub("", (match[2] or "").strip()).rstrip(), False
    underline = _SETEXT_UNDERLINE.match(line.rstrip())
    if underline is None or not body or not body[-1].strip():
        return None
    one_line = len(body) == 1 or not body[-2].strip()
    if not one_line or _NOT_A_PARAGRAPH.match(body[-1]) or body[-1].startswith("    "):
        return None
    return (1 if underline[1][0] == "=" else 2), body[-1].strip(), True


def _opens(line: str) -> str | None:
    match = _FENCE.match(line)
    if match is None or (match[1][0] == "`" and "`" in match[2]):
        return None  # ```like this``` is inline code
    return match[1]


def _closes(line: str, fence: str) -> bool:
    match = _FENCE.match(line)
    return (
        match is not None
        and match[1][0] == fence[0]
        and len(match[1]) >= len(fence)
        and not match[2].strip()
    )


def _add_blocks(outline: Outline, lines: list[str]) -> None:
    """Paragraphs and whole code fences, in order."""
    current: list[str] = []
    fence: str | None = None
    for line in lines:
        if fence is not None:
            current.append(line)
            if _closes(line, fence):
                outline.add("\n".join(current), code=True)
                current, fence = [], None
            continue
        fence = _opens(line)
        if fence is not None or not line.strip():
            outline.add("\n".join(current))
            current = []
        if fence is not None or line.strip():
            current.append(line)
    outline.add("\n".join(current), code=fence is not None)
