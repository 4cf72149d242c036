"""The project's own files agree: pins cover the requirements, lint exceptions have reasons."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINS = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines()]


def requirements() -> Iterator[Requirement]:
    lists = [
        PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"].values(),
        *PROJECT["dependency-groups"].values(),
    ]
    for line in (line for lines in lists for line in lines if isinstance(line, str)):
        requirement = Requirement(line)
        if requirement.name != PROJECT["project"]["name"]:
            yield requirement


def test_every_requirement_is_pinned_to_a_version_that_it_allows() -> None:
    for requirement in requirements():
        name = canonicalize_name(requirement.name)
        pins = [pin for pin in PINS if canonicalize_name(pin.name) == name]
        versions = [next(iter(pin.specifier)).version for pin in pins]
        assert versions, f"{name} is not in constraints.txt; CONTRIBUTING.md says how to refresh it"
        assert all(requirement.specifier.contains(version) for version in versions)


def test_pins_are_exact_and_name_no_package_host() -> None:
    for pin in PINS:
        assert [specifier.operator for specifier in pin.specifier] == ["=="]
        assert pin.url is None


def test_every_exception_from_the_linter_has_its_reason_in_contributing() -> None:
    lint = PROJECT["tool"]["ruff"]["lint"]
    ignored = {
        *lint["ignore"],
        *(rule for rules in lint["per-file-ignores"].values() for rule in rules),
    }
    _, _, exceptions = (ROOT / "CONTRIBUTING.md").read_text().partition("## Exceptions")
    rows = re.findall(r"^\| (.*`.*) \| .+ \|$", exceptions, re.MULTILINE)
    assert {rule for row in rows for rule in re.findall(r"`(\w+)`", row)} == ignored
