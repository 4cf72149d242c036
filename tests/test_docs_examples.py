"""The examples of the documentation are true: its Python and its commands run, its data loads."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from diagnosis import sample
from diagnosis.cli import main
from diagnosis.plugin.hookspecs import PROJECT
from diagnosis.settings import load_settings
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_logs.settings import LogsSettings
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_postgresql.settings import PostgresqlSettings
from diagnosis_prometheus.settings import PrometheusSettings

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PLUGIN_SETTINGS: dict[str, type[BaseModel]] = {
    "logs": LogsSettings,
    "knowledge": KnowledgeSettings,
    "mysql": MysqlSettings,
    "postgresql": PostgresqlSettings,
    "prometheus": PrometheusSettings,
}
# A block of commands that needs a server or a key is not run here.
NEEDS_MORE = re.compile(r"mysql|postgresql|prometheus|API_KEY", re.IGNORECASE)
# Exit statuses of commands that end well; a diagnosis may be verified in full, or not.
ENDS_WELL = {"ask": {0, 3}, "demo": {0, 3}}
# Its commands need an installed package: tests/unit/cli/test_plugin_new_howto.py runs them.
IN_A_SHELL = DOCS / "how-to/write-an-evidence-plugin.md"


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def pages_with(language: str) -> list[Any]:
    return [
        pytest.param(page, id=page.relative_to(DOCS).as_posix())
        for page in PAGES
        if blocks(page, language)
    ]


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command line that can be run here."""
    for block in blocks(page, "console") if page != IN_A_SHELL else ():
        if NEEDS_MORE.search(block):
            continue
        for line in re.findall(r"^\$ (.+)$", block, re.MULTILINE):
            yield shlex.split(line, comments=True)


@pytest.fixture(autouse=True)
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's working directory: the sample where a clone has it, a log and runbooks."""
    work = tmp_path / "work"
    shutil.copytree(Path(sample.__file__).parent, work / "src" / "diagnosis" / "sample")
    shutil.copytree(sample.LOG_PATHS[0].parent, work / "logs")
    shutil.copytree(sample.RUNBOOK_FOLDER, work / "runbooks")
    shutil.copy(sample.LOG_PATHS[0], work / "app.log")
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    # what the command itself sets, restored at the end of the test
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "logfire-plugin")
    monkeypatch.setenv("PYDANTIC_AI_NO_BANNER", "1")
    return work


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_on_a_page_runs_from_top_to_bottom(page: Path) -> None:
    names: dict[str, Any] = {"__name__": page.stem}
    text = page.read_text(encoding="utf-8")
    for block in blocks(page, "python"):
        above = "\n" * text[: text.index(block)].count("\n")  # tracebacks name the page's lines
        exec(compile(above + block, str(page), "exec"), names)
    for name, value in list(names.items()):
        if name.startswith("test_") and inspect.iscoroutinefunction(value):
            asyncio.run(value())


@pytest.mark.parametrize("page", pages_with("console"))
def test_commands_on_a_page_end_well(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = ""
    for words in commands(page):
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            monkeypatch.setenv(name, value)
        if words[0] != "diagnosis":
            continue
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ending:
            main.run()
        written = capsys.readouterr()
        assert ending.value.code in ENDS_WELL.get(words[1], {0}), (words, written.err)
        shown += written.out
    if page.parent.name == "tutorial":
        for block in blocks(page, "text"):
            assert all(line in shown for line in block.splitlines()), block


def test_most_commands_are_really_run() -> None:
    run = {words[1] for page in PAGES for words in commands(page) if words[0] == "diagnosis"}
    assert run == {"ask", "config", "demo", "knowledge", "tool"}


def test_the_sample_without_its_decisive_log_has_no_root_cause(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = DOCS / "tutorial/first-diagnosis.md"
    (words,) = (words for words in commands(page) if "inventory.log" in " ".join(words))
    monkeypatch.setattr(sys, "argv", [*words, "--json"])
    with pytest.raises(SystemExit):
        main.run()
    release = json.loads(capsys.readouterr().out)["release"]
    assert release["report"] is None
    assert release["fallback"]["checked_scopes"]


@pytest.mark.parametrize("page", pages_with("toml"))
def test_toml_on_a_page_loads(page: Path, reader: Path) -> None:
    for number, block in enumerate(blocks(page, "toml")):
        values = tomllib.loads(block)
        assert values
        if "project" in values:
            continue
        file = reader / f"settings-{number}.toml"
        file.write_text(block, encoding="utf-8")
        for name, given in load_settings(file).plugins.items():
            PLUGIN_SETTINGS[name].model_validate(given)


def test_the_plugin_how_to_names_the_group_that_plugins_are_looked_up_in() -> None:
    (package,) = blocks(DOCS / "how-to/write-an-evidence-plugin.md", "toml")
    assert list(tomllib.loads(package)["project"]["entry-points"]) == [PROJECT]


def test_json_on_a_page_parses() -> None:
    for page in PAGES:
        assert all(json.loads(block) for block in blocks(page, "json"))
