"""Prints two hours of a shop's metrics, one sample a minute: what promtool makes blocks of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

REFERENCE = datetime(2026, 3, 1, 4, 0, tzinfo=UTC)
START = REFERENCE - timedelta(hours=2)
MINUTES = 120
MANY = 120

Value = Callable[[int], float | str | None]


def _requests(minute: int) -> float:
    # 60 a minute, from the second hour on 120
    return 60.0 * minute + max(0, minute - 60) * 60.0


def _restarted(minute: int) -> float:
    return 100.0 * minute if minute < 90 else 100.0 * (minute - 90)


def _queue(minute: int) -> float:
    return 5.0 if minute < 100 else 5.0 + (minute - 100) * 25.0


def _late(minute: int) -> float | None:
    return None if minute < 80 or 90 <= minute < 100 else 1_000_000.0 + minute


def _flaky(minute: int) -> float | str:
    return {70: "NaN", 80: "+Inf", 90: "-Inf"}.get(minute, 1.5)


def _alert(began: int) -> Value:
    return lambda minute: 1.0 if minute >= began else None


def _began(began: int) -> Value:
    at = (START + timedelta(minutes=began)).timestamp()
    return lambda minute: at if minute >= began else None


SERIES: dict[str, list[tuple[str, Value]]] = {
    "TYPE http_requests counter": [
        ('http_requests_total{service="checkout",instance="a"}', _requests),
        ('http_requests_total{service="checkout",instance="b"}', _restarted),
    ],
    "TYPE queue_depth gauge": [
        ('queue_depth{queue="订单"}', _queue),
        ('queue_depth{queue="mail"}', lambda _: 3.0),
        ('queue_depth{queue="idle"}', lambda _: 0.0),
        ('queue_depth{queue="woken"}', lambda minute: 0.0 if minute < 61 else 8.0),
    ],
    "TYPE up gauge": [
        ('up{instance="gone"}', lambda minute: 1.0 if minute < 50 else None),
        ('up{instance="here"}', lambda _: 1.0),
    ],
    "TYPE memory_bytes gauge": [('memory_bytes{pod="new"}', _late)],
    "TYPE flaky_ratio gauge": [("flaky_ratio", _flaky)],
    "TYPE many gauge": [
        (f'many{{n="{n:03}"}}', lambda minute, n=n: float(minute * n)) for n in range(MANY)
    ],
    "TYPE ALERTS gauge": [
        ('ALERTS{alertname="QueueGrows",alertstate="firing",severity="critical",queue="订单"}',
         _alert(105)),
        ('ALERTS{alertname="Restarted",alertstate="pending",severity="warning",job="checkout"}',
         _alert(118)),
    ],
    "TYPE ALERTS_FOR_STATE gauge": [
        ('ALERTS_FOR_STATE{alertname="QueueGrows",severity="critical",queue="订单"}', _began(101)),
    ],
}  # fmt: skip


def open_metrics() -> Iterator[str]:
    """The lines that promtool makes blocks of."""
    for head, series in SERIES.items():
        yield f"# {head}"
        for name, value in series:
            for minute in range(MINUTES + 1):
                sample = value(minute)
                if sample is not None:
                    at = int((START + timedelta(minutes=minute)).timestamp())
                    yield f"{name} {sample} {at}"
    yield "# EOF"


if __name__ == "__main__":
    print("\n".join(open_metrics()))
