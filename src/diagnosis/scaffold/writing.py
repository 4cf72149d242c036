"""Writes the package of a new plugin: all of it, or nothing."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from string import Template

from diagnosis.errors import ConfigurationError
from diagnosis.scaffold.names import PluginName

TEMPLATE = Path(__file__).parent / "template"
_SUFFIX = ".template"
_PACKAGE_FOLDER = "package"


def write_package(plugin: PluginName, parent: Path, *, template: Path = TEMPLATE) -> Path:
    """Write the package below a folder, first under a hidden name of its own.

    Args:
        plugin: what it is called.
        parent: the folder in which its folder is made.
        template: a folder of files named `*.template`.

    Returns:
        The folder of the package, `parent/diagnosis-NAME`.

    Raises:
        ConfigurationError: `parent` is no folder, the package's folder exists, or nothing can be
            written there.
    """
    if not parent.is_dir():
        raise ConfigurationError(
            f"There is no folder {parent}.", "Make it first, or name another one with --folder."
        )
    target = parent / plugin.distribution
    if os.path.lexists(target):
        raise ConfigurationError(
            f"{target} exists already.",
            "Choose another name, or another folder with --folder.",
        )
    unfinished = parent / f".{plugin.distribution}-{token_hex(4)}"
    try:
        for relative, text in _files(plugin, template):
            path = unfinished / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        unfinished.rename(target)
    except OSError as error:
        raise ConfigurationError(
            f"The package cannot be written to {parent} ({error.strerror}).",
            "Make room there, or name another folder with --folder.",
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return target


def _files(plugin: PluginName, template: Path) -> list[tuple[Path, str]]:
    values = {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "package": plugin.package,
        "tool": plugin.tool,
        "words": plugin.words,
        "variable": plugin.name.upper(),
        "version": version("diagnosis-harness"),
    }
    return [
        (
            Path(*(_renamed(part, plugin) for part in path.relative_to(template).parts)),
            Template(path.read_text(encoding="utf-8")).substitute(values),
        )
        for path in sorted(template.rglob(f"*{_SUFFIX}"))
    ]


def _renamed(part: str, plugin: PluginName) -> str:
    return plugin.package if part == _PACKAGE_FOLDER else part.removesuffix(_SUFFIX)
