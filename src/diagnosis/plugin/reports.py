"""What became of each plugin, as `diagnosis plugins` shows it."""

from __future__ import annotations

from enum import StrEnum

from diagnosis.contracts.base import Contract


class PluginStatus(StrEnum):
    """What became of a plugin.

    LOADED: it brings something. NOT_CONFIGURED: it works, but without settings of its own it
    brings nothing. MISSING_DEPENDENCY: a module it imports is not installed. INVALID_SETTINGS:
    its settings were refused. SOURCE_UNUSABLE: a source it was given cannot be used. BROKEN: its
    code failed, or breaks the hooks' contract.
    """

    LOADED = "LOADED"
    NOT_CONFIGURED = "NOT_CONFIGURED"
    MISSING_DEPENDENCY = "MISSING_DEPENDENCY"
    INVALID_SETTINGS = "INVALID_SETTINGS"
    SOURCE_UNUSABLE = "SOURCE_UNUSABLE"
    BROKEN = "BROKEN"


class PluginReport(Contract):
    """One plugin: loaded, or why not.

    Attributes:
        name: of the entry point, and of the plugin's table in settings.
        distribution, version: what was installed; null for a plugin given in code.
        tools: names of the evidence tools it brings, sorted.
        reason, mend: one line each; null where there is nothing to mend.
    """

    name: str
    distribution: str | None
    version: str | None
    status: PluginStatus
    tools: tuple[str, ...] = ()
    reason: str | None = None
    mend: str | None = None
