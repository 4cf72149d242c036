"""The evidence guard: whether a draft's statements rest on what the run's results really show.

Pure and deterministic: no model, no clock, no I/O. It judges citations and quotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from diagnosis.contracts.draft import AnalysisItem, DiagnosisDraft, StatementKind
from diagnosis.contracts.evidence import EvidenceStatus, InvocationStatus, ToolInvocation
from diagnosis.contracts.release import Verdict, Verification, Violation, ViolationCode
from diagnosis.guards.grounding import Passages
from diagnosis.guards.shown_result import ShownResult, read_result

CONCLUSION = "conclusion"
"""The target of the conclusion's verdict and violations; a statement's is its index."""

Fault = tuple[ViolationCode, str]


def check_draft(
    draft: DiagnosisDraft, invocations: Sequence[ToolInvocation], *, run_id: str
) -> Verification:
    """Judge a draft against the canonical records.

    Args:
        draft: any draft that has the draft's schema.
        invocations: the run's records; records of other runs are never evidence.
        run_id: of the run that wrote the draft.

    Returns:
        A verdict for each statement, in their order, then one for the conclusion if there is one;
        the violations in the same order. Never raises.
    """
    results = _CitedResults(invocations, run_id)
    violations: list[Violation] = []
    verdicts: list[Verdict] = []
    conclusion_carried = False

    def judge(target: str | int, faults: Sequence[Fault]) -> None:
        verdicts.append(Verdict(target=target, passed=not faults))
        violations.extend(
            Violation(code=code, target=target, detail=detail) for code, detail in faults
        )

    for index, statement in enumerate(draft.analysis):
        faults = tuple(_statement_faults(statement, results))
        judge(index, faults)
        if not faults and _carries_conclusion(statement, results):
            conclusion_carried = True
    if draft.conclusion is not None:
        fault = (ViolationCode.CONCLUSION_WITHOUT_EVIDENCE, draft.conclusion.root_cause)
        judge(CONCLUSION, () if conclusion_carried else (fault,))
    return Verification(
        accepted=not violations, verdicts=tuple(verdicts), violations=tuple(violations)
    )


@dataclass(frozen=True)
class _CitedResult:
    """A READY record whose projection is what the model was shown."""

    record: ToolInvocation
    shown: ShownResult

    @property
    def found(self) -> bool:
        return self.shown.evidence_status is EvidenceStatus.EVIDENCE_FOUND

    @cached_property
    def passages(self) -> Passages:
        return Passages(self.shown.items)


class _CitedResults:
    """The records that a draft may cite; each is read once, when it is first cited."""

    def __init__(self, invocations: Sequence[ToolInvocation], run_id: str) -> None:
        self._own = {each.tool_call_id: each for each in invocations if each.run_id == run_id}
        self._foreign_ids = {each.tool_call_id for each in invocations if each.run_id != run_id}
        self._read: dict[str, _CitedResult | ViolationCode] = {}

    def get(self, tool_call_id: str) -> _CitedResult | ViolationCode:
        """The result of that id, or why it cannot be cited."""
        if tool_call_id not in self._read:
            self._read[tool_call_id] = self._judged(tool_call_id)
        return self._read[tool_call_id]

    def _judged(self, tool_call_id: str) -> _CitedResult | ViolationCode:
        record = self._own.get(tool_call_id)
        if record is None:
            if tool_call_id in self._foreign_ids:
                return ViolationCode.FOREIGN_RUN
            return ViolationCode.UNKNOWN_TOOL_CALL_ID
        match record.status:
            case InvocationStatus.PROJECTING:
                return ViolationCode.INVOCATION_NOT_READY
            case InvocationStatus.ERROR:
                return ViolationCode.INVOCATION_ERROR
            case InvocationStatus.READY:
                shown = read_result(record)
                if shown is None:
                    return ViolationCode.PROJECTION_TAMPERED
                return _CitedResult(record, shown)


def _statement_faults(statement: AnalysisItem, results: _CitedResults) -> Iterator[Fault]:
    """Each rule that a statement breaks, with the offending id or quote."""
    cited: dict[str, _CitedResult] = {}
    for tool_call_id in statement.tool_call_ids:
        result = results.get(tool_call_id)
        if isinstance(result, ViolationCode):
            yield result, tool_call_id
        else:
            cited[tool_call_id] = result
    match statement.kind:
        case StatementKind.OBSERVATION:
            yield from _observation_faults(statement, cited)
        case StatementKind.NEGATIVE_OBSERVATION:
            yield from _negative_observation_faults(statement, cited)
        case StatementKind.INFERENCE:
            yield from _inference_faults(statement, cited)


def _observation_faults(
    statement: AnalysisItem, cited: Mapping[str, _CitedResult]
) -> Iterator[Fault]:
    for tool_call_id, result in cited.items():
        if not result.found:
            yield ViolationCode.NO_EVIDENCE_CITED_AS_EVIDENCE, tool_call_id
    if not statement.quotes:
        yield ViolationCode.QUOTE_MISSING, ", ".join(statement.tool_call_ids)
    yield from _quote_faults(statement, cited)


def _negative_observation_faults(
    statement: AnalysisItem, cited: Mapping[str, _CitedResult]
) -> Iterator[Fault]:
    for tool_call_id, result in cited.items():
        if result.found:
            yield ViolationCode.NEGATIVE_OBSERVATION_WITHOUT_EMPTY_RESULT, tool_call_id
        elif result.shown.truncated:
            yield ViolationCode.TRUNCATED_NEGATIVE, tool_call_id
    for quote in statement.quotes:
        yield ViolationCode.QUOTE_NOT_BOUND, quote.text


def _inference_faults(
    statement: AnalysisItem, cited: Mapping[str, _CitedResult]
) -> Iterator[Fault]:
    if not any(result.found for result in cited.values()):
        # ids without a result have been named already
        for tool_call_id in cited:
            yield ViolationCode.NO_EVIDENCE_CITED_AS_EVIDENCE, tool_call_id
    yield from _quote_faults(statement, cited)


def _quote_faults(statement: AnalysisItem, cited: Mapping[str, _CitedResult]) -> Iterator[Fault]:
    for quote in statement.quotes:
        if quote.tool_call_id not in statement.tool_call_ids:
            yield ViolationCode.QUOTE_NOT_BOUND, quote.text
            continue
        result = cited.get(quote.tool_call_id)
        # where there is no result, the id itself is the violation
        if result is not None and not result.passages.hold(quote.text):
            yield ViolationCode.QUOTE_NOT_FOUND, quote.text


def _carries_conclusion(statement: AnalysisItem, results: _CitedResults) -> bool:
    """Whether a statement that passes is an observation of this incident, not of a reference."""
    if statement.kind is not StatementKind.OBSERVATION:
        return False
    quoted = (results.get(quote.tool_call_id) for quote in statement.quotes)
    return any(
        isinstance(result, _CitedResult) and not result.record.reference for result in quoted
    )
