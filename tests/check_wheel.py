"""Check a built wheel and its installation: `python check_wheel.py WHEEL`, for `nox -s wheel`.

Run by the interpreter of an environment that holds the wheel and nothing of the checkout.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sqlite3
import sys
import tempfile
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
PLUGINS = (
    "diagnosis_knowledge",
    "diagnosis_logs",
    "diagnosis_mysql",
    "diagnosis_postgresql",
    "diagnosis_prometheus",
)
# a library of two plugins, without an entry point
PACKAGES = ("diagnosis", "diagnosis_sql", *PLUGINS)


def missing_from(names: set[str]) -> list[str]:
    """Return what a wheel with these file names lacks: code, py.typed, prompts, sample data."""
    folders = {"diagnosis/prompts": CHECKOUT / "prompts", "diagnosis": CHECKOUT / "src/diagnosis"}
    folders |= {plugin: CHECKOUT / "src/plugins" / plugin for plugin in PACKAGES[1:]}
    needed = {f"{package}/py.typed" for package in PACKAGES} | {"diagnosis/prompts/diagnosis.md"}
    for inside, folder in folders.items():
        files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        needed |= {f"{inside}/{path.as_posix()}" for path in files if path.suffix != ".pyc"}
    return sorted(needed - names)


def strangers_in(names: set[str]) -> list[str]:
    """Return the top-level folders of a wheel that are not the project's packages."""
    tops = {name.split("/")[0] for name in names}
    return sorted(top for top in tops if top not in PACKAGES and not top.endswith(".dist-info"))


def imported_from_checkout() -> list[str]:
    """Return the packages that this interpreter would import from the checkout, or not at all."""
    specs = {package: importlib.util.find_spec(package) for package in PACKAGES}
    return [
        package
        for package, spec in specs.items()
        if spec is None or spec.origin is None or CHECKOUT in Path(spec.origin).parents
    ]


def tables_made() -> set[str]:
    """Return the tables of a new database, which the wheel's own migrations make."""
    from diagnosis.storage.migrating import migrate

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "diagnosis.sqlite3"
        migrate(file)
        with contextlib.closing(sqlite3.connect(file)) as connection:
            return {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}


def main() -> int:
    """Print what is wrong, one line each, and return the exit status."""
    names = set(zipfile.ZipFile(sys.argv[1]).namelist())
    plugins = {point.value for point in entry_points(group="diagnosis")}
    problems = [f"not in the wheel: {name}" for name in missing_from(names)]
    problems += [f"does not belong in the wheel: {name}" for name in strangers_in(names)]
    problems += [f"not imported from the wheel: {name}" for name in imported_from_checkout()]
    problems += [f"no entry point: {name}" for name in sorted({*PLUGINS} - plugins)]
    if "api_document" not in tables_made():
        problems.append("the migrations make no table `api_document`")
    for problem in problems:
        print(problem)
    print(f"{len(names)} files in the wheel, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
