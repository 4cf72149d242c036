"""A file has at most 350 lines and a function at most 60, so that each holds one idea."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
FILE_LINES = 350
FUNCTION_LINES = 60


def too_long(source: Path) -> Iterator[str]:
    """Yield one line for each file and function under a folder that is too long."""
    for path in sorted(source.rglob("*.py")):
        where = path.relative_to(source).as_posix()
        text = path.read_text(encoding="utf-8")
        if (lines := len(text.splitlines())) > FILE_LINES:
            yield f"{where} has {lines} lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    yield f"{where}:{node.lineno} {node.name} has {lines} lines"


def test_no_file_or_function_of_the_source_is_too_long() -> None:
    assert list(too_long(SOURCE)) == []


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("\n" * FILE_LINES, []),
        ("\n" * (FILE_LINES + 1), ["a.py has 351 lines"]),
        ("def f():\n" + "  pass\n" * 59, []),
        ("def f():\n" + "  pass\n" * 60, ["a.py:1 f has 61 lines"]),
        ("class A:\n  async def f():\n" + "    pass\n" * 60, ["a.py:2 f has 61 lines"]),
    ],
)
def test_what_is_too_long_is_found(tmp_path: Path, text: str, problems: list[str]) -> None:
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    assert list(too_long(tmp_path)) == problems
