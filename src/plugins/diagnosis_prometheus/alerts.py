"""Alerts as the servers tell them, checked, and those that both tell of put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from diagnosis_prometheus.series import (
    SHAPE_ERRORS,
    QueryResult,
    Series,
    StrangeResult,
    milliseconds_of,
)
from diagnosis_prometheus.stoppable import Halt
from diagnosis_prometheus.window import to_milliseconds

State = Literal["firing", "pending"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes an alert: its expression, and how long that must hold, in seconds."""

    expr: str
    for_s: float


@dataclass(frozen=True, slots=True)
class Alert:
    """One instance of an alert.

    Attributes:
        labels: all of them, with `alertname`.
        state: whether its condition has held long enough.
        sources: who tells of it: prometheus, alertmanager.
        suppressed_by: what keeps it quiet: silence, inhibition.
        annotations: texts for people.
        since, until: in milliseconds: when it began; when Alertmanager takes it for resolved
            unless it is told again; or None.
        value: of the expression, as the server wrote it.
        generator: the URL at which its expression can be looked at.
        rule: what makes it, where that is known.
    """

    labels: dict[str, str]
    state: State
    sources: tuple[str, ...]
    suppressed_by: tuple[str, ...] = ()
    annotations: dict[str, str] | None = None
    since: int | None = None
    until: int | None = None
    value: float | None = None
    generator: str | None = None
    rule: Rule | None = None

    @property
    def name(self) -> str:
        """The alert's name."""
        return self.labels.get("alertname", "")

    @property
    def key(self) -> str:
        """All labels as text: what tells the instances apart."""
        return Series(self.labels).key


# --- Prometheus ------------------------------------------------------------------------------


def prometheus_alerts(data: Any, halt: Halt) -> list[Alert]:
    """The answer of `/api/v1/alerts`.

    Raises:
        StrangeResult: it has another shape than promised.
        Stopped: the caller is gone.
    """
    try:
        found = []
        for each in _list(data["alerts"]):
            halt.look()
            if each["state"] in {"firing", "pending"}:
                found.append(
                    Alert(
                        labels=_texts(each["labels"]),
                        state=each["state"],
                        sources=("prometheus",),
                        annotations=_texts(each.get("annotations") or {}),
                        since=_moment(each.get("activeAt")),
                        value=_value(each.get("value")),
                    )
                )
    except SHAPE_ERRORS as error:
        raise StrangeResult from error
    return found


def recorded_alerts(states: QueryResult, began: QueryResult, halt: Halt) -> list[Alert]:
    """Alerts of an earlier moment, from what Prometheus recorded of them.

    Args:
        states: the series `ALERTS` at that moment.
        began: the series `ALERTS_FOR_STATE`, whose values are when the alerts began.
        halt: looked at between two series.

    Raises:
        StrangeResult: what should be a time is none.
        Stopped: the caller is gone.
    """
    since = {}
    for series in began.series:
        value = series.values[-1]
        labels = _without(series.labels, "__name__")
        if isinstance(value, float):
            since[Series(labels).key] = milliseconds_of(value)
    found: dict[str, Alert] = {}
    for series in states.series:
        halt.look()
        labels = _without(series.labels, "__name__", "alertstate")
        state: State = "pending" if series.labels.get("alertstate") == "pending" else "firing"
        alert = Alert(labels, state, ("prometheus",), since=since.get(Series(labels).key))
        # for a while after it fired it may still stand there as pending too
        if state == "firing" or alert.key not in found:
            found[alert.key] = alert
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a Prometheus that make alerts.

    Attributes:
        count: how many there are.
        failing: how many of them could not be evaluated the last time.
        of_alert: the rule of each active alert, by name and all labels.
    """

    count: int
    failing: int
    of_alert: dict[str, Rule]


def alert_rules(data: Any, halt: Halt) -> Rules:
    """The answer of `/api/v1/rules?type=alert`.

    Raises:
        StrangeResult: it has another shape than promised.
        Stopped: the caller is gone.
    """
    count = failing = 0
    of_alert: dict[str, Rule] = {}
    try:
        rules = (rule for group in _list(data["groups"]) for rule in group["rules"])
        for rule in rules:
            halt.look()
            if rule.get("type", "alerting") != "alerting":
                continue
            count += 1
            failing += rule.get("health") == "err"
            told = Rule(_text(rule["query"]), _seconds(rule.get("duration") or 0))
            for alert in rule.get("alerts") or []:
                of_alert[Series(_texts(alert["labels"])).key] = told
    except SHAPE_ERRORS as error:
        raise StrangeResult from error
    return Rules(count, failing, of_alert)


# --- Alertmanager ----------------------------------------------------------------------------


def alertmanager_alerts(data: Any, halt: Halt) -> list[Alert]:
    """The answer of `/api/v2/alerts`, in which nothing is resolved.

    Raises:
        StrangeResult: it has another shape than promised.
        Stopped: the caller is gone.
    """
    try:
        found = []
        for each in _list(data):
            halt.look()
            status = each["status"]
            muted = {
                "silence": status.get("silencedBy"),
                "inhibition": status.get("inhibitedBy"),
                "muted time": status.get("mutedBy"),
            }
            found.append(
                Alert(
                    labels=_texts(each["labels"]),
                    state="firing",
                    sources=("alertmanager",),
                    suppressed_by=tuple(name for name, by in muted.items() if by),
                    annotations=_texts(each.get("annotations") or {}),
                    since=_moment(each["startsAt"]),
                    until=_moment(each.get("endsAt")),
                    generator=_text(each.get("generatorURL") or "") or None,
                )
            )
    except SHAPE_ERRORS as error:
        raise StrangeResult from error
    return found


# --- both ------------------------------------------------------------------------------------


def merged(told: Iterable[Alert], managed: Iterable[Alert], halt: Halt) -> list[Alert]:
    """Every instance once.

    An alert that Alertmanager has is the one of Prometheus if it has the same labels, or those
    and the external labels that Prometheus adds when it sends. Where several could be the one
    (two clusters with one Alertmanager), none is: they stay apart.

    Args:
        told: of Prometheus.
        managed: of Alertmanager.
        halt: looked at between two alerts.

    Raises:
        Stopped: the caller is gone.
    """
    by_key = {alert.key: alert for alert in managed}
    by_name: dict[str, list[Alert]] = defaultdict(list)
    for alert in by_key.values():
        by_name[alert.name].append(alert)
    used: set[str] = set()
    found = []
    for alert in told:
        halt.look()
        # two rules may make alerts of the same labels, of which Alertmanager keeps one
        same = by_key.get(alert.key) or _sent_as(alert, by_name[alert.name], used)
        if same is None or alert.state == "pending":
            found.append(alert)
            continue
        used.add(same.key)
        found.append(
            replace(
                same,
                sources=("prometheus", "alertmanager"),
                since=alert.since if alert.since is not None else same.since,
                value=alert.value,
                rule=alert.rule,
            )
        )
    return [*found, *(alert for key, alert in by_key.items() if key not in used)]


def _sent_as(alert: Alert, candidates: list[Alert], used: set[str]) -> Alert | None:
    labels = alert.labels.items()
    fitting = [
        each for each in candidates if each.key not in used and labels <= each.labels.items()
    ]
    return fitting[0] if len(fitting) == 1 else None


def _moment(text: Any) -> int | None:
    """RFC 3339 as milliseconds; the zero time of these servers (year 1) is no time."""
    if text is None:
        return None
    moment = datetime.fromisoformat(_text(text))
    if not 1 < moment.year < 9999:  # the last one cannot be shown in every zone
        return None
    return to_milliseconds(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not 0 <= seconds < 1e10:
        raise StrangeResult
    return seconds


def _value(text: Any) -> float | None:
    return None if text is None else float(_text(text)[:64])


def _texts(values: Any) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in values.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise StrangeResult
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise StrangeResult
    return value


def _without(labels: dict[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name not in names}
