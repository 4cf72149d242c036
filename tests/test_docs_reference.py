"""The reference is complete: its tables name what the code has, with the same defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from pydantic import BaseModel

import diagnosis
import diagnosis.plugin
import diagnosis.testing
from diagnosis import errors
from diagnosis.cli.main import app
from diagnosis.contracts.events import RunEvent
from diagnosis.contracts.evidence import ErrorCode, QueryRejection
from diagnosis.contracts.release import DiagnosisOutcome, FallbackType
from diagnosis.contracts.run import EndReason, RunLimits
from diagnosis.models.embedding_settings import EmbeddingModelSettings
from diagnosis.plugin import hookspecs
from diagnosis.settings import ChatModelSettings, Settings, ToolSettings
from diagnosis.storage.settings import StorageSettings
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_logs.settings import LogsSettings
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_postgresql.settings import PostgresqlSettings
from diagnosis_prometheus.settings import PrometheusSettings

DOCS = Path(__file__).parents[1] / "docs"
RECORD_ONLY = {ErrorCode.PROTOCOL_VIOLATION, ErrorCode.STOP_DELIVERED, ErrorCode.ABORTED}
EVENT_FIELDS = {"type", "run_id", "at"}


def table(page: str, heading: str) -> dict[str, list[str]]:
    """Return the rows of the first table below a heading, keyed by their first cell's code."""
    _, _, below = (DOCS / page).read_text(encoding="utf-8").partition(f"{heading}\n")
    first = re.search(r"(?:^\|.*\|\n)+", below, re.MULTILINE)
    assert first, f"no table below {heading} of {page}"
    lines = first[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    names = [row[0].split("`")[1] for row in rows]
    assert len(names) == len(set(names)), f"a row stands twice below {heading} of {page}"
    return {name: row[1:] for name, row in zip(names, rows, strict=True)}


# --- settings --------------------------------------------------------------------------------


def test_limits_are_documented_with_their_defaults() -> None:
    documented = {name: row[0] for name, row in table("reference/settings.md", "of a run").items()}
    assert documented == {name: f"{value}" for name, value in RunLimits().model_dump().items()}


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("## Top level", Settings),
        ("### `[model]`", ChatModelSettings),
        ("### `[embedding]`", EmbeddingModelSettings),
        ("### `[storage]`", StorageSettings),
        ("### `[tools]`", ToolSettings),
        ("### `[plugins.logs]`", LogsSettings),
        ("### `[plugins.knowledge]`", KnowledgeSettings),
        ("### `[plugins.mysql]`", MysqlSettings),
        ("### `[plugins.postgresql]`", PostgresqlSettings),
        ("### `[plugins.prometheus]`", PrometheusSettings),
    ],
)
def test_settings_are_documented_with_their_defaults(heading: str, model: type[BaseModel]) -> None:
    documented = table("reference/settings.md", heading)
    assert documented.keys() == model.model_fields.keys()
    for setting, field in model.model_fields.items():
        if isinstance(field.default, int | float | str):
            assert documented[setting][0] == str(field.default).replace("False", "false")


# --- the command line ------------------------------------------------------------------------


def leaves(command: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its words."""
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from leaves(inner, *path, name)
    else:
        yield " ".join(path), command


COMMANDS = dict(leaves(typer.main.get_command(app)))


def long_flags(command: Any) -> set[str]:
    options = [each for each in command.params if each.param_type_name == "option"]
    return {flag for each in options for flag in each.opts if flag.startswith("--")}


def usage() -> dict[str, set[str]]:
    """The flags in the usage of each command, by its words."""
    text = (DOCS / "reference/command-line.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = re.sub(r"\n +", " ", block).splitlines()
    return {
        " ".join(re.findall(r"(?<= )[a-z]+(?= |$)", line.partition("[")[0])): set(
            re.findall(r"--[a-z-]+", line)
        )
        for line in lines
    }


def test_the_usage_of_every_command_names_its_flags() -> None:
    assert usage() == {name: long_flags(command) for name, command in COMMANDS.items()}


def test_the_usage_of_every_command_names_its_arguments() -> None:
    text = (DOCS / "reference/command-line.md").read_text(encoding="utf-8")
    for name, command in COMMANDS.items():
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        shown = (
            f"[{each.metavar}]" if not each.required else each.metavar + "..." * (each.nargs == -1)
            for each in arguments
        )
        assert " ".join(["diagnosis", name, *shown]) in text


def test_commands_and_flags_are_explained() -> None:
    page = "reference/command-line.md"
    explained = table(page, "explains it.").keys()
    assert set(explained) == COMMANDS.keys()
    flags = set().union(*(long_flags(command) for command in COMMANDS.values()))
    assert table(page, "## Flags").keys() == flags


# --- the Python API --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("## `diagnosis`", diagnosis.__all__),
        ("## For plugins", diagnosis.plugin.__all__),
        ("## For tests", diagnosis.testing.__all__),
        ("### Hooks", [name for name in vars(hookspecs) if name.startswith("diagnosis_")]),
    ],
)
def test_every_public_name_is_documented(heading: str, names: list[str]) -> None:
    documented = table("reference/python-api.md", heading)
    assert documented.keys() == set(names)
    assert all(row[0] for row in documented.values())


def test_events_are_documented_with_their_fields() -> None:
    documented = {
        name: re.findall(r"`(\w+)`", row[1])
        for name, row in table("reference/events.md", "not known is null.").items()
    }
    assert documented == {
        event.__name__: [name for name in event.model_fields if name not in EVENT_FIELDS]
        for event in get_args(RunEvent)
    }


# --- contracts and errors --------------------------------------------------------------------


def test_codes_that_the_agent_may_see_are_documented() -> None:
    documented = table("reference/errors.md", "of a failed call")
    assert documented.keys() == {*ErrorCode} - RECORD_ONLY


def test_reasons_of_a_rejected_query_are_documented() -> None:
    assert table("reference/errors.md", "query is rejected").keys() == {*QueryRejection}


def test_errors_that_end_a_run_are_documented_with_an_end_reason() -> None:
    documented = table("reference/errors.md", "## For applications")
    assert documented.keys() == {kind.__name__ for kind in errors.RunTerminated.__subclasses__()}
    reasons = [row[0].strip("`") for row in documented.values()]
    assert all(reason in {*EndReason} for reason in reasons if reason.isupper())


def test_errors_for_people_are_documented() -> None:
    kinds: list[type] = [errors.ConfigurationError, *errors.ConfigurationError.__subclasses__()]
    own = {kind.__name__ for kind in kinds if kind.__module__ == errors.__name__}
    assert table("reference/errors.md", "## For people").keys() == own


def test_fallback_types_end_reasons_and_the_outcome_are_documented() -> None:
    assert table("reference/contracts.md", "and a `type`:").keys() == {*FallbackType}
    assert table("reference/contracts.md", "### End reasons").keys() == {*EndReason}
    fields = {*DiagnosisOutcome.model_fields} - {"run_id"}
    assert table("reference/contracts.md", "## Outcome").keys() == fields
