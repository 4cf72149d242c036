"""The items of `list_alerts`: which alerts a request means, in which order, and what is told."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo

from pydantic import JsonValue

from diagnosis.plugin import EvidenceContext, EvidenceItem
from diagnosis_prometheus.alerts import Alert
from diagnosis_prometheus.request import ListAlertsRequest
from diagnosis_prometheus.series import cut, number, shown_labels
from diagnosis_prometheus.settings import PrometheusSettings
from diagnosis_prometheus.window import duration_text, iso

_WORST_FIRST = (
    ("emergency", "disaster", "blocker", "page", "p0", "sev0"),
    ("critical", "crit", "fatal", "p1", "sev1", "严重", "紧急"),
    ("error", "high", "major", "p2", "sev2"),
    ("warning", "warn", "medium", "minor", "p3", "sev3", "警告"),
    ("info", "informational", "notice", "low", "p4", "sev4", "none"),
)
_RANK = {name: rank for rank, names in enumerate(_WORST_FIRST) for name in names}
# An unknown severity may be of any rank: it stands between a warning and an information.
_UNKNOWN_RANK = len(_WORST_FIRST) - 1.5
_ANNOTATION_CHARACTERS = 500
_ANNOTATIONS = 10
_VALUES_SHOWN = 20


def selected(
    alerts: Sequence[Alert], request: ListAlertsRequest, settings: PrometheusSettings
) -> list[Alert]:
    """The alerts that a request means, the worst first, then the oldest."""
    fitting = [alert for alert in alerts if _fits(alert, request, settings.service_labels)]
    return sorted(fitting, key=_order)


def _fits(alert: Alert, request: ListAlertsRequest, service_labels: Sequence[str]) -> bool:
    if request.state == "suppressed":
        if not alert.suppressed_by:
            return False
    elif request.state is not None and alert.state != request.state:
        return False
    if request.severity is not None and severity_of(alert) != _folded(request.severity):
        return False
    if request.service is None:
        return True
    return _folded(request.service) in {
        _folded(alert.labels[label]) for label in service_labels if label in alert.labels
    }


def _order(alert: Alert) -> tuple[float, bool, bool, int, str, str]:
    rank = _RANK.get(severity_of(alert), _UNKNOWN_RANK)
    since = alert.since
    made_by = "" if alert.rule is None else alert.rule.expr
    return (rank, alert.state == "pending", since is None, since or 0, alert.key, made_by)


def severity_of(alert: Alert) -> str:
    """The label `severity`, letter case ignored; empty where there is none."""
    return _folded(alert.labels.get("severity", ""))


def _folded(text: str) -> str:
    return text.strip().casefold()


def alert_items(
    alerts: Sequence[Alert], context: EvidenceContext, limit: int
) -> list[EvidenceItem]:
    """One item an instance, until the limit or the bytes are used up; there is at least one."""
    items: list[EvidenceItem] = []
    seen: Counter[str] = Counter()
    size = 0
    for alert in alerts[:limit]:
        if size > context.byte_budget:
            break
        fields = _fields(alert, context.zone)
        size += len(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))
        digest = hashlib.sha256(alert.key.encode()).hexdigest()[:32]
        seen[digest] += 1  # two rules may make alerts of the same labels
        items.append(EvidenceItem(identity=f"{digest}:{seen[digest]}", fields=fields))
    return items


def _fields(alert: Alert, zone: tzinfo) -> dict[str, JsonValue]:
    labels = {name: text for name, text in alert.labels.items() if name != "alertname"}
    fields: dict[str, JsonValue] = {
        "alert": cut(alert.name),
        "state": alert.state,
        "severity": cut(alert.labels["severity"]) if "severity" in alert.labels else None,
        "active_since": None if alert.since is None else iso(alert.since, zone),
        "labels": shown_labels(labels),
        "sources": [*alert.sources],
    }
    if alert.suppressed_by:
        fields["suppressed_by"] = [*alert.suppressed_by]
    if alert.until is not None:
        fields["resolved_unless_told_again_by"] = iso(alert.until, zone)
    if alert.value is not None:
        fields["value"] = number(alert.value)
    if alert.annotations:
        # the summary and the description first: they are what a reader looks for
        order = sorted(alert.annotations, key=lambda name: (name not in _TEXTS_FIRST, name))
        fields["annotations"] = {
            cut(name): cut(alert.annotations[name], _ANNOTATION_CHARACTERS)
            for name in order[:_ANNOTATIONS]
        }
    if alert.rule is not None:
        fields["rule"] = {
            "expr": cut(alert.rule.expr, _ANNOTATION_CHARACTERS),
            "for": duration_text(round(alert.rule.for_s * 1000)),
        }
    if alert.generator is not None:
        fields["generator"] = cut(alert.generator, _ANNOTATION_CHARACTERS)
    return fields


_TEXTS_FIRST = ("summary", "description", "message")


def totals(alerts: Sequence[Alert], settings: PrometheusSettings) -> dict[str, JsonValue]:
    """How many alerts there are whatever the filters, and which values they could ask for."""
    states: Counter[str] = Counter(alert.state for alert in alerts)
    told: dict[str, JsonValue] = {
        "firing": states["firing"],
        "pending": states["pending"],
        "suppressed": sum(bool(alert.suppressed_by) for alert in alerts),
    }
    return {
        "alerts_in_all": told,
        "severities": _values({alert.labels.get("severity", "") for alert in alerts}),
        "services": _values(
            {
                alert.labels[label]
                for alert in alerts
                for label in settings.service_labels
                if label in alert.labels
            }
        ),
    }


def _values(values: set[str]) -> JsonValue:
    return [cut(value, 64) for value in sorted(values - {""})[:_VALUES_SHOWN]]
