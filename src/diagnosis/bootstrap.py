"""The one composition root: settings to an opened `Diagnosis`.

The framework is imported last: its import takes a second, in which opened tools already prepare.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from diagnosis.errors import ConfigurationError
from diagnosis.models.embedding_settings import EmbeddingModelSettings
from diagnosis.plugin.manager import LoadedPlugins, load_plugins
from diagnosis.plugin.services import PluginServices
from diagnosis.settings import ChatModelSettings, Settings, load_settings
from diagnosis.storage.late import LateDocuments

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from diagnosis.application import Diagnosis
    from diagnosis.models.embedding import RemoteEmbedder

OFFLINE = "offline"


@asynccontextmanager
async def open_diagnosis(
    settings: Settings | None = None, *, model: Model | None = None, plugins: Sequence[object] = ()
) -> AsyncIterator[Diagnosis]:
    """Open the configured sources and tools; close them at the end.

    Args:
        settings: by default what `load_settings` reads.
        model: any PydanticAI model, TestModel and FunctionModel too, instead of the configured one;
            it stays open.
        plugins: modules or objects with hook implementations, beside the installed plugins.

    Raises:
        ConfigurationError: settings, a prompt, the model or a configured source cannot be used.
    """
    settings = settings or load_settings()
    async with AsyncExitStack() as opened:
        services = await opened.enter_async_context(open_services(settings))
        loaded = load_configured_plugins(settings, services, plugins)
        opened.push_async_callback(loaded.close)
        await loaded.open()
        if model is None:
            model = await opened.enter_async_context(resolve_model(settings.model))
        if settings.logfire:
            _configure_logfire()
        yield _compose(settings, loaded, model)


def _compose(settings: Settings, loaded: LoadedPlugins, model: Model) -> Diagnosis:
    from diagnosis.agent.prompt import load_diagnosis_prompt
    from diagnosis.agent.use_case import DiagnosisAgent
    from diagnosis.application import Diagnosis
    from diagnosis.harness.clock import SystemClock
    from diagnosis.harness.invocation_store import InMemoryInvocationStore
    from diagnosis.harness.tool_boundary import ToolBoundary

    store = InMemoryInvocationStore()
    boundary = ToolBoundary(loaded.registry, store)
    return Diagnosis(
        agent=DiagnosisAgent(
            model=model,
            boundary=boundary,
            prompt=load_diagnosis_prompt(settings.prompts),
            instrument=settings.logfire,
        ),
        boundary=boundary,
        store=store,
        clock=SystemClock(),
        limits=settings.limits,
        zone=configured_zone(settings),
        observers=loaded.observers,
        plugins=loaded.reports,
    )


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[PluginServices]:
    """What plugins are lent; closed at the end. The database is opened by its first use.

    Raises:
        ConfigurationError: there is no such embedding model, or its key is missing.
    """
    async with AsyncExitStack() as opened:
        documents = LateDocuments(settings.storage.database_file)
        opened.push_async_callback(documents.close)
        embedder = configured_embedder(settings.embedding)
        if embedder is not None:
            opened.push_async_callback(embedder.close)
        yield PluginServices(embedder, documents)


def load_configured_plugins(
    settings: Settings,
    services: PluginServices,
    plugins: Sequence[object] = (),
    *,
    stop_on_failure: bool = True,
) -> LoadedPlugins:
    """Every plugin with its own settings; nothing is opened yet.

    Args:
        settings, plugins: as `open_diagnosis`.
        services: lent to the plugins.
        stop_on_failure: whether a plugin that cannot be used ends the start.

    Raises:
        ConfigurationError: unless `stop_on_failure` is False, a configured plugin cannot be used.
    """
    return load_plugins(
        plugin_settings=settings.plugins,
        services=services,
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
        from diagnosis.agent.offline import OfflineModel

        return OfflineModel()
    from diagnosis.models.routing import chat_model

    key = settings.api_key.get_secret_value() if settings.api_key else None
    return chat_model(settings.name, base_url=settings.base_url, api_key=key)


def configured_embedder(settings: EmbeddingModelSettings) -> RemoteEmbedder | None:
    """The named embedding model, for the caller to close; None for the plugins' offline one.

    Raises:
        ConfigurationError: there is no such model, or its key is missing.
    """
    if settings.name == OFFLINE:
        return None
    from diagnosis.models.embedding import RemoteEmbedder

    return RemoteEmbedder(settings)


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
