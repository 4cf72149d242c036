"""The public surface: what `diagnosis` offers, loads late, documents, and leaves unimported."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import diagnosis

ROOT = Path(__file__).parents[1]
SOURCE = Path(diagnosis.__file__)
HEAVY = ("pydantic_ai", "chromadb", "pydantic_settings", "pydantic", "logfire", "rich", "typer")


def homes_for_type_checkers() -> dict[str, str]:
    """The names that the TYPE_CHECKING block imports, and from where."""
    (block,) = (
        node
        for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_names_are_sorted_and_unique() -> None:
    assert diagnosis.__all__ == sorted(set(diagnosis.__all__))


def test_the_three_lists_agree() -> None:
    assert homes_for_type_checkers() == diagnosis._HOMES
    assert sorted(diagnosis._HOMES) == diagnosis.__all__


@pytest.mark.parametrize("name", diagnosis.__all__)
def test_name_loads_from_where_it_is_defined(name: str) -> None:
    value = getattr(diagnosis, name)
    home = diagnosis._HOMES[name]
    assert value is getattr(importlib.import_module(home), name)
    assert getattr(value, "__module__", home) in {home, "types", "typing"}


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = diagnosis.nothing


def test_dir_lists_every_name() -> None:
    assert {*diagnosis.__all__} <= {*dir(diagnosis)}


@pytest.mark.parametrize("name", diagnosis.__all__)
def test_name_is_documented(name: str) -> None:
    value = getattr(diagnosis, name)
    for part in get_args(value) or (value,):  # RunEvent is a union
        assert (part.__doc__ or "").strip()
        # where there is no docstring, dataclasses write a signature there
        assert not part.__doc__.startswith(f"{part.__name__}(")
        for member, function in public_functions(part):
            assert inspect.getdoc(function), f"{name}.{member}"


def public_functions(value: object) -> Iterator[tuple[str, object]]:
    """The methods and properties that a class defines itself."""
    for member, defined in vars(value).items() if inspect.isclass(value) else ():
        function = getattr(defined, "fget", None) or getattr(defined, "__func__", defined)
        if inspect.isfunction(function) and not member.startswith("_"):
            yield member, getattr(value, member)


def test_reference_names_everything() -> None:
    text = (ROOT / "docs" / "reference" / "python-api.md").read_text(encoding="utf-8")
    assert [name for name in diagnosis.__all__ if name not in text] == []


@pytest.mark.parametrize("module", ["diagnosis", "diagnosis.cli.main"])
def test_importing_is_cheap(module: str) -> None:
    # not measured: coverage would import a good deal of the standard library first
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    code = f"import {module}, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    allowed = {"typer"} if module == "diagnosis.cli.main" else set()
    loaded = json.loads(done.stdout)
    assert module in loaded
    assert [name for name in HEAVY if name in loaded and name not in allowed] == []
