"""The plugin `logs`: searches log files and folders as evidence (`query_logs`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from diagnosis.plugin import EvidenceTool, HealthCheck, PluginServices, hookimpl
from diagnosis_logs.settings import LogsSettings

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["LogsSettings", "latest_time"]


@hookimpl
def diagnosis_settings_model() -> type[BaseModel]:
    """`[plugins.logs]`."""
    return LogsSettings


@hookimpl
def diagnosis_register_evidence_tools(
    settings: LogsSettings, services: PluginServices
) -> Sequence[EvidenceTool]:
    """`query_logs` over the configured sources; nothing where there are none.

    Raises:
        SourceError: a configured path is missing, unreadable, binary or holds no log.
    """
    del services  # none is needed
    if not settings.paths and not settings.sources:
        return []
    from diagnosis_logs.checking import check_sources
    from diagnosis_logs.sources import LogSources
    from diagnosis_logs.tool import QueryLogs

    sources = LogSources(settings)
    check_sources(sources)
    return [QueryLogs(settings, sources)]


@hookimpl
def diagnosis_describe_health(settings: LogsSettings) -> Sequence[HealthCheck]:
    """One check for each configured path."""
    from diagnosis_logs.health import SourceCheck
    from diagnosis_logs.sources import LogSources

    return [SourceCheck(root.name, root) for root in LogSources(settings).roots]


def latest_time(settings: LogsSettings, zone: tzinfo) -> datetime | None:
    """The last time found in the configured logs, or None where they have none.

    Reads files: call it in a thread where an event loop runs.

    Args:
        settings: which logs, and the zone of their times.
        zone: of times that carry none, where the settings name none; and of the answer, where
            the last line shows no offset of its own.

    Raises:
        SourceError: a configured path cannot be used.
    """
    from diagnosis_logs import spans

    return spans.latest_time(settings, zone)
