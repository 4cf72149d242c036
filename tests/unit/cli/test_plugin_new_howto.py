"""The how-to for plugin authors is true: its commands run in order in a shell, its code fits in."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from diagnosis.testing.conformance import CHECKS

PAGE = Path(__file__).parents[3] / "docs/how-to/write-an-evidence-plugin.md"
TEXT = PAGE.read_text(encoding="utf-8")
INSTALL = "uv pip install"
# what would send something away, or needs more than a folder
NOT_RUN = ("uv build", "uv publish", "uv tool")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def titled() -> dict[str, str]:
    """The code that takes the place of a function of the package, by its file."""
    found = re.findall(r'^```python title="(.*?)"\n(.*?)^```$', TEXT, re.DOTALL | re.MULTILINE)
    return dict(found)


def commands(block: str) -> list[str]:
    return list(re.findall(r"^\$ (.+)$", block, re.MULTILINE))


def install_here(site: Path) -> str:
    """The page's installation, offline and into a folder."""
    installer = [sys.executable, "-m", "pip", "install", "--no-index"]
    if uv := shutil.which("uv"):
        installer = [uv, "pip", "install", "--offline", "--no-cache", "--python", sys.executable]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(site), "."]
    return shlex.join([*installer, *options])


def shell(lines: list[str], work: Path, site: Path) -> str:
    """Run lines one after the other in one shell; the first that fails ends it."""
    python = shlex.quote(sys.executable)
    script = [
        "set -eu",
        f'diagnosis() {{ {python} -c "from diagnosis.cli.main import run; run()" "$@"; }}',
        f'pytest() {{ {python} -m pytest -q -p no:cacheprovider "$@"; }}',
        *(install_here(site) if line.startswith(INSTALL) else line for line in lines),
    ]
    paths = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=work,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3_000:]}\n{done.stderr[-3_000:]}"
    return done.stdout


def put_in(path: Path, code: str) -> None:
    """Let the one function of the code take the place of the one of its name in a file."""
    (new,) = ast.parse(code).body
    assert isinstance(new, ast.FunctionDef)
    text = path.read_text(encoding="utf-8")
    (old,) = (
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == new.name
    )
    lines = text.splitlines()
    lines[old.lineno - 1 : old.end_lineno] = code.splitlines()
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.timeout(300)
def test_the_page_leads_from_nothing_to_a_plugin_of_ones_own(place: Path) -> None:
    work, site = place / "work", place / "site"
    first, second, third, *rest = map(commands, blocks("console"))
    shown = shell([*first, *second], work, site)
    assert "deployments (diagnosis-deployments 0.1.0): LOADED" in shown
    assert '"evidence_status": "EVIDENCE_FOUND"' in shown

    package = work / "diagnosis-deployments"
    for name, code in titled().items():
        put_in(package / name, code)
    shutil.rmtree(site)
    shown = shell([f"cd {package.name}", INSTALL, *third], work, site)
    assert "failed" not in shown
    assert all(line.startswith(NOT_RUN) for lines in rest for line in lines)


def test_the_page_names_every_file_of_the_package(tmp_path: Path) -> None:
    from diagnosis.scaffold.names import plugin_name
    from diagnosis.scaffold.writing import write_package

    folder = write_package(plugin_name("deployments"), tmp_path)
    written = {path.name for path in folder.rglob("*") if path.is_file()} - {"py.typed"}
    (tree,) = blocks("text")
    assert set(re.findall(r"── ([\w.]+\.\w+)", tree)) == written


def test_the_page_explains_every_check_of_the_kit() -> None:
    _, _, below = TEXT.partition("| Check | Asks | Needs |\n")
    table, _, _ = below.partition("\n\n")
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(CHECKS)
