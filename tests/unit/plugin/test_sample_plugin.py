"""A third-party package is installed as its users would, and found by its entry point."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(__file__).parents[2] / "sample_plugin"
DEPLOYMENTS = [
    {"id": "d1", "service": "cart", "version": "1.0", "at": "2026-03-01T08:00:00"},
    {"id": "d2", "service": "checkout", "version": "2.7", "at": "2026-03-02T09:30:00+01:00"},
    {"id": "d3", "service": "cart", "version": "1.1", "at": "2026-03-02T09:00:00"},
]
USE = """
import asyncio, json, sys
from datetime import UTC, datetime
from diagnosis.plugin import EvidenceContext, PluginServices
from diagnosis.plugin.manager import load_plugins
from diagnosis.errors import ConfigurationError, EvidenceFailure
from diagnosis.testing.conformance import check_evidence_tool

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)

def load(path):
    settings = {} if path is None else {"deployments": {"path": path}}
    return load_plugins(plugin_settings=settings, services=PluginServices())

async def use(path):
    loaded = load(path)
    (report,) = [each for each in loaded.reports if each.name == "deployments"]
    answer = {"report": report.model_dump(mode="json")}
    tool = loaded.registry.get("list_deployments")
    if tool is not None:
        await loaded.open()
        answer["description"] = tool.description
        answer["health"] = [
            (await check.check()).ok for check in loaded.health_checks["deployments"]
        ]
        context = EvidenceContext("run", "call", NOW, UTC, 10.0, 16_384)
        try:
            result = await tool.collect(tool.validate({}), context)
            answer["result"] = result.model_dump(mode="json")
        except EvidenceFailure as failure:
            answer["failure"] = type(failure).__name__
        await loaded.close()
    return answer

async def conform(path):
    tool = load(path).registry.get("list_deployments").tool
    report = await check_evidence_tool(
        tool,
        requests=[{}, {"service": "cart"}, {"start": "2026-03-01T00:00:00", "limit": 1}],
        empty_request={"service": "search"},
        rejected_requests=[
            {"start": "2026-03-02T00:00:00Z", "end": "2026-03-01T00:00:00Z"}, {"limit": 0},
        ],
        reference_time=NOW,
    )
    return {"passed": report.passed, "not_run": report.not_run}

async def main():
    paths = json.loads(sys.argv[1])
    answers = {"conformance": await conform(paths["good"])}
    for case, path in paths.items():
        try:
            answers[case] = await use(path)
        except ConfigurationError as error:
            answers[case] = {"error": [type(error).__name__, error.problem, error.mend]}
    return answers

print(json.dumps(asyncio.run(main())))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the sample plugin was installed into, without any network.

    It is built with the hatchling of this environment, which is a dependency of the tests.
    """
    folder = tmp_path_factory.mktemp("installed")
    installer = [sys.executable, "-m", "pip", "install", "--no-index"]
    if uv := shutil.which("uv"):
        # no cache: uv would take an earlier build for a source whose pyproject.toml is unchanged
        installer = [uv, "pip", "install", "--offline", "--no-cache", "--python", sys.executable]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    done = subprocess.run(
        [*installer, *options, str(SAMPLE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def answers(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one Python process that has the folder on its path makes of it, by case."""
    folder = tmp_path_factory.mktemp("deployments")
    (folder / "good.json").write_text(json.dumps(DEPLOYMENTS))
    (folder / "other.json").write_text('{"deployments": []}')
    paths = {name: str(folder / f"{name}.json") for name in ("good", "other", "none")}
    done = subprocess.run(
        [sys.executable, "-c", USE, json.dumps({**paths, "unset": None})],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def test_it_is_found_by_its_entry_point_and_its_tool_answers(answers: dict[str, Any]) -> None:
    answer = answers["good"]
    assert answer["report"] == {
        "name": "deployments",
        "distribution": "diagnosis-sample-plugin",
        "version": "0.1.0",
        "status": "LOADED",
        "tools": ["list_deployments"],
        "reason": None,
        "mend": None,
    }
    assert answer["description"].endswith("Source: good.json")
    assert answer["health"] == [True]
    result = answer["result"]
    assert [item["identity"] for item in result["items"]] == ["d3", "d2"]
    assert result["items"][0]["fields"] == {
        "service": "cart",
        "version": "1.1",
        "at": "2026-03-02T09:00:00Z",
    }
    assert result["scope"] == {
        "service": None,
        "start": "2026-03-01T10:00:00+00:00",
        "end": "2026-03-02T10:00:00+00:00",
        "limit": 20,
    }


def test_it_passes_the_conformance_kit(answers: dict[str, Any]) -> None:
    assert answers["conformance"]["not_run"] == ["byte_bounds", "unavailable", "secrets"]
    assert "cancellation" in answers["conformance"]["passed"]


def test_without_settings_it_is_reported_as_not_configured(answers: dict[str, Any]) -> None:
    report = answers["unset"]["report"]
    assert report["status"] == "NOT_CONFIGURED"
    assert report["mend"] == "Set path in [plugins.deployments] to a JSON file of deployments."


def test_a_file_that_is_not_there_stops_the_start(answers: dict[str, Any]) -> None:
    kind, problem, mend = answers["none"]["error"]
    assert kind == "SourceError"
    assert problem.startswith("There is no file of deployments")
    assert mend == "Correct path in [plugins.deployments]."


def test_a_file_that_holds_no_deployments_is_an_unavailable_source(
    answers: dict[str, Any],
) -> None:
    assert answers["other"]["failure"] == "SourceUnavailable"
