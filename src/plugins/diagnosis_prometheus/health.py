"""Whether the configured servers can be used now."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from diagnosis.errors import QueryRejected, SourceError
from diagnosis.plugin import Health, HealthCheck
from diagnosis_prometheus.address import ServerAddress, alertmanager_address, prometheus_address
from diagnosis_prometheus.api import AlertmanagerApi, PrometheusApi
from diagnosis_prometheus.client import ApiClient
from diagnosis_prometheus.settings import PrometheusSettings
from diagnosis_prometheus.trouble import ServerTrouble, Trouble


async def check_api(api: PrometheusApi | AlertmanagerApi, settings: PrometheusSettings) -> str:
    """Ask an open server for its version.

    Raises:
        SourceError: it cannot be used.
    """
    try:
        async with asyncio.timeout(settings.connect_timeout_s):
            return await api.version()
    except ServerTrouble as trouble:
        raise trouble.as_source_error() from None
    except TimeoutError:
        raise ServerTrouble(api.address, Trouble.UNREACHABLE).as_source_error() from None
    except QueryRejected:
        raise ServerTrouble(api.address, Trouble.STRANGE).as_source_error() from None


class ApiHealth:
    """Asks one server once."""

    def __init__(
        self,
        address: ServerAddress,
        api: PrometheusApi | AlertmanagerApi,
        settings: PrometheusSettings,
    ) -> None:
        self.name = f"{address.product.lower()} server"
        self._api = api
        self._settings = settings

    async def check(self) -> Health:
        """Look at it now."""
        client = self._api.client
        await client.open()
        try:
            version = await check_api(self._api, self._settings)
        except SourceError as error:
            return Health(ok=False, detail=error.problem, mend=error.mend)
        finally:
            await client.close()
        return Health(ok=True, detail=f"{version} at {client.address.label}")


def health_checks(settings: PrometheusSettings) -> Sequence[HealthCheck]:
    """One for each configured server.

    Raises:
        SourceError: a URL, its credentials or `tls_ca` cannot be used.
    """
    checks: list[HealthCheck] = []
    if (address := prometheus_address(settings)) is not None:
        checks.append(ApiHealth(address, PrometheusApi(ApiClient(address, settings)), settings))
    if (address := alertmanager_address(settings)) is not None:
        checks.append(ApiHealth(address, AlertmanagerApi(ApiClient(address, settings)), settings))
    return checks
