"""What one plugin brings: each of its hooks called once, each answer checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pluggy
from pydantic import BaseModel

from diagnosis.errors import PluginError
from diagnosis.plugin.health import HealthCheck
from diagnosis.plugin.observer import RunObserver
from diagnosis.plugin.registered_tool import RegisteredTool
from diagnosis.plugin.services import PluginServices
from diagnosis.plugin.settings import how_to_configure, validated_settings


@dataclass(frozen=True, slots=True)
class Contribution:
    """Everything one plugin brings: checked, but not yet registered.

    `how_to_configure` says how to give it a source where it has none.
    """

    tools: tuple[RegisteredTool, ...]
    observers: tuple[RunObserver, ...]
    skills: tuple[Path, ...]
    health_checks: tuple[HealthCheck, ...]
    how_to_configure: str

    @property
    def is_empty(self) -> bool:
        """Whether the plugin, as it is configured, has no use in a run."""
        return not (self.tools or self.observers or self.skills)


def ask_plugin(
    manager: pluggy.PluginManager,
    name: str,
    given_settings: Mapping[str, Any] | None,
    services: PluginServices,
) -> Contribution:
    """Call every hook of the one plugin that `manager` knows.

    Args:
        manager: knows this plugin only.
        name: the plugin's name.
        given_settings: what the user wrote, or None where that is nothing.
        services: lent to the plugin.

    Raises:
        ConfigurationError: the settings do not fit the plugin's model.
        PluginError: a hook's answer breaks the contract.
        Exception: whatever the plugin's code raises.
    """
    hook = manager.hook
    model = hook.diagnosis_settings_model()
    settings = _settings(model, name, given_settings)
    tools = _flat(
        "diagnosis_register_evidence_tools",
        name,
        hook.diagnosis_register_evidence_tools(settings=settings, services=services),
        lambda tool: True,  # RegisteredTool says more exactly what is missing
        "evidence tools",
    )
    observers = _flat(
        "diagnosis_register_run_observers",
        name,
        hook.diagnosis_register_run_observers(settings=settings, services=services),
        lambda observer: isinstance(observer, RunObserver) and isinstance(observer.required, bool),
        "run observers (on_event, required)",
    )
    skills = _flat(
        "diagnosis_register_skills",
        name,
        hook.diagnosis_register_skills(settings=settings),
        lambda folder: isinstance(folder, Path),
        "paths",
    )
    health_checks = _flat(
        "diagnosis_describe_health",
        name,
        hook.diagnosis_describe_health(settings=settings, services=services),
        lambda check: isinstance(check, HealthCheck) and isinstance(check.name, str),
        "health checks (check, name)",
    )
    return Contribution(
        tools=tuple(RegisteredTool(tool, name) for tool in tools),
        observers=tuple(observers),
        skills=tuple(skills),
        health_checks=tuple(health_checks),
        how_to_configure=how_to_configure(model, name),
    )


def _settings(model: object, name: str, given: Mapping[str, Any] | None) -> BaseModel | None:
    if model is not None and not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise _wrong_answer("diagnosis_settings_model", name, "a pydantic model class", model)
    return validated_settings(model, name, given)


def _flat(
    hook: str, name: str, answers: list[Any], fits: Callable[[Any], bool], expected: str
) -> list[Any]:
    """The objects a hook returned; pluggy wraps them in a list and leaves None out."""
    brought: list[Any] = []
    for answer in answers:
        if not isinstance(answer, list | tuple):
            raise _wrong_answer(hook, name, f"a list of {expected}", answer)
        for one in answer:
            if not fits(one):
                raise _wrong_answer(hook, name, f"a list of {expected}", one)
            brought.append(one)
    return brought


def _wrong_answer(hook: str, name: str, expected: str, answer: object) -> PluginError:
    if inspect.iscoroutine(answer):
        answer.close()  # nobody will await it
        return PluginError(
            f"{hook} of plugin {name!r} is async.",
            "Make it a plain function: hooks only register objects.",
        )
    kind = answer.__name__ if isinstance(answer, type) else type(answer).__name__
    return PluginError(f"{hook} of plugin {name!r} returned {kind}.", f"Return {expected}.")
