"""Every task of the project: `uvx nox -s NAME` needs Python and uv, and sets up all the rest."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["tests", "lint", "types", "docs"]

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PINS = ("--constraint", str(ROOT / "constraints.txt"))
# The interpreter nox itself runs on; a named one only where that is too old for the project.
PYTHON = None if sys.version_info >= (3, 11) else "3.11"
# Packages whose branch coverage is gated.
GATED = ("contracts", "plugin", "harness", "agent", "guards", "release")
GATE_PERCENT = 95
# Exit statuses of a demo that ended with a report: verified, or not verified in full.
RELEASED = (0, 3)


@nox.session(python=PYTHON)
def demo(session: nox.Session) -> None:
    """Diagnose the packaged sample incident from end to end."""
    install(session, "--editable", ".[all]")
    session.run("diagnosis", "demo", *session.posargs, success_codes=RELEASED)


@nox.session(python=PYTHON)
def tests(session: nox.Session) -> None:
    """Run the test suite under branch coverage and gate it; with arguments, run pytest on them."""
    install(session, "--editable", ".[all]", *group("tests"))
    if session.posargs:
        session.run("pytest", *session.posargs)
        return
    session.env["COVERAGE_FILE"] = str(ROOT / ".cache" / "coverage" / "data")
    session.run("coverage", "erase")
    # A file's tests stay on one worker: they may share a server or an index.
    session.run("coverage", "run", "-m", "pytest", "--numprocesses=2", "--dist=loadfile")
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")
    gated = ",".join(f"src/diagnosis/{name}/*" for name in GATED)
    gate = ("--format=total", f"--include={gated}", f"--fail-under={GATE_PERCENT}")
    session.log(f"Lines and branches covered in {', '.join(GATED)}, in percent:")
    session.run("coverage", "report", *gate)


@nox.session(python=PYTHON)
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    install(session, *group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(python=PYTHON)
def types(session: nox.Session) -> None:
    """Check types with mypy and with pyright, and what `diagnosis plugin new` writes."""
    install(session, "--editable", ".[all]", *group("tests"), *group("types"), *group("lint"))
    session.run("mypy")
    session.run("pyright")
    # The tests that need the linter and the type checker, which the session `tests` has not.
    session.run("pytest", "tests/unit/cli/test_plugin_new_package.py", "-k", "it_is_clean")


@nox.session(python=PYTHON)
def docs(session: nox.Session) -> None:
    """Build the documentation; broken links and missing pages are errors."""
    install(session, *group("docs"))
    session.env["NO_MKDOCS_2_WARNING"] = "1"  # mkdocs-material advertises its successor
    with tempfile.TemporaryDirectory() as site:
        # Not --quiet: that would silence the warnings which --strict counts.
        session.run("mkdocs", "build", "--strict", "--site-dir", site)


@nox.session(python=PYTHON)
def bench(session: nox.Session) -> None:
    """Run the benchmarks and print what they measure."""
    install(session, "--editable", ".[all]", *group("tests"))
    session.run("pytest", "--capture=no", *(session.posargs or ["tests/benchmarks"]))


@nox.session(python=PYTHON)
def wheel(session: nox.Session) -> None:
    """Build the wheel, install it into an empty environment and run the demo from there."""
    session.install(*PINS, "hatchling")
    # Outside the checkout, so that nothing but the wheel can be imported.
    with tempfile.TemporaryDirectory() as folder:
        session.run("hatchling", "build", "--target", "wheel", "--directory", folder)
        (built,) = Path(folder).glob("*.whl")
        environment = Path(folder) / "environment"
        python = str(environment / "bin" / "python")
        if session.venv_backend == "uv":
            session.run("uv", "venv", "--quiet", str(environment), external=True)
            installer = ["uv", "pip", "install", "--quiet", "--python", python]
        else:
            session.run(sys.executable, "-m", "virtualenv", str(environment), external=True)
            installer = [python, "-m", "pip", "install", "--quiet"]
        requirement = f"diagnosis-harness[all] @ {built.as_uri()}"
        session.run(*installer, *PINS, requirement, external=True)
        session.chdir(folder)
        session.run(python, str(ROOT / "tests" / "check_wheel.py"), str(built), external=True)
        command = str(environment / "bin" / "diagnosis")
        session.run(command, "demo", *session.posargs, success_codes=RELEASED, external=True)


def group(name: str) -> tuple[str, ...]:
    """Return the requirements of one dependency group of pyproject.toml."""
    return nox.project.dependency_groups(PROJECT, name)


def install(session: nox.Session, *requirements: str) -> None:
    """Install requirements, and with uv what builds them, at the pinned versions.

    Compiled while they are installed: where Python may not write bytecode, every start would
    compile them again. Nothing is done where the same was installed already.
    """
    pins = [(ROOT / name).read_text() for name in ("pyproject.toml", PINS[1])]
    wanted = hashlib.sha256("\n".join([*requirements, *pins]).encode()).hexdigest()
    stamp = Path(session.virtualenv.location) / "installed.sha256"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    env = {"UV_BUILD_CONSTRAINT": PINS[1], "UV_COMPILE_BYTECODE": "1"}
    session.install(*PINS, *requirements, env=env)
    stamp.write_text(wanted)
