"""The plugin's settings: the two servers, and how much one call may bring and take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class PrometheusSettings(BaseModel):
    """`[plugins.prometheus]`. Without a URL the plugin brings no tool.

    Attributes:
        url: a server that speaks Prometheus's HTTP API, with its path prefix, without `/api/v1`:
            `https://user:password@host/prometheus`, parts percent-encoded.
        bearer_token: sent to that server, instead of a user and a password.
        alertmanager_url: an Alertmanager, likewise without `/api/v2`.
        alertmanager_bearer_token: sent to the Alertmanager.
        tls_ca: PEM file of the authority that signed the servers' certificates; by default those
            the system trusts.
        timeout_s: seconds one call may take on the servers.
        connect_timeout_s: seconds until a server that does not answer counts as unreachable.
        response_bytes: bytes of one answer, unpacked, that are read.
        series_limit: series of one result at most.
        point_limit: points at most that are shown of one series; the figures are made of all.
        window_minutes: length of the window of a request that names only its end.
        window_days: length of the longest window.
        alert_limit: alerts of one result at most.
        service_labels: the labels that name an alert's service.
        mend_unconfigured: how to give it a server, told where it has none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    mend_unconfigured: ClassVar[str] = (
        "Set DIAGNOSIS_PLUGINS__PROMETHEUS__URL, give --prometheus URL or --alertmanager URL, or "
        "set url or alertmanager_url under [plugins.prometheus]."
    )

    url: SecretStr | None = None
    bearer_token: SecretStr | None = None
    alertmanager_url: SecretStr | None = None
    alertmanager_bearer_token: SecretStr | None = None
    tls_ca: Path | None = None
    timeout_s: float = Field(default=10, gt=0, le=600, allow_inf_nan=False)
    connect_timeout_s: float = Field(default=5, gt=0, le=60, allow_inf_nan=False)
    response_bytes: int = Field(default=4_194_304, ge=65_536, le=67_108_864)
    series_limit: int = Field(default=50, ge=1, le=1_000)
    point_limit: int = Field(default=30, ge=4, le=300)
    window_minutes: int = Field(default=60, ge=1, le=44_640)
    window_days: int = Field(default=31, ge=1, le=3_660)
    alert_limit: int = Field(default=100, ge=1, le=1_000)
    service_labels: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] = (
        "service",
        "job",
        "app",
        "application",
    )
