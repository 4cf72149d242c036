"""The name of a new plugin: what is made of it, and which names cannot be used."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec

from diagnosis.errors import ConfigurationError

LONGEST = 30
"""Characters of a name; tools may have 64, and packages should be short."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_RULE = (
    f"Use at most {LONGEST} letters (a to z), digits, - and _, beginning with a letter: "
    "for example my-deploys."
)
_OURS = "harness"  # diagnosis-harness is this distribution


@dataclass(frozen=True, slots=True)
class PluginName:
    """What a plugin and its parts are called.

    Attributes:
        name: of the plugin, its entry point and its table in settings: `my_deploys`.
    """

    name: str

    @property
    def distribution(self) -> str:
        """What is installed, and the folder: `diagnosis-my-deploys`."""
        return f"diagnosis-{self.name.replace('_', '-')}"

    @property
    def package(self) -> str:
        """What is imported: `diagnosis_my_deploys`."""
        return f"diagnosis_{self.name}"

    @property
    def tool(self) -> str:
        """The evidence tool: `list_my_deploys`."""
        return f"list_{self.name}"

    @property
    def words(self) -> str:
        """The name for people: `my deploys`."""
        return self.name.replace("_", " ")


def plugin_name(given: str) -> PluginName:
    """Make the names of a new plugin.

    `-` and `_` are the same, capital letters become small ones.

    Raises:
        ConfigurationError: the name cannot be used, or is taken in this environment.
    """
    name = given.lower()
    shown = repr(given if len(given) <= LONGEST else f"{given[:LONGEST]}…")
    if not given.isascii() or len(name) > LONGEST or not _NAME.fullmatch(name):
        raise ConfigurationError(f"{shown} cannot be the name of a plugin.", _RULE)
    name = name.replace("-", "_")
    if keyword.iskeyword(name) or name == _OURS:
        raise ConfigurationError(
            f"The name {shown} is reserved.", "Name the plugin for what it reads: my-deploys, say."
        )
    if name == "diagnosis" or name.startswith("diagnosis_"):
        raise ConfigurationError(
            f"The name {shown} would stand behind another 'diagnosis'.",
            "Leave it out: the package is named diagnosis-NAME by itself.",
        )
    plugin = PluginName(name)
    taken = {point.name.replace("-", "_") for point in entry_points(group="diagnosis")}
    if name in taken or find_spec(plugin.package) is not None:
        raise ConfigurationError(
            f"There is a plugin {shown} in this environment already.",
            "Choose another name, or uninstall that plugin first.",
        )
    return plugin
