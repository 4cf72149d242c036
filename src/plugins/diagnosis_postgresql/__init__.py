"""Evidence plugin `postgresql`: the tool `query_postgresql` over one PostgreSQL server.

Brings no tool until `[plugins.postgresql]` has a `url`. The driver and the SQL parser (extra
`postgres`) are imported only then.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from pydantic import BaseModel

from diagnosis.plugin import EvidenceTool, HealthCheck, PluginServices, hookimpl
from diagnosis_postgresql.settings import PostgresqlSettings

__all__ = ["PostgresqlSettings"]


def _require_extra() -> None:
    for module in ("asyncpg", "sqlglot"):
        if importlib.util.find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


@hookimpl
def diagnosis_settings_model() -> type[BaseModel]:
    """The model of `[plugins.postgresql]`."""
    return PostgresqlSettings


@hookimpl
def diagnosis_register_evidence_tools(
    settings: PostgresqlSettings, services: PluginServices
) -> Sequence[EvidenceTool]:
    """`query_postgresql`, where a server is configured.

    Raises:
        ModuleNotFoundError: the extra `postgres` is not installed.
        SourceError: the URL is malformed.
    """
    if settings.url is None:
        return []
    _require_extra()
    from diagnosis_postgresql.tool import PostgresqlTool

    return [PostgresqlTool(settings)]


@hookimpl
def diagnosis_describe_health(settings: PostgresqlSettings) -> Sequence[HealthCheck]:
    """Whether the configured server answers."""
    if settings.url is None:
        return []
    _require_extra()
    from diagnosis_postgresql.server import server_version
    from diagnosis_sql.health import ServerHealth

    return [ServerHealth("postgresql server", lambda: server_version(settings))]
