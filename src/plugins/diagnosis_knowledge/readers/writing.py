"""How code and tables are written in passages, whatever the document's format: as Markdown does."""

from __future__ import annotations

import re
from collections.abc import Iterable


def fenced(code: str) -> str:
    """Code between fences that it does not hold itself; nothing where there is none."""
    code = code.strip("\n").rstrip()
    if not code:
        return ""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{code}\n{fence}"


def in_backticks(code: str) -> str:
    """A word of code inside a sentence."""
    code = " ".join(code.split())
    return f"`{code}`" if code and "`" not in code else code


def table_lines(rows: Iterable[list[str]]) -> Iterable[str]:
    """The rows of a table whose first one is its head; rows without text are left out."""
    width = None
    for cells in rows:
        if not any(cells):
            continue
        yield _row(cells)
        if width is None:
            width = len(cells)
            yield _row(["---"] * width)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
