"""Evidence plugin `mysql`: the tool `query_mysql` over one MySQL or MariaDB server.

Brings no tool until `[plugins.mysql]` has a `url`. The driver and the SQL parser (extra `mysql`)
are imported only then.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from pydantic import BaseModel

from diagnosis.plugin import EvidenceTool, HealthCheck, PluginServices, hookimpl
from diagnosis_mysql.settings import MysqlSettings

__all__ = ["MysqlSettings"]


def _require_extra() -> None:
    for module in ("asyncmy", "sqlglot"):
        if importlib.util.find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


@hookimpl
def diagnosis_settings_model() -> type[BaseModel]:
    """The model of `[plugins.mysql]`."""
    return MysqlSettings


@hookimpl
def diagnosis_register_evidence_tools(
    settings: MysqlSettings, services: PluginServices
) -> Sequence[EvidenceTool]:
    """`query_mysql`, where a server is configured.

    Raises:
        ModuleNotFoundError: the extra `mysql` is not installed.
        SourceError: the URL is malformed, or its database can never be read.
    """
    if settings.url is None:
        return []
    _require_extra()
    from diagnosis_mysql.tool import MysqlTool

    return [MysqlTool(settings)]


@hookimpl
def diagnosis_describe_health(settings: MysqlSettings) -> Sequence[HealthCheck]:
    """Whether the configured server answers."""
    if settings.url is None:
        return []
    _require_extra()
    from diagnosis_mysql.server import server_version
    from diagnosis_sql.health import ServerHealth

    return [ServerHealth("mysql server", lambda: server_version(settings))]
