"""Settings, prompts and models that cannot be used: two lines, status 2, and no secret told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
Refused = Callable[..., None]

SECRET = "hunter2hunter2"
FORMS = "PROVIDER:MODEL"


# --- prompts and models ----------------------------------------------------------------------


@pytest.mark.parametrize("through", ["environment", "file"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, ("cannot be read", "remove `prompts`")),
        (" \n", ("is blank", "remove `prompts`")),
        ("$draft_schema $colour", ("$draft_schema", "$$")),
        ("no placeholder", ("$draft_schema", "$$")),
        ("$draft_schema costs $ 5", ("starts no placeholder", "$$")),
    ],
)
def test_broken_prompt(
    refused: Refused,
    place: Path,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    through: str,
    text: str | None,
    says: tuple[str, str],
) -> None:
    folder = place / "prompts"
    folder.mkdir()
    if text is not None:
        (folder / "diagnosis.md").write_text(text)
    if through == "environment":
        monkeypatch.setenv("DIAGNOSIS_PROMPTS", str(folder))
    else:
        Path("diagnosis.toml").write_text(f"prompts = {str(folder)!r}")
    refused("ask", "why", "--logs", log, says=says)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nope", ("no model called 'nope'", FORMS)),
        ("", ("no model called ''", FORMS)),
        ("test", ("no model called 'test'", FORMS)),
        ("openai:", ("no model called 'openai:'", FORMS)),
        (":x", ("no model called ':x'", FORMS)),
        ("foo:bar", ("no provider called 'foo'", FORMS)),
        ("test:x", ("no provider called 'test'", FORMS)),
        ("opnai:gpt-5", ("no provider called 'opnai'", "Did you mean 'openai'?")),
        ("openai:gpt-5", ("OPENAI_API_KEY, which is not set", "export OPENAI_API_KEY=")),
        ("anthropic:x", ("ANTHROPIC_API_KEY, which is not set", "export ANTHROPIC_API_KEY=")),
    ],
)
def test_unusable_model(refused: Refused, log: Path, name: str, says: tuple[str, str]) -> None:
    refused("ask", "why", "--logs", log, "--model", name, says=says)


# --- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[model\nname = 1", ("not valid TOML: Expected", "Correct")),
        ("colour = 1", ("colour in diagnosis.toml: there is no such setting", "reference")),
        ("[limits]\nmodel_call = 9", ("limits.model_call", "Did you mean 'model_calls'?")),
        ('[limits]\nmodel_calls = "many"', ("limits.model_calls", "Correct it there")),
        ("[limits]\nmodel_calls = 2", ("reserved_model_calls must be below", "Correct")),
        ("[plugins.log]", ("[plugins.log]", "Did you mean 'logs'?")),
        ('[plugins.logs]\npath = ["x"]', ("path", "Did you mean 'paths'?")),
        ("[plugins]\nlogs = 3", ("plugins.logs in diagnosis.toml: it must be a table", "Correct")),
        ("plugins = 3", ("plugins in diagnosis.toml: it must be a table", "Correct")),
        ('zone = "Mars/Olympus"', ("'Mars/Olympus' is no IANA time zone", "Correct")),
        ('[tools]\nrequired = ["query_log"]', ("'query_log'", "Did you mean 'query_logs'?")),
        (f'[plugins.mysql]\nurl = ["{SECRET}"]', ("url", "[plugins.mysql]")),
        (f'[model]\napi_key = ["{SECRET}"]', ("model.api_key", "Correct")),
    ],
)
def test_invalid_settings_file(
    refused: Refused, log: Path, toml: str, says: tuple[str, str]
) -> None:
    Path("diagnosis.toml").write_text(toml)
    refused("ask", "why", "--logs", log, says=says)


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("DIAGNOSIS_LIMITS__MODEL_CALLS", "x", ("limits.model_calls in the environment", "")),
        ("DIAGNOSIS_MODEL", "openai:x", ("DIAGNOSIS_MODEL is not", "DIAGNOSIS_MODEL__NAME=")),
        ("DIAGNOSIS_PLUGINS", SECRET, ("DIAGNOSIS_PLUGINS is not", "JSON")),
        (
            "DIAGNOSIS_MODLE__NAME",
            "x",
            ("DIAGNOSIS_MODLE__NAME", "Did you mean DIAGNOSIS_MODEL__NAME?"),
        ),
        ("DIAGNOSIS_ZONE", "Europe", ("zone in the environment: 'Europe' is no IANA", "")),
    ],
)
def test_invalid_environment(
    refused: Refused,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    says: tuple[str, str],
) -> None:
    monkeypatch.setenv(variable, value)
    refused("ask", "why", "--logs", log, says=says)


def test_list_that_is_none(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSIS_PLUGINS__LOGS__PATHS", f"/var/{SECRET}")
    refused("ask", "why", says=("paths: must be a list, in the environment a JSON list", "Correct"))


def test_variable_that_is_ignored_is_told(
    command: Command, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIAGNOSIS_NOPE", SECRET)
    done = command("config", "show")
    assert done.status == 0
    assert done.err == "Warning: no setting is called DIAGNOSIS_NOPE; it is ignored.\n"


def test_settings_file_that_cannot_be_read(refused: Refused, place: Path) -> None:
    (place / "binary").write_bytes(b"\x80\xff")
    for path, problem in (
        (place / "no.toml", "cannot be read (No such file"),
        (place, "cannot be read (Is a directory)"),
        (place / "binary", "is not UTF-8"),
    ):
        refused("config", "show", "--config", path, says=(problem, "TOML file"))
