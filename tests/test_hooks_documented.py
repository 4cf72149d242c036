"""Every hook is documented, with its parameters and what it returns, and implemented somewhere."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from diagnosis.plugin import hookspecs
from diagnosis.plugin.manager import make_plugin_manager

ROOT = Path(__file__).parents[1]
HOOKS: dict[str, Callable[..., Any]] = {
    name: function
    for name, function in vars(hookspecs).items()
    if inspect.isfunction(function) and hasattr(function, f"{hookspecs.PROJECT}_spec")
}


def _implementations(folder: Path) -> Iterator[tuple[str, Path]]:
    """Names of functions decorated with `@hookimpl`, wherever they are defined."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                marks = [ast.unparse(mark).partition("(")[0] for mark in node.decorator_list]
                if any(mark.rpartition(".")[2] == "hookimpl" for mark in marks):
                    yield node.name, path


@pytest.fixture(scope="module")
def implemented() -> dict[str, set[Path]]:
    found: dict[str, set[Path]] = {}
    for folder in (ROOT / "src" / "plugins", ROOT / "tests"):
        for name, path in _implementations(folder):
            found.setdefault(name, set()).add(path)
    return found


def test_the_hooks_are_those_that_the_manager_knows() -> None:
    manager = make_plugin_manager()
    assert set(HOOKS) == {name for name in vars(manager.hook) if not name.startswith("_")}
    assert all(name.startswith(f"{hookspecs.PROJECT}_") for name in HOOKS)


@pytest.mark.parametrize("name", HOOKS)
def test_its_documentation_begins_with_what_it_returns(name: str) -> None:
    documentation = inspect.getdoc(HOOKS[name]) or ""
    assert re.match(r"Return .+\.$", documentation.split("\n\n")[0], re.DOTALL)


@pytest.mark.parametrize("name", HOOKS)
def test_its_documentation_describes_exactly_its_parameters(name: str) -> None:
    documentation = inspect.getdoc(HOOKS[name]) or ""
    _, _, arguments = documentation.partition("\nArgs:\n")
    arguments = arguments.partition("\n\n")[0]
    described = re.findall(r"^    (\w+): \S", arguments, re.MULTILINE)
    assert described == list(inspect.signature(HOOKS[name]).parameters)


@pytest.mark.parametrize("name", HOOKS)
def test_a_plugin_or_a_test_implements_it(name: str, implemented: dict[str, set[Path]]) -> None:
    assert implemented.get(name)
