"""The evidence tool `query_metrics`: one PromQL expression, at a moment or over a window."""

from __future__ import annotations

import asyncio
from datetime import datetime, tzinfo
from functools import partial

from pydantic import BaseModel, JsonValue

from diagnosis.errors import SourceError
from diagnosis.plugin import EvidenceContext, EvidenceItem, EvidenceResult, Truncation
from diagnosis_prometheus.absence import why_nothing
from diagnosis_prometheus.address import prometheus_address
from diagnosis_prometheus.api import Data, PrometheusApi
from diagnosis_prometheus.aside import Clocks, beside, spared
from diagnosis_prometheus.client import ApiClient
from diagnosis_prometheus.health import check_api
from diagnosis_prometheus.kinds import family
from diagnosis_prometheus.metrics_items import (
    Shown,
    gone_series,
    instant_items,
    last_seen,
    range_items,
)
from diagnosis_prometheus.promql import metric_names, normalised
from diagnosis_prometheus.request import QueryMetricsRequest
from diagnosis_prometheus.series import QueryResult, StrangeResult, read_result
from diagnosis_prometheus.settings import PrometheusSettings
from diagnosis_prometheus.stoppable import in_thread
from diagnosis_prometheus.trouble import ServerTrouble, Trouble
from diagnosis_prometheus.window import Window, duration_text, iso, to_milliseconds, window_of

_DESCRIPTION = """\
Evaluates one PromQL expression on the configured Prometheus. With start or end it covers a \
window: each series comes with last, first, min and max (with their times), average, the same \
figures of the equal window before and the change against it, missing samples and a few points; \
series that changed most come first. Without them it gives the values at the reference time. Use \
it for rates, latencies, saturation, queue lengths, restarts and whether targets are up. An \
empty result means that no series matches with samples then; it does not mean zero. The scope \
then says whether the metric is known at all and which names are near. RESULT_TOO_LARGE: \
aggregate with sum by (...) or topk, or take a shorter window."""

_METADATA = 3
_GONE_SHOWN = 5


class MetricsTool:
    """`query_metrics` over one server. `open()` before the first call, `close()` after the last."""

    name = "query_metrics"
    description = _DESCRIPTION
    request: type[BaseModel] = QueryMetricsRequest
    reference = False

    def __init__(self, settings: PrometheusSettings) -> None:
        address = prometheus_address(settings)
        if address is None:
            raise SourceError("There is no Prometheus URL.", settings.mend_unconfigured)
        self._settings = settings
        self._api = PrometheusApi(ApiClient(address, settings))

    def normalise(self, request: QueryMetricsRequest) -> dict[str, JsonValue]:
        """The expression and the instants, so that spacing and notation make no new query."""
        return {
            "expr": normalised(request.expr),
            "start": _normalised_time(request.start),
            "end": _normalised_time(request.end),
            "step": request.step_ms,
        }

    async def open(self) -> None:
        """Ask the server once.

        Raises:
            SourceError: it cannot be reached, refuses the credentials or is no Prometheus.
        """
        await self._api.client.open()
        try:
            await check_api(self._api, self._settings)
        except SourceError:
            await self.close()
            raise

    async def close(self) -> None:
        """Close every connection."""
        await self._api.client.close()

    async def collect(
        self, request: QueryMetricsRequest, context: EvidenceContext
    ) -> EvidenceResult:
        """Evaluate one expression.

        Raises:
            QueryRejected: the times or the expression are refused, or the result is too large.
            SourceUnavailable: the server cannot be used.
            TimeoutError: it took longer than `timeout_s` or than the call has left.
        """
        window = window_of(request.start, request.end, request.step_ms, context, self._settings)
        clocks = Clocks.of(context, self._settings.timeout_s)
        async with asyncio.timeout(clocks.whole_s):
            if window is None:
                return await self._at_once(request, context, clocks)
            return await self._over(window, request, context, clocks)

    async def _at_once(
        self, request: QueryMetricsRequest, context: EvidenceContext, clocks: Clocks
    ) -> EvidenceResult:
        now = to_milliseconds(context.reference_time)
        scope: dict[str, JsonValue] = {
            "expr": request.expr,
            "mode": "instant",
            "time": iso(now, context.zone),
            "series_limit": self._settings.series_limit,
        }
        async with beside(self._metadata(request.expr, clocks)) as metadata:
            found = self._api.instant(request.expr, now, clocks.server_s)
            result = await self._read(await found)
            if not result.series and result.text is None:
                scope |= await why_nothing(self._api, request.expr, now, clocks.left_s)
            shown = Shown(normalised(request.expr), await metadata, context, self._settings)
        items = await in_thread(lambda halt: instant_items(result, shown, halt))
        if len(items) > 1:
            by_change = result.kind == "matrix"
            scope["order"] = "changed most first" if by_change else "highest value first"
        return _result(items, scope, result)

    async def _over(
        self,
        window: Window,
        request: QueryMetricsRequest,
        context: EvidenceContext,
        clocks: Clocks,
    ) -> EvidenceResult:
        expr, grid, zone = request.expr, window.grid, context.zone
        scope = _window_scope(window, request, zone) | {"series_limit": self._settings.series_limit}
        async with (
            beside(self._metadata(expr, clocks)) as metadata,
            beside(spared(partial(self._before, expr, window, clocks), clocks.server_s)) as before,
        ):
            result = await self._read(await self._api.range(expr, grid, clocks.server_s))
            if not result.series:
                scope |= await why_nothing(self._api, expr, grid, clocks.left_s)
            earlier = await before
            shown = Shown(normalised(expr), await metadata, context, self._settings)
        scope["window_before"] = {
            "start": iso(grid.before.first, zone),
            "end": iso(grid.before.last, zone),
            "read": earlier is not None,
        }
        if gone := gone_series(result, earlier):
            scope["series_gone_since_before"] = len(gone)
            scope["gone"] = [dict(last_seen(each, zone)) for each in gone[:_GONE_SHOWN]]
        items = await in_thread(lambda halt: range_items(result, earlier, grid, shown, halt))
        if len(items) > 1:
            scope["order"] = "changed most first"
        return _result(items, scope, result)

    async def _before(self, expr: str, window: Window, clocks: Clocks) -> QueryResult:
        return await self._read(await self._api.range(expr, window.grid.before, clocks.server_s))

    async def _read(self, data: Data) -> QueryResult:
        try:
            return await in_thread(lambda halt: read_result(data, halt))
        except StrangeResult:
            raise ServerTrouble(self._api.address, Trouble.STRANGE) from None

    async def _metadata(self, expr: str, clocks: Clocks) -> dict[str, Data]:
        """Metadata of the metrics that an expression names, as far as the server tells it."""
        names = metric_names(expr)[:_METADATA]
        asked = list(dict.fromkeys(each for name in names for each in (name, family(name))))
        told = await asyncio.gather(
            *(spared(partial(self._api.metadata, name), clocks.server_s) for name in asked)
        )
        return {name: data for name, data in zip(asked, told, strict=True) if data is not None}


def _window_scope(
    window: Window, request: QueryMetricsRequest, zone: tzinfo
) -> dict[str, JsonValue]:
    grid = window.grid
    scope: dict[str, JsonValue] = {
        "expr": request.expr,
        "mode": "range",
        "start": iso(window.start, zone),
        "end": iso(window.end, zone),
        "step": duration_text(grid.step),
        "first_point": iso(grid.first, zone),
        "last_point": iso(grid.last, zone),
        "points_per_series": grid.count,
    }
    if window.asked_end is not None:
        scope["asked_end"] = iso(window.asked_end, zone)
    if not window.step_is_as_asked:
        scope["asked_step"] = request.step
    return scope


def _result(
    items: list[EvidenceItem], scope: dict[str, JsonValue], found: QueryResult
) -> EvidenceResult:
    if found.partial:
        scope["partial"] = "the server could not read all of its data"
        return EvidenceResult(items=tuple(items), scope=scope, truncated=Truncation.SCAN)
    matched = len(found.series) if found.text is None else 1
    return EvidenceResult(
        items=tuple(items),
        scope=scope,
        matched=matched,
        truncated=Truncation.ITEMS if matched > len(items) else None,
    )


def _normalised_time(text: str | None) -> JsonValue:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        # an instant where the text is one; a local time keeps its notation
        return moment.isoformat() if moment.tzinfo is None else to_milliseconds(moment)
    except (ValueError, OverflowError):
        return text
