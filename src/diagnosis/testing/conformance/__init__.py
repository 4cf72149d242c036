"""The conformance kit: `await check_evidence_tool(tool, requests=[...])` in a plugin's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, tzinfo

from diagnosis.errors import ConfigurationError
from diagnosis.plugin.evidence_tool import EvidenceTool
from diagnosis.plugin.registered_tool import RegisteredTool
from diagnosis.plugin.registry import EvidenceToolRegistry
from diagnosis.testing.conformance import conduct, definition, results, scope, secrecy
from diagnosis.testing.conformance.log_watch import LoggedSecrets, watched_logs
from diagnosis.testing.conformance.report import (
    ConformanceError,
    ConformanceFailure,
    ConformanceReport,
    NotRun,
    Problem,
)
from diagnosis.testing.conformance.subject import IsWorking, Request, Subject

__all__ = [
    "CHECKS",
    "ConformanceError",
    "ConformanceFailure",
    "ConformanceReport",
    "check_evidence_tool",
]

CHECKS: Mapping[str, Callable[[Subject], AsyncIterator[Problem]]] = {
    "description": definition.description,
    "describe": definition.describe,
    "schema": definition.schema,
    "requests": definition.requests,
    "normalise": definition.normalise,
    "collect": results.collect,
    "empty_result": results.empty_result,
    "identities": results.identity,
    "paging": results.paging,
    "scope": scope.scope,
    "truncation": scope.truncation,
    "byte_bounds": scope.byte_bounds,
    "projection": scope.projection,
    "concurrency": conduct.concurrency,
    "responsiveness": conduct.responsiveness,
    "cancellation": conduct.cancellation,
    "timeouts": conduct.timeouts,
    "rejection": results.rejection,
    "unavailable": results.unavailable,
    "secrets": secrecy.secrets,
}
"""Every check, in the order they run; `requests` stops them when the requests are of no use."""


async def check_evidence_tool(
    tool: EvidenceTool,
    *,
    requests: Sequence[Request],
    empty_request: Request | None = None,
    rejected_requests: Sequence[Request] = (),
    large_request: Request | None = None,
    slow_request: Request | None = None,
    is_working: IsWorking | None = None,
    unavailable_tool: EvidenceTool | None = None,
    settings: object | None = None,
    secrets: Sequence[str] = (),
    reference_time: datetime | None = None,
    zone: tzinfo = UTC,
    timeout_s: float = 30.0,
    agent_result_bytes: int = 16_384,
) -> ConformanceReport:
    """Open a tool, check it against the contract on data that its author chose, and close it.

    Args:
        tool: the tool, as its plugin registers it.
        requests: valid requests, as the model would send them; at least one finds something.
        empty_request: a valid request that finds nothing.
        rejected_requests: requests to refuse: by their model, `QueryRejected`, `SourceNotFound`.
        large_request: a valid request that matches far more than can be shown.
        slow_request: the one that is cancelled, best one that takes long; by default the first.
        is_working: whether a server works on the slow request; threads and children are seen.
        unavailable_tool: the same tool over a source that does not answer.
        settings: the plugin's settings, whose `repr()` must hold no secret.
        secrets: texts, such as a password, that no result, error, log or `repr()` may hold.
        reference_time: what "now" means to the tool, aware; by default the present.
        zone: the zone for times that carry none.
        timeout_s: seconds that one call may take.
        agent_result_bytes: bytes of a result that the model is shown, at least 1,024.

    Raises:
        ConformanceError: the tool breaks rules; all of them are listed, with how to mend them.
        ValueError: no request is given.
    """
    if not requests:
        raise ValueError("give at least one valid request")
    async with _opened(tool, secrets) as (registered, logged):
        subject = Subject(
            tool=registered,
            requests=requests,
            empty_request=empty_request,
            rejected_requests=rejected_requests,
            large_request=large_request,
            slow_request=requests[0] if slow_request is None else slow_request,
            is_working=is_working,
            unavailable_tool=unavailable_tool,
            settings=settings,
            secrets=secrets,
            reference_time=reference_time or datetime.now(UTC),
            zone=zone,
            timeout_s=timeout_s,
            agent_result_bytes=agent_result_bytes,
            logged=logged,
        )
        return await _run_checks(subject)


@asynccontextmanager
async def _opened(
    tool: EvidenceTool, secrets: Sequence[str]
) -> AsyncIterator[tuple[RegisteredTool, LoggedSecrets]]:
    registry = EvidenceToolRegistry()
    with watched_logs(secrets) as logged:
        try:
            registered = registry.register(tool, "conformance")
            await registry.open(required=[registered.name])
        except ConfigurationError as error:
            name = str(getattr(tool, "name", type(tool).__name__))
            failure = ConformanceFailure("definition", error.problem, error.mend)
            raise ConformanceError(name, (failure,)) from error
        try:
            yield registered, logged
        finally:
            await registry.close()


async def _run_checks(subject: Subject) -> ConformanceReport:
    passed = ["definition"]
    not_run: list[str] = []
    failures: list[ConformanceFailure] = []
    for name, check in CHECKS.items():
        try:
            problems = [problem async for problem in check(subject)]
        except NotRun:
            not_run.append(name)
            continue
        failures += [ConformanceFailure(name, detail, mend) for detail, mend in problems]
        if not problems:
            passed.append(name)
        elif name == "requests":
            break  # no other check can ask anything
    if failures:
        raise ConformanceError(subject.tool.name, tuple(failures))
    return ConformanceReport(subject.tool.name, tuple(passed), tuple(not_run))
