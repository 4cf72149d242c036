"""Every module can be imported first, without a warning, and the light ones stay light.

One interpreter is started; it imports the libraries that the modules name, then forks a child for
each module. So every child sees none of the project's modules imported, and the libraries, which
take seconds, are imported once.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

IMPORT_EACH = """
import importlib, json, os, sys, traceback, warnings

def problem_of(module):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(module)
        except BaseException:
            os.write(write, traceback.format_exc()[-1500:].encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        text = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    return text or (f"wait status {status}" if status else "")

given = json.load(sys.stdin)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what other people's libraries warn of is theirs
    for library in given["libraries"]:
        try:
            importlib.import_module(library)
        except ImportError:
            pass  # optional there; the module that needs it will say so
with warnings.catch_warnings():
    # Libraries start threads; a child that only imports does not wait for them.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded, use of fork")
    problems = {module: problem_of(module) for module in given["modules"]}
json.dump({module: text for module, text in problems.items() if text}, sys.stdout)
"""


def modules_in(*roots: Path) -> dict[str, Path]:
    found = {}
    for root in roots:
        for path in root.rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            if parts[0] != "plugins":
                found[".".join(parts).removesuffix(".__init__")] = path
    return dict(sorted(found.items()))


def libraries_of(modules: dict[str, Path]) -> list[str]:
    """Return what the modules import from elsewhere when they are imported themselves."""
    own = {name.split(".")[0] for name in modules}
    found = set()
    for path in modules.values():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
    return sorted(name for name in found if name.split(".")[0] not in own)


def run_python(*arguments: str, given: str = "", path: tuple[Path, ...] = ()) -> str:
    # Not measured: coverage would import a good deal of the standard library first.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, path))
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        input=given,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def import_each(*roots: Path) -> dict[str, str]:
    """Return the traceback of every module under the roots that cannot be imported alone."""
    modules = modules_in(*roots)
    given = {"modules": list(modules), "libraries": libraries_of(modules)}
    text = run_python("-c", IMPORT_EACH, given=json.dumps(given), path=roots)
    problems: dict[str, str] = json.loads(text)
    return problems


@pytest.mark.timeout(300)  # ten seconds of work, on a machine that may be busy
def test_every_module_can_be_imported_alone_without_a_warning() -> None:
    problems = import_each(SOURCE, SOURCE / "plugins")
    assert not problems, "\n".join(f"{module}\n{text}" for module, text in problems.items())


def test_a_module_that_needs_another_one_first_or_warns_is_found(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text("import second\nname = 1\n")
    (tmp_path / "second.py").write_text("from first import name\n")
    (tmp_path / "warns.py").write_text("import warnings\nwarnings.warn('old')\n")
    (tmp_path / "dies.py").write_text("import os\nos.abort()\n")
    (tmp_path / "works.py").write_text("import json\n")
    assert import_each(tmp_path).keys() == {"first", "warns", "dies"}


def loaded_by(code: str) -> set[str]:
    text = run_python("-c", f"import json, sys\n{code}\nprint(json.dumps(list(sys.modules)))")
    return {name.split(".")[0] for name in json.loads(text)}


DATABASE_LIBRARIES = {"aiosqlite", "alembic", "sqlalchemy", "sqlmodel"}


@pytest.mark.parametrize("library", ["pydantic_ai", "chromadb", "pydantic_settings", "logfire"])
def test_importing_the_package_leaves_heavy_libraries_alone(library: str) -> None:
    assert library not in loaded_by("import diagnosis")


@pytest.mark.parametrize("module", ["diagnosis", "diagnosis.bootstrap", "diagnosis.storage.late"])
def test_what_may_open_the_database_imports_no_database_library(module: str) -> None:
    assert not DATABASE_LIBRARIES & loaded_by(f"import {module}")


def test_a_run_without_an_index_imports_no_database_library() -> None:
    run = "sys.argv = ['diagnosis', 'demo']"
    quiet = "import contextlib, io\nout = contextlib.redirect_stdout(io.StringIO())"
    start = "from diagnosis.cli.main import run\nwith out, contextlib.suppress(SystemExit): run()"
    loaded = loaded_by(f"{quiet}\n{run}\n{start}")
    assert {"diagnosis_knowledge", "pydantic_ai"} <= loaded
    assert not DATABASE_LIBRARIES & loaded


def test_loaded_libraries_are_seen() -> None:
    assert "pydantic" in loaded_by("import diagnosis.contracts.draft")
