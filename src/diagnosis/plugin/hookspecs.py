"""The whole plugin surface: every hook the application calls, in the order it calls them.

A plugin is a module named by an entry point of group `diagnosis`; the entry point's name is the
plugin's name and the name of its table in settings, `[plugins.NAME]`. Hooks are synchronous and
only register objects: asynchronous work belongs to the objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pluggy
from pydantic import BaseModel

from diagnosis.plugin.evidence_tool import EvidenceTool
from diagnosis.plugin.health import HealthCheck
from diagnosis.plugin.observer import RunObserver
from diagnosis.plugin.services import PluginServices

PROJECT = "diagnosis"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


# --- configuration ---------------------------------------------------------------------------


@hookspec(firstresult=True)
def diagnosis_settings_model() -> type[BaseModel] | None:
    """Return the model of this plugin's settings.

    `[plugins.NAME]` is validated with it and handed to the other hooks. Without this hook they
    get None.
    """


# --- registration ----------------------------------------------------------------------------


@hookspec
def diagnosis_register_evidence_tools(
    settings: Any, services: PluginServices
) -> Sequence[EvidenceTool]:
    """Return this plugin's evidence tools; none where no source is configured.

    Args:
        settings: the validated settings of this plugin.
        services: what the application lends.

    Raise `ModuleNotFoundError` (by importing late) where an optional dependency is missing, and
    `SourceError` where a configured source cannot be used: both are reported with the mend, and
    the other plugins go on.
    """
    raise NotImplementedError  # never called: pluggy reads the signature


@hookspec
def diagnosis_register_run_observers(
    settings: Any, services: PluginServices
) -> Sequence[RunObserver]:
    """Return observers that get every event of every run.

    Args:
        settings: the validated settings of this plugin.
        services: what the application lends.
    """
    raise NotImplementedError  # never called: pluggy reads the signature


@hookspec
def diagnosis_register_skills(settings: Any) -> Sequence[Path]:
    """Return folders that hold one diagnosis playbook each (`SKILL.md`).

    Args:
        settings: the validated settings of this plugin.
    """
    raise NotImplementedError  # never called: pluggy reads the signature


# --- operation -------------------------------------------------------------------------------


@hookspec
def diagnosis_describe_health(settings: Any, services: PluginServices) -> Sequence[HealthCheck]:
    """Return checks of what this plugin depends on; `diagnosis plugins` runs them.

    Args:
        settings: the validated settings of this plugin.
        services: what the application lends.
    """
    raise NotImplementedError  # never called: pluggy reads the signature
