"""Both tools keep the contract of evidence tools, by the kit that plugin authors run."""

from __future__ import annotations

import asyncio
import urllib.request
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from diagnosis.testing.conformance import CHECKS, check_evidence_tool
from diagnosis_prometheus.alerts_tool import AlertsTool
from diagnosis_prometheus.metrics_tool import MetricsTool
from diagnosis_prometheus.settings import PrometheusSettings

pytestmark = [pytest.mark.service("prometheus"), pytest.mark.service("alertmanager")]

PASSWORD = "s3cr3t-p4ssword"
GONE = PrometheusSettings(
    url=SecretStr(f"http://me:{PASSWORD}@127.0.0.1:9"),
    alertmanager_url=SecretStr(f"http://me:{PASSWORD}@127.0.0.1:9"),
)
NEVER_RUN = {"paging"}  # neither request has a limit


def with_password(url: str) -> SecretStr:
    """The real servers ask for no credentials: those that are sent must still be shown nowhere."""
    return SecretStr(url.replace("://", f"://me:{PASSWORD}@"))


async def test_query_metrics_conforms(monitoring) -> None:
    settings = PrometheusSettings(url=with_password(monitoring.prometheus))
    report = await check_evidence_tool(
        MetricsTool(settings),
        requests=[
            {"expr": "queue_depth"},
            {"expr": "queue_depth", "start": "2026-03-01T03:00:00Z", "step": "30s"},
            {"expr": "rate(http_requests_total[5m])", "end": "2026-03-01T03:30:00Z"},
            {"expr": 'queue_depth{queue="订单"}[10m]'},
            {"expr": "42"},
        ],
        empty_request={"expr": "queue_depths", "start": "2026-03-01T03:00:00Z"},
        rejected_requests=[
            {"expr": "sum("},
            {"expr": ""},
            {"expr": "up", "step": "often"},
            {"expr": "up", "step": "1m"},
            {"expr": "up", "start": "yesterday"},
            {"expr": "up", "start": "2026-03-01T05:00:00Z"},
            {"expr": "up", "unknown": 1},
            {"expr": "up[5m]", "start": "2026-03-01T03:00:00Z"},
        ],
        large_request={"expr": "many", "start": "2026-03-01T03:00:00Z"},
        slow_request={"expr": "sum(max_over_time(many[2h:1s]))"},
        unavailable_tool=MetricsTool(GONE),
        settings=settings,
        secrets=[PASSWORD],
        reference_time=datetime(2026, 3, 1, 4, tzinfo=UTC),
    )
    assert set(CHECKS) - set(report.passed) <= NEVER_RUN | {"describe"}


async def test_list_alerts_conforms(monitoring) -> None:
    settings = PrometheusSettings(
        url=with_password(monitoring.prometheus),
        alertmanager_url=with_password(monitoring.alertmanager),
    )
    report = await check_evidence_tool(
        AlertsTool(settings),
        requests=[
            {},
            {"state": "firing", "severity": "critical"},
            {"state": "suppressed"},
            {"service": "orders"},
        ],
        empty_request={"service": "没有"},
        rejected_requests=[{"state": "broken"}, {"unknown": 1}, {"severity": 1}],
        unavailable_tool=AlertsTool(GONE),
        settings=settings,
        secrets=[PASSWORD],
    )
    assert set(CHECKS) - set(report.passed) <= NEVER_RUN | {"byte_bounds"}


async def test_many_alerts_and_a_slow_server_conform(scripted, replying) -> None:
    _, success = replying
    alerts = [
        {
            "labels": {"alertname": "Down", "instance": f"机器-{n}", "severity": "critical"},
            "annotations": {"summary": "停机" * 100},
            "state": "firing",
            "activeAt": "2026-03-01T03:00:00Z",
            "value": "1e+00",
        }
        for n in range(2_000)
    ]

    async def slow(writer: Any) -> None:
        await asyncio.sleep(0.3)
        await success({"alerts": alerts})(writer)

    scripted.replies["/alerts"] = slow
    report = await check_evidence_tool(
        AlertsTool(PrometheusSettings(url=SecretStr(scripted.url))),
        requests=[{}],
        large_request={"state": "firing"},
        is_working=lambda: scripted.busy > 0,
    )
    assert {"byte_bounds", "cancellation", "timeouts", "responsiveness"} <= set(report.passed)


async def test_a_query_that_the_server_works_on_ends_with_the_call(monitoring) -> None:
    def is_working() -> bool:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{monitoring.prometheus}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        return "\nprometheus_engine_queries 0" not in text

    report = await check_evidence_tool(
        MetricsTool(PrometheusSettings(url=SecretStr(monitoring.prometheus))),
        requests=[{"expr": "1"}],
        slow_request={"expr": "sum_over_time(vector(time())[8h:10ms])"},
        is_working=is_working,
        reference_time=datetime(2026, 3, 1, 4, tzinfo=UTC),
    )
    assert "cancellation" in report.passed


async def test_both_windows_end_with_the_call(scripted) -> None:
    scripted.replies["/query_range"] = lambda _: asyncio.sleep(60)
    tool = MetricsTool(PrometheusSettings(url=SecretStr(scripted.url)))
    scripted.replies["/query"] = replying_one
    report = await check_evidence_tool(
        tool,
        requests=[{"expr": "1"}],
        slow_request={"expr": "1", "start": "2026-03-01T03:00:00Z"},
        is_working=lambda: scripted.busy > 0,
        reference_time=datetime(2026, 3, 1, 4, tzinfo=UTC),
    )
    assert "cancellation" in report.passed


async def replying_one(writer: asyncio.StreamWriter) -> None:
    body = b'{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}'
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
