"""The parts of Prometheus's HTTP API (v1) and of Alertmanager's (v2) that the tools read.

The servers' own texts decide which reason of the closed list a refusal gets, and go no further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.plugin import QueryRejected, QueryRejection
from diagnosis_prometheus.address import ServerAddress
from diagnosis_prometheus.client import Answer, ApiClient, parsed
from diagnosis_prometheus.promql import quoted
from diagnosis_prometheus.stoppable import in_thread
from diagnosis_prometheus.trouble import ServerTrouble, Trouble


@dataclass(frozen=True, slots=True)
class Grid:
    """The evenly spaced moments a range query is evaluated at, in milliseconds since 1970.

    Attributes:
        first: the first one.
        step: from one to the next.
        count: how many there are, at least 1.
    """

    first: int
    step: int
    count: int

    @property
    def last(self) -> int:
        """The last moment."""
        return self.first + (self.count - 1) * self.step

    @property
    def before(self) -> Grid:
        """As many moments directly before."""
        return Grid(self.first - self.count * self.step, self.step, self.count)


@dataclass(frozen=True, slots=True)
class Data:
    """What Prometheus answered.

    Attributes:
        value: the `data` of the answer, not yet looked at.
        partial: whether the server warns that it could not read everything.
    """

    value: Any
    partial: bool


class PrometheusApi:
    """Queries of one Prometheus. Every method may raise what `ApiClient.get` raises."""

    def __init__(self, client: ApiClient) -> None:
        self.client = client

    @property
    def address(self) -> ServerAddress:
        """The server."""
        return self.client.address

    async def instant(self, expr: str, at: int, limit_s: float) -> Data:
        """Evaluate at one moment, in milliseconds.

        Raises:
            QueryRejected: the server refuses the expression.
            TimeoutError: it took longer than `limit_s` on the server.
        """
        params = [("query", expr), ("time", _seconds(at)), ("timeout", _milliseconds(limit_s))]
        return await self._data("api/v1/query", params)

    async def range(self, expr: str, grid: Grid, limit_s: float) -> Data:
        """Evaluate at every moment of a grid.

        Raises:
            QueryRejected: the server refuses the expression.
            TimeoutError: it took longer than `limit_s` on the server.
        """
        params = [
            ("query", expr),
            ("start", _seconds(grid.first)),
            ("end", _seconds(grid.last)),
            ("step", _seconds(grid.step)),
            ("timeout", _milliseconds(limit_s)),
        ]
        return await self._data("api/v1/query_range", params)

    async def metadata(self, metric: str) -> Data:
        """Type, unit and help of a metric, as its targets tell them."""
        params = [("metric", metric), ("limit_per_metric", "1")]
        return await self._data("api/v1/metadata", params)

    async def metric_names(self, metric: str | None = None) -> Data:
        """The names of all metrics the server has kept, or of this one, if it has."""
        params = [] if metric is None else [("match[]", f"{{__name__={quoted(metric)}}}")]
        return await self._data("api/v1/label/__name__/values", params)

    async def alerts(self) -> Data:
        """The alerts that are firing or pending now."""
        return await self._data("api/v1/alerts")

    async def alert_rules(self) -> Data:
        """The rules that make alerts."""
        return await self._data("api/v1/rules", [("type", "alert")])

    async def version(self) -> str:
        """The server's version; that of one that tells none is "unknown version"."""
        await self.instant("1", 0, self.client.limit_s)  # the API itself must answer
        try:
            data = await self._data("api/v1/status/buildinfo")
        except (ServerTrouble, QueryRejected):
            return "unknown version"
        return _version(data.value)

    async def _data(self, path: str, params: Sequence[tuple[str, str]] = ()) -> Data:
        answer = await self.client.get(path, params)
        return await in_thread(lambda _: self._read(answer))

    def _read(self, answer: Answer) -> Data:
        try:
            envelope = parsed(self.address, answer.body)
        except ServerTrouble:
            if answer.status == 503:  # of a proxy, or of a server that still starts
                raise ServerTrouble(self.address, Trouble.FAILING, status=503) from None
            raise
        if not isinstance(envelope, dict):
            raise ServerTrouble(self.address, Trouble.STRANGE)
        if envelope.get("status") == "success" and answer.status == 200 and "data" in envelope:
            return Data(envelope["data"], _is_partial(envelope.get("warnings")))
        if envelope.get("status") == "error":
            raise self._refusal(envelope.get("errorType"), envelope.get("error"), answer.status)
        raise ServerTrouble(self.address, Trouble.STRANGE, status=answer.status)

    def _refusal(self, kind: object, text: object, status: int) -> Exception:
        words = text if isinstance(text, str) else ""
        match kind:
            case "bad_data" | "execution":
                return QueryRejected(_reason(words))
            case "timeout":
                return TimeoutError()
            case _:  # canceled, internal, unavailable, not_found, too_many_requests
                return ServerTrouble(self.address, Trouble.FAILING, status=status)


class AlertmanagerApi:
    """What one Alertmanager knows now. Every method may raise what `ApiClient.get` raises."""

    def __init__(self, client: ApiClient) -> None:
        self.client = client

    @property
    def address(self) -> ServerAddress:
        """The server."""
        return self.client.address

    async def alerts(self) -> Data:
        """Every alert, silenced and inhibited ones too."""
        return Data(await self._value("api/v2/alerts"), partial=False)

    async def version(self) -> str:
        """The server's version; that of one that tells none is "unknown version"."""
        status = await self._value("api/v2/status")
        if not isinstance(status, dict):
            raise ServerTrouble(self.address, Trouble.STRANGE)
        return _version(status.get("versionInfo"))

    async def _value(self, path: str) -> Any:
        answer = await self.client.get(path)
        if answer.status != 200:
            trouble = Trouble.FAILING if answer.status == 503 else Trouble.STRANGE
            raise ServerTrouble(self.address, trouble, status=answer.status)
        return await in_thread(lambda _: parsed(self.address, answer.body))


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"


def _version(info: object) -> str:
    version = info.get("version") if isinstance(info, dict) else None
    if isinstance(version, str) and 0 < len(version) <= 64 and version.isprintable():
        return version
    return "unknown version"


def _is_partial(warnings: object) -> bool:
    """Whether some of the data could not be read; remarks on the query itself do not count."""
    if warnings in (None, []):
        return False
    if not isinstance(warnings, list):
        return True
    return not all(
        isinstance(each, str) and each.startswith(("PromQL warning", "PromQL info"))
        for each in warnings
    )


def _reason(words: str) -> QueryRejection:
    """The closed reason for what the server says of a query it refuses."""
    for reason, marks in (
        (QueryRejection.COMBINATION_NOT_ALLOWED, ("for range query, must be",)),
        (QueryRejection.SYNTAX_ERROR, ("parse error",)),
        (QueryRejection.WINDOW_TOO_LARGE, ("exceeded maximum resolution", "time range exceeds")),
        (QueryRejection.RESULT_TOO_LARGE, ("too many samples", "max samples", "too many series")),
    ):
        if any(mark in words for mark in marks):
            return reason
    return QueryRejection.QUERY_FAILED
