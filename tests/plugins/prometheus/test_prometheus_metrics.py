"""`query_metrics` over two hours of known data on a real server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from diagnosis.plugin import EvidenceResult, QueryRejected, QueryRejection, Truncation

pytestmark = [pytest.mark.service("prometheus"), pytest.mark.service("alertmanager")]

HOUR: dict[str, Any] = {"start": "2026-03-01T03:00:00Z", "end": "2026-03-01T04:00:00Z"}


def by_label(result: EvidenceResult, label: str) -> dict[str, dict[str, Any]]:
    told: list[dict[str, Any]] = [item.fields for item in result.items]
    return {each["labels"][label]: each for each in told}


# --- over a window ---------------------------------------------------------------------------


async def test_a_gauge_is_told_with_its_extremes_and_the_window_before(metrics) -> None:
    result = await metrics(expr="queue_depth", **HOUR)
    told = by_label(result, "queue")
    assert told["订单"] | {"points": []} == {
        "metric": "queue_depth",
        "labels": {"queue": "订单"},
        "last": {"value": 505, "time": "2026-03-01T04:00:00+00:00"},
        "first": {"value": 5, "time": "2026-03-01T03:00:00+00:00"},
        "min": {"value": 5, "time": "2026-03-01T03:00:00+00:00"},
        "max": {"value": 505, "time": "2026-03-01T04:00:00+00:00"},
        "avg": 85.9129,
        "change": 500,
        "before": {"last": 5, "samples": 240, "min": 5, "max": 5, "avg": 5},
        "change_against_before": {
            "avg": {"absolute": 80.9129, "percent": 1618.26},
            "last": {"absolute": 500, "percent": 10000},
        },
        "samples": 241,
        "missing": 0,
        "points": [],
    }
    assert (result.matched, result.truncated) == (4, None)


async def test_from_nothing_there_is_no_percentage(metrics) -> None:
    told = by_label(await metrics(expr="queue_depth", **HOUR), "queue")
    assert told["woken"]["change_against_before"]["last"] == {"absolute": 8, "percent": None}
    assert told["idle"]["change_against_before"]["last"] == {"absolute": 0, "percent": None}


async def test_what_changed_most_comes_first(metrics) -> None:
    result = await metrics(expr="queue_depth", **HOUR)
    assert list(by_label(result, "queue")) == ["woken", "订单", "idle", "mail"]
    assert result.scope["order"] == "changed most first"


async def test_a_counter_is_told_by_what_it_counted(metrics) -> None:
    told = by_label(await metrics(expr="http_requests_total", **HOUR), "instance")
    assert (told["a"]["increase"], told["a"]["resets"]) == (7200, 0)
    assert told["a"]["before"]["increase"] == 3540
    # b began anew at 03:30: it counted 2,900 before and 3,000 after
    assert (told["b"]["increase"], told["b"]["resets"]) == (5900, 1)
    assert "avg" not in told["b"]


async def test_no_samples_before_is_not_zero(metrics) -> None:
    [item] = (await metrics(expr="memory_bytes", **HOUR)).items
    assert item.fields["before"] == "no samples"
    assert "change_against_before" not in item.fields
    assert item.fields["unit"] == "bytes"


async def test_missing_samples_are_told_with_the_longest_gap(metrics) -> None:
    [item] = (await metrics(expr="memory_bytes", step="1m", **HOUR)).items
    # 03:20 to 03:34 (the sample of 03:29 counts for five minutes), and 03:40 to 04:00
    assert (item.fields["samples"], item.fields["missing"]) == (36, 25)
    assert item.fields["longest_gap"] == {
        "from": "2026-03-01T03:00:00+00:00",
        "to": "2026-03-01T03:19:00+00:00",
        "length": "20m",
    }


async def test_a_series_that_is_gone_is_told_and_not_counted(metrics) -> None:
    result = await metrics(expr="up{instance=~'gone|here'}", **HOUR)
    assert list(by_label(result, "instance")) == ["here"]
    assert result.scope["series_gone_since_before"] == 1
    [gone] = result.scope["gone"]
    assert gone["labels"] == {"instance": "gone"}
    assert gone["last"]["value"] == 1


async def test_what_is_no_number_stays_what_it_is(metrics) -> None:
    [item] = (await metrics(expr="flaky_ratio", step="1m", **HOUR)).items
    assert item.fields["max"] == {"value": "+Inf", "time": "2026-03-01T03:20:00+00:00"}
    assert item.fields["min"] == {"value": "-Inf", "time": "2026-03-01T03:30:00+00:00"}
    assert item.fields["avg"] == "NaN"
    assert item.fields["nan_samples"] == 1
    assert item.fields["last"]["value"] == 1.5


async def test_points_are_real_samples_and_few(metrics) -> None:
    told = by_label(await metrics(expr="queue_depth", **HOUR), "queue")
    assert told["idle"]["points"] == [
        ["2026-03-01T03:00:00+00:00", 0],
        ["2026-03-01T04:00:00+00:00", 0],
    ]
    times = [time for time, _ in told["订单"]["points"]]
    assert times == sorted(times)
    assert 3 < len(times) <= 30
    assert told["订单"]["points"][-1] == ["2026-03-01T04:00:00+00:00", 505]


async def test_computed_series_are_told_too(metrics) -> None:
    result = await metrics(expr='sum(rate(http_requests_total{instance="a"}[5m]))', **HOUR)
    [item] = result.items
    assert item.fields["labels"] == {}
    assert item.fields["last"]["value"] == pytest.approx(2)
    assert "increase" not in item.fields


async def test_identities_are_those_of_the_series(metrics) -> None:
    first = await metrics(expr="queue_depth", **HOUR)
    again = await metrics(expr='queue_depth{queue!=""}', start="2026-03-01T03:30:00Z")
    assert {item.identity for item in first.items} == {item.identity for item in again.items}
    # computed ones belong to their expression: the labels say nothing of it
    one = await metrics(expr="sum(queue_depth)", **HOUR)
    other = await metrics(expr="min(queue_depth)", **HOUR)
    assert one.items[0].identity != other.items[0].identity


async def test_series_beyond_the_cap_are_counted(open_tool, monitoring) -> None:
    ask = await open_tool(monitoring.prometheus, series_limit=10)
    for more in (HOUR, {}):
        result = await ask(expr="many", **more)
        assert len(result.items) == 10
        assert (result.matched, result.truncated) == (120, Truncation.ITEMS)


async def test_items_stop_where_the_bytes_are_used_up(metrics, context_at) -> None:
    result = await metrics(expr="many", context=context_at(byte_budget=2_000), **HOUR)
    assert 0 < len(result.items) < 10
    assert (result.matched, result.truncated) == (120, Truncation.ITEMS)


# --- the window and the step -----------------------------------------------------------------


async def test_times_are_told_in_the_runs_zone(metrics, context_at) -> None:
    context = context_at(zone=ZoneInfo("Asia/Shanghai"))
    result = await metrics(
        expr="queue_depth", start="2026-03-01T11:30", end="2026-03-01 11:45:00", context=context
    )
    assert result.scope["start"] == "2026-03-01T11:30:00+08:00"
    assert result.scope["last_point"] == "2026-03-01T11:45:00+08:00"
    assert result.items[0].fields["last"]["time"].endswith("+08:00")


@pytest.mark.parametrize(
    ("start", "step", "points", "effective"),
    [
        ("2026-03-01T03:00:00Z", None, 241, "15s"),
        ("2026-02-28T04:00:00Z", None, 289, "5m"),
        ("2026-02-01T04:00:00Z", None, 225, "3h"),
        ("2026-03-01T03:00:00Z", "10m", 7, "10m"),
        ("2026-03-01T03:00:00Z", "600", 7, "10m"),
        ("2026-03-01T03:59:55Z", None, 1, "15s"),
    ],
)
async def test_the_step_is_chosen_from_the_window(
    metrics, start: str, step: str | None, points: int, effective: str
) -> None:
    result = await metrics(expr="queue_depth", start=start, step=step)
    assert (result.scope["points_per_series"], result.scope["step"]) == (points, effective)
    assert "asked_step" not in result.scope


async def test_a_step_that_is_too_fine_is_made_longer_and_told(metrics) -> None:
    result = await metrics(expr="queue_depth", step="1s", **HOUR)
    assert (result.scope["step"], result.scope["asked_step"]) == ("15s", "1s")


async def test_only_an_end_means_the_hour_before_it(metrics) -> None:
    result = await metrics(expr="queue_depth", end="2026-03-01T03:30:00Z")
    assert result.scope["start"] == "2026-03-01T02:30:00+00:00"


async def test_an_end_after_the_reference_time_is_the_reference_time(metrics) -> None:
    result = await metrics(expr="queue_depth", start=HOUR["start"], end="2026-03-02T00:00:00Z")
    assert result.scope["end"] == "2026-03-01T04:00:00+00:00"
    assert result.scope["asked_end"] == "2026-03-02T00:00:00+00:00"


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ({"start": "yesterday"}, QueryRejection.TIME_INVALID),
        ({"start": "0001-01-01"}, QueryRejection.TIME_INVALID),
        ({"end": "9999-12-31T23:59:59-23:00"}, QueryRejection.TIME_INVALID),
        ({"start": HOUR["end"], "end": HOUR["start"]}, QueryRejection.WINDOW_INVALID),
        ({"start": HOUR["start"], "end": HOUR["start"]}, QueryRejection.WINDOW_INVALID),
        ({"start": "2026-03-01T05:00:00Z"}, QueryRejection.WINDOW_INVALID),
        ({"start": "2025-03-01T05:00:00Z"}, QueryRejection.WINDOW_TOO_LARGE),
        ({"step": "1m"}, QueryRejection.COMBINATION_NOT_ALLOWED),
    ],
)
async def test_a_window_that_is_none_is_refused(
    metrics, times: dict[str, str], reason: QueryRejection
) -> None:
    with pytest.raises(QueryRejected) as caught:
        await metrics(expr="queue_depth", **times)
    assert caught.value.reason is reason


# --- at one moment ---------------------------------------------------------------------------


async def test_without_a_window_it_is_the_reference_time(metrics, context_at) -> None:
    result = await metrics(expr="queue_depth")
    assert result.scope["time"] == "2026-03-01T04:00:00+00:00"
    assert {label: told["value"] for label, told in by_label(result, "queue").items()} == {
        "订单": 505,
        "woken": 8,
        "mail": 3,
        "idle": 0,
    }
    earlier = context_at(datetime(2026, 3, 1, 3, 30, tzinfo=UTC))
    assert (
        by_label(await metrics(expr="queue_depth", context=earlier), "queue")["订单"]["value"] == 5
    )


@pytest.mark.parametrize(
    ("expr", "value"),
    [("6 * 7", 42), ('"纯文本"', "纯文本"), ("1 / 0", "+Inf"), ("vector(0) / 0", "NaN")],
)
async def test_scalars_and_texts_are_results(metrics, expr: str, value: object) -> None:
    result = await metrics(expr=expr)
    assert [item.fields["value"] for item in result.items] == [value]
    assert result.matched == 1


async def test_raw_samples_are_summarised(metrics) -> None:
    result = await metrics(expr='queue_depth{queue="订单"}[5m]')
    [item] = result.items
    assert item.fields["samples"] == 6
    assert item.fields["change"] == 125
    assert "before" not in item.fields
    assert "missing" not in item.fields


async def test_metadata_tells_a_counter_from_a_gauge(metrics, context_at) -> None:
    now = context_at(datetime.now(UTC))  # only what is scraped has metadata
    [item] = (await metrics(expr="jobs_total", context=now)).items
    assert item.fields["type"] == "counter"
    found = await metrics(expr='disk_free_ratio{mount="/数据"}', context=now)
    assert found.items[0].fields["type"] == "gauge"
    assert found.items[0].fields["unit"] == "ratio"
    start = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    [item] = (await metrics(expr="jobs_total", start=start, step="1s", context=now)).items
    assert (item.fields["increase"], item.fields["resets"]) == (0, 0)


# --- nothing found ---------------------------------------------------------------------------


@pytest.mark.parametrize("when", [HOUR, {}])
async def test_a_metric_that_nobody_knows_is_told_with_near_names(metrics, when) -> None:
    result = await metrics(expr='sum by (job) (http_request_total{code="500"})', **when)
    assert not result.items
    assert result.matched == 0
    assert result.scope["metric_known"] is False
    assert result.scope["metrics"] == {
        "http_request_total": {"known": False, "near_names": ["http_requests_total"]}
    }


@pytest.mark.parametrize("when", [HOUR, {}])
async def test_a_metric_without_such_labels_is_known(metrics, when) -> None:
    result = await metrics(expr='queue_depth{queue="没有"}', **when)
    assert not result.items
    assert result.scope["metric_known"] is True
    assert result.scope["metrics"] == {"queue_depth": {"known": True, "samples_then": True}}


async def test_a_metric_without_samples_then_is_known(metrics) -> None:
    result = await metrics(
        expr="queue_depth", start="2026-02-27T03:00:00Z", end="2026-02-27T04:00:00Z"
    )
    assert not result.items
    assert result.scope["metric_known"] is True
    assert result.scope["metrics"] == {"queue_depth": {"known": True, "samples_then": False}}


async def test_where_no_metric_is_named_nobody_can_tell(metrics) -> None:
    result = await metrics(expr='{queue="没有"}')
    assert result.scope["metric_known"] is None
    assert "metrics" not in result.scope


# --- refused by the server -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"expr": "sum(("}, QueryRejection.SYNTAX_ERROR),
        ({"expr": "no_such_function(up)"}, QueryRejection.SYNTAX_ERROR),
        ({"expr": "up{"}, QueryRejection.SYNTAX_ERROR),
        ({"expr": "queue_depth[5m]", **HOUR}, QueryRejection.COMBINATION_NOT_ALLOWED),
        ({"expr": "many * on() queue_depth"}, QueryRejection.QUERY_FAILED),
        ({"expr": "many[1d:1s]"}, QueryRejection.RESULT_TOO_LARGE),
    ],
)
async def test_what_the_server_refuses_has_a_closed_reason(
    metrics, request_: dict[str, str], reason: QueryRejection
) -> None:
    with pytest.raises(QueryRejected) as caught:
        await metrics(**request_)
    assert caught.value.reason is reason


async def test_an_answer_over_the_cap_is_refused(open_tool, monitoring) -> None:
    ask = await open_tool(monitoring.prometheus, response_bytes=65_536)
    with pytest.raises(QueryRejected) as caught:
        await ask(expr="many", **HOUR)
    assert caught.value.reason is QueryRejection.RESULT_TOO_LARGE
    assert (await ask(expr="sum(many)", **HOUR)).items


async def test_the_end_of_a_long_window_is_seen(metrics) -> None:
    result = await metrics(expr='queue_depth{queue="订单"}', start="2026-02-01T00:00:00Z")
    assert result.scope["last_point"] == "2026-03-01T04:00:00+00:00"
    assert result.items[0].fields["last"]["value"] == 505
