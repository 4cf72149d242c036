"""What `diagnosis plugin new` writes is a package that works as it is written: really installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from diagnosis.scaffold.names import plugin_name
from diagnosis.scaffold.writing import write_package

RUN = "from diagnosis.cli.main import run; run()"


@dataclass(frozen=True)
class Installed:
    """A written package, and the folder that it was installed into."""

    folder: Path
    site: Path

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the package's folder, with the package on its path."""
        paths = os.pathsep.join([str(self.site), *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "100", **variables},
            capture_output=True,
            text=True,
            check=False,
        )


def install(folder: Path, site: Path) -> None:
    """Build with the hatchling of this environment, without any network."""
    installer = [sys.executable, "-m", "pip", "install", "--no-index"]
    if uv := shutil.which("uv"):
        installer = [uv, "pip", "install", "--offline", "--no-cache", "--python", sys.executable]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(site)]
    done = subprocess.run(
        [*installer, *options, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    parent = tmp_path_factory.mktemp("written")
    folder = write_package(plugin_name("my-deploys"), parent)
    install(folder, parent / "site")
    return Installed(folder, parent / "site")


def test_its_tests_pass_as_they_are_written(package: Installed) -> None:
    done = package.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error")
    assert done.returncode == 0, done.stdout[-3_000:]
    assert "test_conformance.py" in package.run("-m", "pytest", "--collect-only", "-q").stdout


def test_it_is_listed_and_its_tool_runs(package: Installed) -> None:
    configured = {"DIAGNOSIS_PLUGINS__MY_DEPLOYS__PATH": "example.jsonl"}
    listed = package.run("-c", RUN, "plugins", "--json", **configured)
    (plugin,) = (
        each for each in json.loads(listed.stdout)["plugins"] if each["name"] == "my_deploys"
    )
    assert plugin["status"] == "LOADED"
    assert plugin["tools"] == ["list_my_deploys"]
    assert [check["ok"] for check in plugin["health"]] == [True]
    request = '{"contains": "deployed"}'
    at = ("--at", "2026-03-12T14:45:00+01:00")
    answer = package.run("-c", RUN, "tool", "list_my_deploys", request, *at, **configured)
    assert answer.returncode == 0, answer.stderr
    shown = json.loads(answer.stdout)
    assert shown["evidence_status"] == "EVIDENCE_FOUND"
    assert [item["text"] for item in shown["items"]] == ["version 2.4.1 deployed"]


def test_without_settings_it_says_what_to_set(package: Installed) -> None:
    listed = package.run("-c", RUN, "plugins", "--json")
    (plugin,) = (
        each for each in json.loads(listed.stdout)["plugins"] if each["name"] == "my_deploys"
    )
    assert plugin["status"] == "NOT_CONFIGURED"
    assert plugin["mend"].startswith("Set path in [plugins.my_deploys] to a file of events")


def test_a_file_that_is_gone_is_told_in_two_lines(package: Installed) -> None:
    gone = {"DIAGNOSIS_PLUGINS__MY_DEPLOYS__PATH": "gone.jsonl"}
    done = package.run("-c", RUN, "tool", "list_my_deploys", "{}", **gone)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "Error: There is no file of events at gone.jsonl.",
        "Correct path in [plugins.my_deploys].",
    ]


def test_the_same_name_is_refused_once_it_is_installed(package: Installed) -> None:
    done = package.run("-c", RUN, "plugin", "new", "my_deploys", "--folder", str(package.site))
    assert done.returncode == 2
    assert done.stderr.startswith("Error: There is a plugin 'my_deploys' in this environment")


@pytest.mark.parametrize("name", ["x", "my-deploys", "a" * 30])
def test_it_is_clean_for_the_linter_and_the_formatter_whatever_the_name(
    tmp_path: Path, name: str
) -> None:
    ruff = pytest.importorskip("ruff", reason="the linter is not installed")
    folder = write_package(plugin_name(name), tmp_path)
    for command in (("check",), ("format", "--check")):
        done = subprocess.run(
            [sys.executable, "-m", ruff.__name__, *command, "--no-cache", "."],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.timeout(300)  # without a cache it reads all that the tests import
def test_it_is_clean_for_the_type_checker(package: Installed) -> None:
    pytest.importorskip("mypy", reason="the type checker is not installed")
    done = package.run("-m", "mypy", "--cache-dir", str(package.site / ".mypy_cache"))
    assert done.returncode == 0, done.stdout
