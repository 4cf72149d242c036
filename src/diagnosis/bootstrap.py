"""The one composition root: settings to an opened `Diagnosis`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from pydantic_ai.models import Model

from diagnosis.agent.offline import OfflineModel
from diagnosis.agent.prompt import load_diagnosis_prompt
from diagnosis.agent.use_case import DiagnosisAgent
from diagnosis.application import Diagnosis
from diagnosis.errors import ConfigurationError
from diagnosis.harness.clock import SystemClock
from diagnosis.harness.invocation_store import InMemoryInvocationStore
from diagnosis.harness.tool_boundary import ToolBoundary
from diagnosis.models.routing import chat_model
from diagnosis.plugin.manager import LoadedPlugins, load_plugins
from diagnosis.plugin.services import PluginServices
from diagnosis.settings import ChatModelSettings, Settings, load_settings

OFFLINE = "offline"


@asynccontextmanager
async def open_diagnosis(
    settings: Settings | None = None, *, model: Model | None = None, plugins: Sequence[object] = ()
) -> AsyncIterator[Diagnosis]:
    """Open the configured sources and tools; close them at the end.

    Args:
        settings: by default what `load_settings` reads.
        model: any PydanticAI model, TestModel and FunctionModel too, instead of the configured one.
        plugins: modules or objects with hook implementations, beside the installed plugins.

    Raises:
        ConfigurationError: settings, a prompt, the model or a configured source cannot be used.
    """
    settings = settings or load_settings()
    prompt = load_diagnosis_prompt(settings.prompts)
    chosen = model or resolve_model(settings.model)
    if settings.logfire:
        _configure_logfire()
    loaded = load_configured_plugins(settings, plugins)
    await loaded.open()
    try:
        store = InMemoryInvocationStore()
        boundary = ToolBoundary(loaded.registry, store)
        yield Diagnosis(
            agent=DiagnosisAgent(
                model=chosen, boundary=boundary, prompt=prompt, instrument=settings.logfire
            ),
            boundary=boundary,
            store=store,
            clock=SystemClock(),
            limits=settings.limits,
            zone=configured_zone(settings),
            observers=loaded.observers,
            plugins=loaded.reports,
        )
    finally:
        await loaded.close()


def load_configured_plugins(
    settings: Settings, plugins: Sequence[object] = (), *, stop_on_failure: bool = True
) -> LoadedPlugins:
    """Every plugin with its own settings; nothing is opened yet.

    Raises:
        ConfigurationError: unless `stop_on_failure` is False, a configured plugin cannot be used.
    """
    return load_plugins(
        plugin_settings=settings.plugins,
        services=PluginServices(),
        extra_plugins=plugins,
        required_tools=settings.tools.required,
        stop_on_failure=stop_on_failure,
    )


def resolve_model(settings: ChatModelSettings) -> Model:
    """The offline rules, or the named model.

    Raises:
        ConfigurationError: there is no such model, or its key is missing.
    """
    if settings.name == OFFLINE:
        return OfflineModel()
    key = settings.api_key.get_secret_value() if settings.api_key else None
    return chat_model(settings.name, base_url=settings.base_url, api_key=key)


def configured_zone(settings: Settings) -> tzinfo:
    """The zone of times that carry none: the configured one, else the system's."""
    if settings.zone is not None:
        return ZoneInfo(settings.zone)
    local = datetime.now().astimezone().tzinfo
    assert local is not None, "astimezone always sets a zone"  # noqa: S101 - narrows the type
    return local


def _configure_logfire() -> None:
    try:
        import logfire
    except ModuleNotFoundError:
        raise ConfigurationError(
            "The setting `logfire` is on, but Logfire is not installed.",
            'Install it: pip install "diagnosis-harness[logfire]".',
        ) from None
    logfire.configure(service_name="diagnosis", console=False, send_to_logfire="if-token-present")
