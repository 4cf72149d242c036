"""The conformance kit: `await check_evidence_tool(tool, requests=[...])` in a plugin's tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from diagnosis.errors import ConfigurationError
from diagnosis.plugin.evidence_tool import EvidenceTool
from diagnosis.plugin.registered_tool import RegisteredTool
from diagnosis.plugin.registry import EvidenceToolRegistry
from diagnosis.testing.conformance_checks import CHECKS, NotRun
from diagnosis.testing.conformance_report import (
    ConformanceError,
    ConformanceFailure,
    ConformanceReport,
)
from diagnosis.testing.conformance_subject import Request, Subject

__all__ = [
    "ConformanceError",
    "ConformanceFailure",
    "ConformanceReport",
    "check_evidence_tool",
]


async def check_evidence_tool(
    tool: EvidenceTool,
    *,
    requests: Sequence[Request],
    empty_request: Request | None = None,
    rejected_requests: Sequence[Request] = (),
    slow_request: Request | None = None,
    secrets: Sequence[str] = (),
    reference_time: datetime | None = None,
    zone: tzinfo = UTC,
    timeout_s: float = 30.0,
    agent_result_bytes: int = 16_384,
) -> ConformanceReport:
    """Check a tool against the contract of evidence tools, on data that its author chose.

    The tool is opened first and closed at the end.

    Args:
        tool: the tool, as its plugin registers it.
        requests: valid requests, as the model would send them; at least one finds something.
        empty_request: a valid request that finds nothing.
        rejected_requests: requests that must be refused: by the model of the request, with
            `QueryRejected`, or with `SourceNotFound`.
        slow_request: the request that is cancelled, best one that takes a while; by default the
            first one.
        secrets: texts, such as a configured password, that must not stand in any result.
        reference_time: what "now" means to the tool, aware; by default the present.
        zone: the zone for times that carry none.
        timeout_s: seconds that one call may take.
        agent_result_bytes: bytes of a result that the model is shown, at least 1,024.

    Raises:
        ConformanceError: the tool breaks rules; all of them are listed.
        ValueError: no request is given.
    """
    if not requests:
        raise ValueError("give at least one valid request")
    registry = EvidenceToolRegistry()
    registered = await _open(tool, registry)
    subject = Subject(
        tool=registered,
        requests=requests,
        empty_request=empty_request,
        rejected_requests=rejected_requests,
        slow_request=requests[0] if slow_request is None else slow_request,
        secrets=secrets,
        reference_time=reference_time or datetime.now(UTC),
        zone=zone,
        timeout_s=timeout_s,
        agent_result_bytes=agent_result_bytes,
    )
    try:
        return await _run_checks(subject)
    finally:
        await registry.close()


async def _open(tool: EvidenceTool, registry: EvidenceToolRegistry) -> RegisteredTool:
    try:
        registered = registry.register(tool, "conformance")
        await registry.open(required=[registered.name])
    except ConfigurationError as error:
        name = str(getattr(tool, "name", type(tool).__name__))
        failure = ConformanceFailure("definition", f"{error.problem}; {error.mend}")
        raise ConformanceError(name, (failure,)) from error
    return registered


async def _run_checks(subject: Subject) -> ConformanceReport:
    passed = ["definition"]
    not_run: list[str] = []
    failures: list[ConformanceFailure] = []
    for name, check in CHECKS.items():
        try:
            details = [detail async for detail in check(subject)]
        except NotRun:
            not_run.append(name)
            continue
        failures += [ConformanceFailure(name, detail) for detail in details]
        if not details:
            passed.append(name)
        elif name == "requests":
            break  # no other check can ask anything
    if failures:
        raise ConformanceError(subject.tool.name, tuple(failures))
    return ConformanceReport(subject.tool.name, tuple(passed), tuple(not_run))
