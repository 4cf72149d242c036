"""Evidence plugin `prometheus`: `query_metrics` and `list_alerts` over Prometheus, Alertmanager.

Brings no tool until `[plugins.prometheus]` has a `url` or an `alertmanager_url`. The HTTP client
(extra `prometheus`) is imported only then.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from pydantic import BaseModel

from diagnosis.plugin import EvidenceTool, HealthCheck, PluginServices, hookimpl
from diagnosis_prometheus.settings import PrometheusSettings

__all__ = ["PrometheusSettings"]


def _require_extra() -> None:
    if importlib.util.find_spec("httpx") is None:
        raise ModuleNotFoundError("No module named 'httpx'", name="httpx")


@hookimpl
def diagnosis_settings_model() -> type[BaseModel]:
    """The model of `[plugins.prometheus]`."""
    return PrometheusSettings


@hookimpl
def diagnosis_register_evidence_tools(
    settings: PrometheusSettings, services: PluginServices
) -> Sequence[EvidenceTool]:
    """`query_metrics` where a Prometheus is configured, `list_alerts` where either server is.

    Raises:
        ModuleNotFoundError: the extra `prometheus` is not installed.
        SourceError: a URL, its credentials or `tls_ca` cannot be used.
    """
    if settings.url is None and settings.alertmanager_url is None:
        return []
    _require_extra()
    from diagnosis_prometheus.alerts_tool import AlertsTool
    from diagnosis_prometheus.metrics_tool import MetricsTool

    alerts = AlertsTool(settings)
    return [alerts] if settings.url is None else [MetricsTool(settings), alerts]


@hookimpl
def diagnosis_describe_health(settings: PrometheusSettings) -> Sequence[HealthCheck]:
    """Whether each configured server answers."""
    if settings.url is None and settings.alertmanager_url is None:
        return []
    _require_extra()
    from diagnosis_prometheus.health import health_checks

    return health_checks(settings)
