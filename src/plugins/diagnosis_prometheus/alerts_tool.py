"""The evidence tool `list_alerts`: which alerts are active, as Prometheus and Alertmanager say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from diagnosis.errors import SourceError
from diagnosis.plugin import (
    EvidenceContext,
    EvidenceResult,
    QueryRejected,
    SourceUnavailable,
    Truncation,
)
from diagnosis_prometheus import alerts as reading
from diagnosis_prometheus.address import alertmanager_address, prometheus_address
from diagnosis_prometheus.alerts import Alert, Rules
from diagnosis_prometheus.alerts_items import alert_items, selected, totals
from diagnosis_prometheus.api import AlertmanagerApi, PrometheusApi
from diagnosis_prometheus.aside import Clocks, spared
from diagnosis_prometheus.client import ApiClient
from diagnosis_prometheus.health import check_api
from diagnosis_prometheus.request import ListAlertsRequest
from diagnosis_prometheus.series import StrangeResult, read_result
from diagnosis_prometheus.settings import PrometheusSettings
from diagnosis_prometheus.stoppable import in_thread
from diagnosis_prometheus.trouble import ServerTrouble, Trouble
from diagnosis_prometheus.window import iso, to_milliseconds

_DESCRIPTION = """\
Lists alerts of the configured Prometheus and Alertmanager: every instance with its labels, \
state, severity, since when, value, summary and description, and whether a silence or an \
inhibition keeps it quiet; the worst and oldest first. Use it first, to learn what is known to \
be wrong and since when. Where the reference time is the present, these are the alerts of now; \
for an earlier one they are those that Prometheus recorded for that moment. No alert means that \
no alert rule applies, not that all is well: the scope tells how many rules there are, how many \
alerts there are without the filters, and which server could not be read."""

# A reference time that is no longer ago than this is the present.
_PRESENT_MS = 5 * 60_000

Found = TypeVar("Found")


@dataclass(slots=True)
class _Collected:
    """What the servers told, and what became of asking each."""

    alerts: list[Alert] = field(default_factory=list)
    rules: Rules | None = None
    states: dict[str, str] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)
    servers_read: int = 0
    complete: bool = True


class AlertsTool:
    """`list_alerts` over one or both servers. `open()` before the first call, then `close()`."""

    name = "list_alerts"
    description = _DESCRIPTION
    request: type[BaseModel] = ListAlertsRequest
    reference = False

    def __init__(self, settings: PrometheusSettings) -> None:
        self._settings = settings
        prometheus, manager = prometheus_address(settings), alertmanager_address(settings)
        self._prometheus = PrometheusApi(ApiClient(prometheus, settings)) if prometheus else None
        self._manager = AlertmanagerApi(ApiClient(manager, settings)) if manager else None
        both: tuple[PrometheusApi | AlertmanagerApi | None, ...] = (self._prometheus, self._manager)
        self._apis = [api for api in both if api is not None]
        if not self._apis:
            raise SourceError("There is no URL of a server.", settings.mend_unconfigured)

    def describe(self) -> str:
        """Which servers are asked, and which labels name a service; at most 1 KiB."""
        servers = " and ".join(api.address.product for api in self._apis)
        labels = ", ".join(self._settings.service_labels)
        text = f"Asks {servers}. Labels that name a service: {labels}."
        encoded = text.encode()
        return text if len(encoded) <= 1_024 else encoded[:1_000].decode("utf-8", "ignore") + "…"

    async def open(self) -> None:
        """Ask each server once.

        Raises:
            SourceError: none of them can be used. One that cannot, beside one that can, is told
                in the scope of every result.
        """
        problems: list[SourceError] = []
        for api in self._apis:
            await api.client.open()
            try:
                await check_api(api, self._settings)
            except SourceError as error:
                problems.append(error)
        if len(problems) == len(self._apis):
            await self.close()
            raise problems[0]

    async def close(self) -> None:
        """Close every connection."""
        for api in self._apis:
            await api.client.close()

    async def collect(self, request: ListAlertsRequest, context: EvidenceContext) -> EvidenceResult:
        """List the alerts of the reference time.

        Raises:
            QueryRejected: RESULT_TOO_LARGE, from the only server that could be read.
            SourceUnavailable: no server can be read.
            TimeoutError: it took longer than `timeout_s` or than the call has left.
        """
        clocks = Clocks.of(context, self._settings.timeout_s)
        now = to_milliseconds(context.reference_time)
        is_present = now >= to_milliseconds(datetime.now(UTC)) - _PRESENT_MS
        async with asyncio.timeout(clocks.whole_s):
            collected = await (self._present(clocks) if is_present else self._past(now, clocks))
        if not collected.servers_read:
            raise collected.failures[0]
        scope: dict[str, JsonValue] = {
            "as_of": "the present" if is_present else iso(now, context.zone),
            "servers": dict(sorted(collected.states.items(), reverse=True)),
            "limit": self._settings.alert_limit,
        }
        for name in ("state", "severity", "service"):
            if (value := getattr(request, name)) is not None:
                scope[name] = value
        if collected.rules is not None:
            scope["alert_rules"] = collected.rules.count
            if collected.rules.failing:
                scope["alert_rules_failing"] = collected.rules.failing
        scope |= totals(collected.alerts, self._settings)
        chosen = selected(collected.alerts, request, self._settings)
        items = alert_items(chosen, context, self._settings.alert_limit)
        cut = Truncation.ITEMS if len(chosen) > len(items) else None
        return EvidenceResult(
            items=tuple(items),
            scope=scope,
            matched=len(chosen) if collected.complete else None,
            truncated=cut if collected.complete else Truncation.SCAN,
        )

    # --- the present -------------------------------------------------------------------------

    async def _present(self, clocks: Clocks) -> _Collected:
        collected = _Collected()
        told, managed, rules = await asyncio.gather(
            self._asked("prometheus", self._told, collected, clocks),
            self._asked("alertmanager", self._managed, collected, clocks),
            spared(self._rules, clocks.server_s),
        )
        collected.rules = rules
        if rules is not None:
            told = [replace(each, rule=rules.of_alert.get(each.key)) for each in told or []]
        collected.alerts = await in_thread(
            lambda halt: reading.merged(told or [], managed or [], halt)
        )
        return collected

    async def _asked(
        self,
        name: str,
        ask: Callable[[], Awaitable[Found | None]],
        collected: _Collected,
        clocks: Clocks,
    ) -> Found | None:
        """One server's answer, or None; what became of it is noted."""
        try:
            async with asyncio.timeout(clocks.server_s):
                found = await ask()
        except (SourceUnavailable, TimeoutError, QueryRejected) as failure:
            collected.states[name] = _STATE_OF.get(type(failure), "could not be read")
            collected.failures.append(failure)
            collected.complete = False
            return None
        if found is not None:
            collected.states[name] = "read"
            collected.servers_read += 1
        return found

    async def _told(self) -> list[Alert] | None:
        if self._prometheus is None:
            return None
        data = await self._prometheus.alerts()
        return await self._checked(
            self._prometheus, lambda halt: reading.prometheus_alerts(data.value, halt)
        )

    async def _managed(self) -> list[Alert] | None:
        if self._manager is None:
            return None
        data = await self._manager.alerts()
        return await self._checked(
            self._manager, lambda halt: reading.alertmanager_alerts(data.value, halt)
        )

    async def _rules(self) -> Rules | None:
        if self._prometheus is None:
            return None
        data = await self._prometheus.alert_rules()
        return await self._checked(
            self._prometheus, lambda halt: reading.alert_rules(data.value, halt)
        )

    @staticmethod
    async def _checked(api: PrometheusApi | AlertmanagerApi, read: Callable[..., Found]) -> Found:
        try:
            return await in_thread(read)
        except StrangeResult:
            raise ServerTrouble(api.address, Trouble.STRANGE) from None

    # --- the past ----------------------------------------------------------------------------

    async def _past(self, now: int, clocks: Clocks) -> _Collected:
        """What Prometheus recorded; an Alertmanager alone knows only what still goes on."""
        collected = _Collected()
        if self._prometheus is not None:
            recorded = await self._asked(
                "prometheus", lambda: self._recorded(now, clocks), collected, clocks
            )
            collected.alerts = recorded or []
            if self._manager is not None:
                collected.states["alertmanager"] = "not asked: it knows only the present"
            return collected
        managed = await self._asked("alertmanager", self._managed, collected, clocks)
        collected.alerts = [
            each for each in managed or [] if each.since is not None and each.since <= now
        ]
        if not collected.failures:
            collected.states["alertmanager"] = (
                "read: what had begun by then and still goes on; it forgets what has ended"
            )
        collected.complete = False
        return collected

    async def _recorded(self, now: int, clocks: Clocks) -> list[Alert] | None:
        api = self._prometheus
        if api is None:
            return None
        states = await api.instant("ALERTS", now, clocks.server_s)
        began = await api.instant("ALERTS_FOR_STATE", now, clocks.server_s)
        return await self._checked(
            api,
            lambda halt: reading.recorded_alerts(
                read_result(states, halt), read_result(began, halt), halt
            ),
        )


_STATE_OF: dict[type[Exception], str] = {
    TimeoutError: "did not answer in time",
    QueryRejected: "has more alerts than can be read",
}
