"""The documentation is true: its Python runs, its data parses, its tables match the code."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from diagnosis import errors
from diagnosis.contracts.evidence import ErrorCode
from diagnosis.contracts.release import DiagnosisOutcome, FallbackType
from diagnosis.contracts.run import EndReason, RunLimits
from diagnosis.plugin.hookspecs import PROJECT
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_logs.settings import LogsSettings
from diagnosis_mysql.settings import MysqlSettings

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
RECORD_ONLY = {ErrorCode.PROTOCOL_VIOLATION, ErrorCode.STOP_DELIVERED, ErrorCode.ABORTED}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def pages_with(language: str) -> list[Any]:
    return [
        pytest.param(page, id=page.relative_to(DOCS).as_posix())
        for page in PAGES
        if blocks(page, language)
    ]


def table(page: str, heading: str) -> dict[str, list[str]]:
    """Return the rows of the first table below a heading, keyed by their first cell's code."""
    _, _, below = (DOCS / page).read_text().partition(f"{heading}\n")
    first = re.search(r"(?:^\|.*\|\n)+", below, re.MULTILINE)
    assert first, f"no table below {heading} of {page}"
    lines = first[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0].strip("`"): row[1:] for row in rows}


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_on_a_page_runs_from_top_to_bottom(page: Path) -> None:
    names: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", pages_with("toml"))
def test_toml_on_a_page_parses(page: Path) -> None:
    assert all(tomllib.loads(block) for block in blocks(page, "toml"))


def test_the_plugin_how_to_names_the_group_that_plugins_are_looked_up_in() -> None:
    (package,) = blocks(DOCS / "how-to/write-an-evidence-plugin.md", "toml")
    assert list(tomllib.loads(package)["project"]["entry-points"]) == [PROJECT]


def test_limits_are_documented_with_their_defaults() -> None:
    documented = {name: row[0] for name, row in table("reference/settings.md", "of a run").items()}
    assert documented == {name: f"{value}" for name, value in RunLimits().model_dump().items()}


@pytest.mark.parametrize(
    ("name", "model"),
    [("logs", LogsSettings), ("knowledge", KnowledgeSettings), ("mysql", MysqlSettings)],
)
def test_plugin_settings_are_documented_with_their_defaults(
    name: str, model: type[BaseModel]
) -> None:
    documented = table("reference/settings.md", f"### `[plugins.{name}]`")
    assert documented.keys() == model.model_fields.keys()
    for setting, field in model.model_fields.items():
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            assert float(documented[setting][0]) == field.default


def test_codes_that_the_agent_may_see_are_documented() -> None:
    documented = table("reference/errors.md", "of a failed call")
    assert documented.keys() == {*ErrorCode} - RECORD_ONLY


def test_errors_that_end_a_run_are_documented_with_an_end_reason() -> None:
    documented = table("reference/errors.md", "## For applications")
    assert documented.keys() == {kind.__name__ for kind in errors.RunTerminated.__subclasses__()}
    reasons = [row[0].strip("`") for row in documented.values()]
    assert all(reason in {*EndReason} for reason in reasons if reason.isupper())


def test_errors_for_people_are_documented() -> None:
    kinds: list[type] = [errors.ConfigurationError, *errors.ConfigurationError.__subclasses__()]
    own = {kind.__name__ for kind in kinds if kind.__module__ == errors.__name__}
    assert table("reference/errors.md", "## For people").keys() == own


def test_fallback_types_and_the_outcome_are_documented() -> None:
    assert table("reference/contracts.md", "and a `type`:").keys() == {*FallbackType}
    fields = {*DiagnosisOutcome.model_fields} - {"run_id"}
    assert table("reference/contracts.md", "## Outcome").keys() == fields


def test_json_on_a_page_parses() -> None:
    for page in PAGES:
        assert all(json.loads(block) for block in blocks(page, "json"))
