"""The pure parts: names in PromQL, durations, steps, figures, near names."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.plugin import EvidenceContext
from diagnosis_prometheus.alerts import (
    Alert,
    alert_rules,
    alertmanager_alerts,
    merged,
    prometheus_alerts,
)
from diagnosis_prometheus.alerts_items import alert_items
from diagnosis_prometheus.api import Data, Grid
from diagnosis_prometheus.kinds import Kind, kind_of
from diagnosis_prometheus.metrics_items import Shown, instant_items, range_items
from diagnosis_prometheus.near_names import near_names
from diagnosis_prometheus.promql import metric_names, normalised, quoted
from diagnosis_prometheus.request import ListAlertsRequest, QueryMetricsRequest
from diagnosis_prometheus.series import Series, StrangeResult, number, read_result
from diagnosis_prometheus.settings import PrometheusSettings
from diagnosis_prometheus.stoppable import Halt, Stopped
from diagnosis_prometheus.summary import figures_of, shown_points, summarise
from diagnosis_prometheus.window import duration_ms, duration_text, window_of


@pytest.mark.parametrize(
    ("expr", "names"),
    [
        ("up", ["up"]),
        ("job:requests:rate5m", ["job:requests:rate5m"]),
        ('http_requests_total{job="api", code=~"5.."}', ["http_requests_total"]),
        ("sum by (job, instance) (rate(x_total[5m]))", ["x_total"]),
        ("sum(rate(x_total[5m])) by (job)", ["x_total"]),
        ("sum without (pod) (a) / on (job) group_left (team) b", ["a", "b"]),
        ("a and b or c unless d", ["a", "b", "c", "d"]),
        ("a offset 5m @ end() + b @ 1609746000 - inf + NaN", ["a", "b"]),
        ("max_over_time(a[1h:5m] offset 1d) > bool 3e2", ["a"]),
        ("topk(5, a) * 0x1f", ["a"]),
        ("histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m])))", ["a_bucket"]),
        ('{__name__="a", job="b"}', ["a"]),
        ('{"a.b", job="c"}', ["a.b"]),
        ('{job="c", "a.b"}', ["a.b"]),
        ('{__name__=~"a.*"}', []),
        ('{job="a"}', []),
        ('label_replace(a, "dst", "$1", "src", "(.*)")', ["a"]),
        ("a{x=\"}\"} + b{x='{c'} # d\n + `e`", ["a", "b"]),
        ("count", ["count"]),
        ("sum", ["sum"]),
        ("a + a", ["a"]),
        ("", []),
        ("a{", ["a"]),
        ("a[", ["a"]),
        ("sum by (", []),
        ('a{x="', ["a"]),
        ("1 + 2", []),
    ],
)
def test_metrics_are_found_in_an_expression(expr: str, names: list[str]) -> None:
    assert list(metric_names(expr)) == names


@given(st.text(alphabet="ab_:{}()[]\"'`,=~#@\\ \n0159.中", max_size=60))
def test_no_text_breaks_the_reading_of_expressions(text: str) -> None:
    assert all(name in text for name in metric_names(text))
    assert normalised(normalised(text)) == normalised(text)


@pytest.mark.parametrize(
    ("given_", "same"),
    [
        ("  sum( up )\n", "sum( up )"),
        ("a\t+  b # why", "a + b"),
        ('a{x="two  spaces # here"}', 'a{x="two  spaces # here"}'),
    ],
)
def test_spaces_and_comments_make_no_other_query(given_: str, same: str) -> None:
    assert normalised(given_) == same


def test_a_quoted_text_is_one_string() -> None:
    assert quoted('a"b\\c\n') == '"a\\"b\\\\c\\n"'


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("15s", 15_000), ("5m", 300_000), ("1h30m", 5_400_000), ("1d", 86_400_000), ("60", 60_000),
     ("1.5", 1_500), ("1w", 604_800_000), ("1500ms", 1_500), ("1y", 31_536_000_000)],
)  # fmt: skip
def test_durations_are_those_of_promql(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text", ["", "s", "5 m", "-5m", "0", "0s", "999ms", "2y", "5M", "m5", "1e9", "٥m", "9" * 40]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="step"):
        duration_ms(text)
    if text:
        with pytest.raises(ValueError, match="step"):
            QueryMetricsRequest(expr="up", start="x", step=text)


@given(st.integers(min_value=1_000, max_value=31_536_000_000))
def test_a_duration_is_told_as_it_is_read(milliseconds: int) -> None:
    assert duration_ms(duration_text(milliseconds)) == milliseconds


def test_models_may_send_blanks_and_numbers() -> None:
    request = QueryMetricsRequest.model_validate(
        {"expr": "up", "start": " ", "end": "", "step": 30}
    )
    assert (request.start, request.end, request.step_ms) == (None, None, 30_000)
    assert QueryMetricsRequest.model_validate({"expr": "up", "step": 0.5 * 3}).step_ms == 1_500
    blank = ListAlertsRequest.model_validate({"state": "", "severity": " ", "service": ""})
    assert blank == ListAlertsRequest()


@given(
    end=st.integers(min_value=1_000_000_000, max_value=2_000_000_000),
    length=st.integers(min_value=1, max_value=31 * 86_400),
    step=st.none() | st.integers(min_value=1, max_value=86_400),
)
def test_the_grid_lies_in_the_window_and_ends_near_its_end(
    end: int, length: int, step: int | None
) -> None:
    context = EvidenceContext("r", "c", datetime.fromtimestamp(end, UTC), UTC, 9, 9_999)
    start = datetime.fromtimestamp(end - length, UTC).isoformat()
    window = window_of(start, None, step and step * 1_000, context, PrometheusSettings())
    assert window is not None
    grid = window.grid
    assert window.start <= grid.first <= grid.last <= window.end
    assert window.end - grid.last < 15_000
    assert grid.first - window.start < grid.step
    assert grid.count <= 1_201
    assert step is None or grid.step >= step * 1_000
    assert grid.before.last == grid.first - grid.step
    assert grid.before.count == grid.count


# --- figures ---------------------------------------------------------------------------------


def told(values: list[float], before: list[float] | None, *, is_counter: bool = False) -> dict:  # type: ignore[type-arg]
    grid = Grid(0, 1_000, len(values))
    series = Series({}, [n * 1_000 for n in range(len(values))], list(values))
    earlier = "no samples" if before is None else Series({}, [0] * len(before), list(before))
    summary = summarise(series, earlier, grid, is_counter=is_counter, zone=UTC)  # type: ignore[arg-type]
    assert 0 <= summary.change <= 2
    assert math.isfinite(summary.amount)
    return summary.fields


@given(
    st.lists(st.floats(), min_size=1, max_size=30),
    st.none() | st.lists(st.floats(), min_size=1, max_size=30),
    st.booleans(),
)
def test_any_numbers_make_json(values: list[float], before: list[float] | None, up: bool) -> None:
    json.dumps(told(values, before, is_counter=up), allow_nan=False)
    series = Series({}, list(range(len(values))), list(values))
    points = shown_points(series, 4, UTC)
    assert 1 <= len(points) <= 4
    json.dumps(points, allow_nan=False)


def test_a_percentage_is_of_the_size_before() -> None:
    against = told([-5.0, -5.0], [-10.0])["change_against_before"]
    assert against["avg"] == {"absolute": 5, "percent": 50}
    assert told([1.0], [0.0])["change_against_before"]["avg"]["percent"] is None
    assert told([1.0], [math.inf])["change_against_before"]["avg"] == {
        "absolute": "-Inf",
        "percent": None,
    }


def test_only_nan_is_told_as_nan() -> None:
    fields = told([math.nan, math.nan], None)
    assert fields["max"]["value"] == fields["avg"] == "NaN"
    assert fields["nan_samples"] == 2


@pytest.mark.parametrize(
    ("values", "increase", "resets"),
    [([1, 2, 3], 2, 0), ([5, 7, 1, 4], 6, 1), ([5, 0, 5, 0], 5, 2), ([3], 0, 0)],
)
def test_a_counter_that_falls_began_anew(values: list[float], increase: float, resets: int) -> None:
    figures = figures_of(values)
    assert (figures.increase, figures.resets) == (increase, resets)


def test_spikes_are_among_the_points() -> None:
    values = [1.0] * 300
    values[137], values[222] = 99.0, -99.0
    series = Series({}, [n * 1_000 for n in range(300)], list(values))
    shown = [value for _, value in shown_points(series, 6, UTC)]  # type: ignore[misc, str-unpack]
    assert {99, -99} <= set(shown)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, 1), (-0.0, 0), (0.1, 0.1), (1e300, 1e300), (2.0**53, 2.0**53), (math.inf, "+Inf"),
     (-math.inf, "-Inf"), (math.nan, "NaN")],
)  # fmt: skip
def test_numbers_are_told_as_they_are(value: float, shown: object) -> None:
    assert number(value) == shown


# --- any shape -------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["resultType", "result", "vector", "matrix", "scalar", "string", "metric", "value", "values",
     "histogram", "histograms", "count", "sum", "alerts", "labels", "annotations", "state",
     "firing", "activeAt", "startsAt", "endsAt", "status", "silencedBy", "groups", "rules",
     "query", "duration", "type", "unit", "9999-12-31T23:59:59Z", "0002-01-01T00:00:00Z", "1", "x"]
)  # fmt: skip
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)


def any_shape(like: Any) -> st.SearchStrategy[Any]:
    """Values that are like this one, with any part of it replaced by anything."""
    if isinstance(like, dict):
        kept = st.fixed_dictionaries({name: any_shape(value) for name, value in like.items()})
    elif isinstance(like, list):
        kept = st.tuples(*map(any_shape, like)).map(list)
    else:
        kept = st.just(like)
    return st.integers(0, 9).flatmap(lambda chance: ANY_JSON if chance == 0 else kept)


AT = 1_772_337_600
ALERT = {"labels": {"alertname": "A"}, "annotations": {"summary": "s"}, "state": "firing",
         "activeAt": "2026-03-01T03:00:00Z", "startsAt": "2026-03-01T03:00:00Z",
         "endsAt": "2026-03-01T03:00:00Z", "value": "1",
         "status": {"silencedBy": ["a"]}}  # fmt: skip
HISTOGRAM = {"count": "1", "sum": "2"}
SHAPES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "vector": (
        {"resultType": "vector", "result": [
            {"metric": {"x": "1"}, "value": [AT, "1"]},
            {"metric": {"x": "2"}, "histogram": [AT, HISTOGRAM]}]},
        lambda value: _items(value, None),
    ),
    "matrix": (
        {"resultType": "matrix", "result": [
            {"metric": {"x": "1"}, "values": [[AT, "1"], [AT + 15, "2"]]},
            {"metric": {"x": "2"}, "histograms": [[AT, HISTOGRAM]]}]},
        lambda value: _items(value, Grid(AT * 1_000, 15_000, 3)),
    ),
    "scalar": ({"resultType": "scalar", "result": [AT, "1"]}, lambda value: _items(value, None)),
    "alerts": ({"alerts": [ALERT]}, lambda value: _alerts(prometheus_alerts(value, Halt()))),
    "managed": ([ALERT], lambda value: _alerts(alertmanager_alerts(value, Halt()))),
    "rules": (
        {"groups": [{"rules": [{"query": "x", "duration": 60, "alerts": [ALERT]}]}]},
        lambda value: [duration_text(round(rule.for_s * 1_000))
                       for rule in alert_rules(value, Halt()).of_alert.values()],
    ),
}  # fmt: skip


def _shown() -> Shown:
    zone = ZoneInfo("Asia/Shanghai")
    context = EvidenceContext("r", "c", datetime(2026, 3, 1, tzinfo=UTC), zone, 9, 9_999)
    return Shown("x", {}, context, PrometheusSettings())


def _items(value: Any, grid: Grid | None) -> list[dict[str, Any]]:
    found = read_result(Data(value, partial=False), Halt())
    if grid is None or found.kind != "matrix":
        items = instant_items(found, _shown(), Halt())
    else:
        items = range_items(found, found, grid, _shown(), Halt())
    return [item.fields for item in items]


def _alerts(alerts: list[Alert]) -> list[dict[str, Any]]:
    together = merged(alerts, alerts, Halt())
    return [item.fields for item in alert_items(together, _shown().context, 10)]


@pytest.mark.parametrize("name", SHAPES)
@given(data=st.data())
def test_an_answer_of_any_shape_is_read_or_refused(name: str, data: st.DataObject) -> None:
    like, read = SHAPES[name]
    assert read(like)
    try:
        told = read(data.draw(any_shape(like)))
    except StrangeResult:
        return
    json.dumps(told, allow_nan=False)


# --- kinds and names -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "metadata", "kind"),
    [
        (None, {}, Kind(None, None, counts_up=False)),
        ("jobs_total", {}, Kind(None, None, counts_up=True)),
        ("wait_seconds_total", {}, Kind(None, "seconds", counts_up=True)),
        ("wait_seconds_bucket", {"wait_seconds": "histogram"},
         Kind("histogram", "seconds", counts_up=True)),
        ("wait_seconds_sum", {"wait_seconds": "summary"},
         Kind("summary", "seconds", counts_up=True)),
        ("wait_seconds", {"wait_seconds": "summary"}, Kind("summary", "seconds", counts_up=False)),
        ("pod_count", {}, Kind(None, None, counts_up=False)),
        ("pod_count", {"pod": "gauge"}, Kind(None, None, counts_up=False)),
        ("odd_total", {"odd_total": "gauge"}, Kind("gauge", None, counts_up=False)),
        ("jobs_total", {"jobs": "counter"}, Kind("counter", None, counts_up=True)),
        ("x", {"x": "unheard-of"}, Kind(None, None, counts_up=False)),
        ("x", {"x": None}, Kind(None, None, counts_up=False)),
    ],
)  # fmt: skip
def test_the_kind_of_a_series(
    metric: str | None, metadata: dict[str, str | None], kind: Kind
) -> None:
    answers = {
        name: Data({name: [{"type": type_, "unit": ""}]} if type_ else {name: []}, partial=False)
        for name, type_ in metadata.items()
    }
    assert kind_of(metric, answers) == kind


@pytest.mark.parametrize(
    "value",
    [None, [], {"x": 1}, {"x": [1]}, {"x": [{"type": 1, "unit": 2}]}, {"x": [{"type": []}]}],
)
def test_metadata_of_another_shape_is_none(value: object) -> None:
    assert kind_of("x", {"x": Data(value, partial=False)}) == Kind(None, None, counts_up=False)


def test_near_names_are_the_nearest_first() -> None:
    known = ["http_requests_total", "http_request_seconds", "grpc_requests", "up", "x" * 500]
    assert near_names("http_request_total", known, Halt())[0] == "http_requests_total"
    assert near_names("upp", known, Halt()) == ["up"]
    assert near_names("完全不同", known, Halt()) == []


def test_work_that_nobody_waits_for_stops() -> None:
    halt = Halt()
    halt.stop()
    with pytest.raises(Stopped):
        near_names("a", ["b"], halt)
