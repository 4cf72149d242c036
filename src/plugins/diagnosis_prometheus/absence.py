"""Why a query brought no series: is there such a metric at all, and had it samples then?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Any

from pydantic import JsonValue

from diagnosis_prometheus.api import Data, Grid, PrometheusApi
from diagnosis_prometheus.aside import spared
from diagnosis_prometheus.near_names import near_names
from diagnosis_prometheus.promql import metric_names, quoted
from diagnosis_prometheus.series import cut
from diagnosis_prometheus.stoppable import in_thread

_METRICS = 3


async def why_nothing(
    api: PrometheusApi, expr: str, when: Grid | int, limit_s: float
) -> dict[str, JsonValue]:
    """What the scope of an empty result tells of the metrics that the expression names.

    Args:
        api: the server.
        expr: the expression.
        when: the window's grid, or the moment.
        limit_s: seconds that all of it may take.

    Returns:
        `metric_known` (true, false, or null where nobody can tell), and `metrics` with what is
        known of each name.
    """
    names = metric_names(expr)[:_METRICS]
    told = await asyncio.gather(
        *(spared(partial(_told, api, name, when, limit_s), limit_s) for name in names)
    )
    known = [each["known"] if each else None for each in told]
    verdict = False if False in known else None if None in known or not known else True
    scope: dict[str, JsonValue] = {"metric_known": verdict}
    if names:
        scope["metrics"] = {
            cut(name): each or {"known": None} for name, each in zip(names, told, strict=True)
        }
    return scope


async def _told(
    api: PrometheusApi, name: str, when: Grid | int, limit_s: float
) -> dict[str, JsonValue]:
    found = await spared(lambda: api.metric_names(name), limit_s)
    if found is None or not isinstance(found.value, list) or (not found.value and found.partial):
        return {"known": None}
    if found.value:
        return {"known": True, "samples_then": await _samples_then(api, name, when, limit_s)}
    every = await spared(api.metric_names, limit_s)
    known: Any = every.value if every is not None else None
    if not isinstance(known, list):
        return {"known": False}
    texts = [each for each in known if isinstance(each, str)]
    return {"known": False, "near_names": [*await in_thread(lambda h: near_names(name, texts, h))]}


async def _samples_then(
    api: PrometheusApi, name: str, when: Grid | int, limit_s: float
) -> bool | None:
    """Whether any series of the metric has samples at the moments that were looked at."""
    expr = f"count({{__name__={quoted(name)}}})"

    def ask() -> Awaitable[Data]:
        if isinstance(when, Grid):
            return api.range(expr, when, limit_s)
        return api.instant(expr, when, limit_s)

    found = await spared(ask, limit_s)
    result = found.value.get("result") if found and isinstance(found.value, dict) else None
    return bool(result) if isinstance(result, list) else None
