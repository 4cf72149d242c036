"""Loads every plugin on its own, so that ownership is known and a broken one stops no other.

Each entry point of group `diagnosis` gets a pluggy manager of its own, made in a function: there is
no global one, and no plugin sees another's settings.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from diagnosis.errors import ConfigurationError, PluginError
from diagnosis.plugin import hookspecs
from diagnosis.plugin.contribution import Contribution, ask_plugin
from diagnosis.plugin.failure import PluginFailure, PluginOrigin, failure_of
from diagnosis.plugin.health import HealthCheck
from diagnosis.plugin.observer import RunObserver
from diagnosis.plugin.registry import EvidenceToolRegistry
from diagnosis.plugin.reports import PluginReport, PluginStatus
from diagnosis.plugin.services import PluginServices
from diagnosis.plugin.spelling import did_you_mean

ENTRY_POINT_GROUP = "diagnosis"

EntryPoints = Callable[[], Iterable[importlib.metadata.EntryPoint]]


@dataclass(slots=True)
class LoadedPlugins:
    """Everything that plugins brought.

    Attributes:
        registry: their evidence tools; frozen once `open` has returned.
        observers: in the order of the plugins' names.
        skills: folders of diagnosis playbooks.
        health_checks: by plugin.
        reports: one a plugin, in the order of the names.
        required_tools: names of the tools without which nothing starts.
    """

    registry: EvidenceToolRegistry = field(default_factory=EvidenceToolRegistry)
    observers: tuple[RunObserver, ...] = ()
    skills: tuple[Path, ...] = ()
    health_checks: Mapping[str, tuple[HealthCheck, ...]] = field(default_factory=dict)
    reports: tuple[PluginReport, ...] = ()
    required_tools: frozenset[str] = frozenset()

    async def open(self) -> None:
        """Open the tools, drop and report those that cannot be opened, freeze the registry.

        Raises:
            ConfigurationError: a required tool cannot be opened.
        """
        removed = await self.registry.open(required=self.required_tools)
        self.registry.freeze()
        for tool in removed:
            self.reports = tuple(
                report.model_copy(
                    update={
                        "tools": tuple(name for name in report.tools if name != tool.name),
                        "reason": " ".join(filter(None, (report.reason, tool.reason))),
                        "mend": " ".join(filter(None, (report.mend, tool.mend))),
                    }
                )
                if report.name == tool.plugin
                else report
                for report in self.reports
            )

    async def close(self) -> None:
        """Close every opened tool."""
        await self.registry.close()


def make_plugin_manager() -> pluggy.PluginManager:
    """A fresh pluggy manager that knows every hook of diagnosis."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def load_plugins(
    *,
    plugin_settings: Mapping[str, Mapping[str, Any]],
    services: PluginServices,
    extra_plugins: Sequence[object] = (),
    required_tools: Sequence[str] | None = None,
    entry_points: EntryPoints | None = None,
    stop_on_failure: bool = True,
) -> LoadedPlugins:
    """Load every installed plugin, and those given in code.

    Args:
        plugin_settings: what the user wrote, by plugin: `[plugins.NAME]`. A plugin named here is
            configured, even with an empty table; so is one given in code.
        services: lent to every plugin.
        extra_plugins: modules or objects with hook implementations. Their name is their
            `plugin_name`, else the last part of the module's name or the class's name.
        required_tools: names of tools that must be there; None means those of every configured
            plugin.
        entry_points: where plugins are found; by default what is installed.
        stop_on_failure: False reports a configured plugin that fails instead of raising, for a
            command that lists plugins.

    Raises:
        ConfigurationError: settings for a plugin that does not exist, or invalid ones.
        SourceError: a configured source cannot be used.
        PluginError: a configured plugin fails, a required tool is missing, or two plugins share
            their own or a tool's name.
    """
    candidates = [*_installed(entry_points or _installed_entry_points), *_given(extra_plugins)]
    _refuse_shared_names(candidates)
    _refuse_unknown_settings(plugin_settings, candidates)
    configured = {*plugin_settings, *(each.name for each in candidates if each.given)}
    registry = EvidenceToolRegistry()
    reports: list[PluginReport] = []
    brought: dict[str, Contribution] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.name):
        stop = stop_on_failure and candidate.name in configured
        settings = plugin_settings.get(candidate.name)
        outcome = _attempt(candidate, settings, services, stop=stop)
        reports.append(_report(candidate, outcome))
        if isinstance(outcome, Contribution):
            brought[candidate.name] = outcome
            for tool in outcome.tools:
                registry.add(tool)
    if required_tools is None:
        required_tools = [tool.name for tool in registry if tool.plugin in configured]
    elif stop_on_failure:
        _refuse_missing_tools(required_tools, registry, reports)
    return LoadedPlugins(
        registry=registry,
        observers=tuple(each for one in brought.values() for each in one.observers),
        skills=tuple(each for one in brought.values() for each in one.skills),
        health_checks={name: one.health_checks for name, one in brought.items()},
        reports=tuple(reports),
        required_tools=frozenset(required_tools),
    )


# --- finding plugins -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A plugin that has been found; `load` imports it."""

    origin: PluginOrigin
    load: Callable[[], object]
    given: bool = False

    @property
    def name(self) -> str:
        return self.origin.name


def _installed_entry_points() -> Iterable[importlib.metadata.EntryPoint]:
    return importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)


def _installed(entry_points: EntryPoints) -> list[_Candidate]:
    return [
        _Candidate(
            PluginOrigin(point.name, point.module, point.dist, tuple(point.extras)), point.load
        )
        for point in entry_points()
    ]


def _given(plugins: Sequence[object]) -> list[_Candidate]:
    return [
        _Candidate(
            PluginOrigin(
                _name_of(plugin),
                plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__,
            ),
            partial(_itself, plugin),
            given=True,
        )
        for plugin in plugins
    ]


def _itself(plugin: object) -> object:
    return plugin


def _name_of(plugin: object) -> str:
    name = getattr(plugin, "plugin_name", None)
    if isinstance(name, str):
        return name
    if isinstance(plugin, ModuleType):
        return plugin.__name__.rpartition(".")[2]
    return plugin.__name__ if isinstance(plugin, type) else type(plugin).__name__


# --- loading one -----------------------------------------------------------------------------


def _attempt(
    candidate: _Candidate,
    settings: Mapping[str, Any] | None,
    services: PluginServices,
    *,
    stop: bool,
) -> Contribution | PluginFailure:
    """What the plugin brings, or why it fails; with `stop` a failure is raised."""
    try:
        manager = make_plugin_manager()
        plugin = candidate.load()
        manager.register(plugin, name=candidate.name)
        _refuse_unknown_hooks(manager, plugin, candidate.origin)
        return ask_plugin(manager, candidate.name, settings, services)
    except (Exception, SystemExit) as error:
        failure = failure_of(error, candidate.origin)
        if not stop:
            return failure
        if isinstance(error, ConfigurationError):
            raise
        raise PluginError(failure.reason, failure.mend) from error


def _report(candidate: _Candidate, outcome: Contribution | PluginFailure) -> PluginReport:
    distribution = candidate.origin.distribution
    if isinstance(outcome, PluginFailure):
        failure: PluginFailure | None = outcome
    elif outcome.is_empty:
        failure = PluginFailure(
            PluginStatus.NOT_CONFIGURED,
            f"Plugin {candidate.name!r} is not configured: it brings nothing.",
            outcome.how_to_configure,
        )
    else:
        failure = None
    tools = outcome.tools if isinstance(outcome, Contribution) else ()
    return PluginReport(
        name=candidate.name,
        distribution=distribution.name if distribution else None,
        version=distribution.version if distribution else None,
        status=failure.status if failure else PluginStatus.LOADED,
        tools=tuple(sorted(tool.name for tool in tools)),
        reason=failure.reason if failure else None,
        mend=failure.mend if failure else None,
    )


# --- refusing --------------------------------------------------------------------------------


def _refuse_shared_names(candidates: Sequence[_Candidate]) -> None:
    owners: dict[str, PluginOrigin] = {}
    for candidate in candidates:
        first = owners.setdefault(candidate.name, candidate.origin)
        if first is not candidate.origin:
            raise PluginError(
                f"Two plugins are named {candidate.name!r}: one of {first.distribution_name}, "
                f"one of {candidate.origin.distribution_name}.",
                "Remove one of the two.",
            )


def _refuse_unknown_settings(
    plugin_settings: Mapping[str, object], candidates: Sequence[_Candidate]
) -> None:
    names = sorted(candidate.name for candidate in candidates)
    for name in plugin_settings:
        if name not in names:
            installed = f"installed plugins: {', '.join(names) or 'none'}"
            raise ConfigurationError(
                f"[plugins.{name}] names a plugin that is not installed.",
                did_you_mean([name], names) or f"Install it, or remove its settings; {installed}.",
            )


def _refuse_unknown_hooks(
    manager: pluggy.PluginManager, plugin: object, origin: PluginOrigin
) -> None:
    known = [name for name in vars(hookspecs) if name.startswith(f"{hookspecs.PROJECT}_")]
    mend = f"The hooks are: {', '.join(known)}."
    implemented = manager.get_hookcallers(plugin) or []
    if not implemented:
        raise PluginError(f"Plugin {origin.name!r} implements no hook.", mend)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        unknown = [caller.name for caller in implemented if not caller.has_spec()]
        raise PluginError(
            f"Plugin {origin.name!r} implements {', '.join(map(repr, unknown))}, which is no hook.",
            did_you_mean(unknown, known) or mend,
        ) from error


def _refuse_missing_tools(
    required: Sequence[str], registry: EvidenceToolRegistry, reports: Sequence[PluginReport]
) -> None:
    for name in required:
        if name in registry:
            continue
        # a plugin that did not load cannot say what it would have brought; its name often tells
        unloaded = [each for each in reports if each.status is not PluginStatus.LOADED]
        likely = [each for each in unloaded if each.name in name] or [
            each for each in unloaded if each.status is not PluginStatus.NOT_CONFIGURED
        ]
        if not likely:
            suggestion = did_you_mean([name], registry.names)
            raise PluginError(
                f"The required tool {name!r} is missing: no plugin brings it.",
                suggestion or f"The tools are: {', '.join(registry.names) or 'none'}.",
            )
        raise PluginError(
            f"The required tool {name!r} is missing. "
            + " ".join(report.reason or report.status for report in likely),
            " ".join(report.mend for report in likely if report.mend),
        )
