"""Reports and fallbacks as Markdown: the conclusion first, then what it rests on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from diagnosis.contracts.draft import Conclusion, StatementKind
from diagnosis.contracts.evidence import EvidenceStatus
from diagnosis.contracts.progress import CheckedScope, VerifiedFact
from diagnosis.contracts.release import Checks, Citation, Fallback, FallbackType, Report
from diagnosis.contracts.run import DraftFailure, EndReason, RunUsage
from diagnosis.release.visible_text import visible
from diagnosis.release.wording import Wording, wording_for

_SCOPE_CHARACTERS = 120
_MARKUP = re.compile(
    r"""[\\`*\[<]|~~             # code, emphasis, links, HTML
    |(?<![^\W_])_|_(?![^\W_])    # emphasis; an underscore within a word is none
    |\A(?:\#{1,6}(?=\s)|[-+](?=\s)|[-=]+\Z|>)  # headings, lists, rules, quotations
    |(?:(?<=\A\d)|(?<=\A\d\d)|(?<=\A\d{3}))[.)](?=\s)  # numbered lists""",
    re.VERBOSE,
)
_DRAFT_FAILURES = frozenset(EndReason(failure.value) for failure in DraftFailure)


def report_markdown(report: Report, fallback: Fallback, checks: Checks, usage: RunUsage) -> str:
    """A report and what qualifies it."""
    words = wording_for(report.query)
    lines = [f"# {words.diagnosis}", ""]
    if report.rule_based:
        lines += [f"> {words.rule_based}", ""]
    if fallback.type is FallbackType.UNVERIFIED:
        lines += [f"> {words.unverified}", ""]
    lines += [f"**{words.question}:** {_inline(report.query)}", ""]
    if report.conclusion is not None:
        lines += _conclusion(report.conclusion, words)
    lines += _statements(report, words)
    lines += _limitations(report, words)
    lines += _actions(report, words)
    lines += _citation_list(report, words)
    lines += _footer(checks, usage, words)
    return "\n".join(lines)


def fallback_markdown(
    query: str,
    fallback: Fallback,
    usage: RunUsage,
    *,
    rule_based: bool,
    end_reason: EndReason | None,
    detail: str | None,
) -> str:
    """The honest answer without a diagnosis: deterministic, and no cause is inferred."""
    words = wording_for(query)
    lines = [f"# {words.no_diagnosis}", ""]
    if rule_based:
        lines += [f"> {words.rule_based}", ""]
    lines += [f"**{words.question}:** {_inline(query)}", "", _why(fallback, end_reason, words), ""]
    if detail:
        lines += [_inline(detail), ""]
    lines += [f"## {words.checked}", "", *_scopes(fallback.checked_scopes, words), ""]
    unused = [each for each in fallback.missing if each.error_code is None and each.scope is None]
    if unused:
        names = ", ".join(_code(each.tool_name) for each in unused)
        lines += [f"{words.not_used}: {names}.", ""]
    if fallback.facts:
        lines += [f"## {words.facts}", "", *_facts(fallback.facts, words), ""]
    lines += _footer(None, usage, words)
    return "\n".join(lines)


def _why(fallback: Fallback, end_reason: EndReason | None, words: Wording) -> str:
    """Why there is no diagnosis; a failure of the model is not told as one of the evidence."""
    if end_reason is EndReason.MODEL_UNAVAILABLE:
        return words.model_failed
    if end_reason in _DRAFT_FAILURES:
        return words.draft_discarded.format(reason=end_reason)
    return words.fallback[fallback.type]


def _conclusion(conclusion: Conclusion, words: Wording) -> list[str]:
    details = [f"{words.category}: {words.of(conclusion.fault_category)}"]
    if conclusion.fault_source:
        details.append(f"{words.source}: {_inline(conclusion.fault_source)}")
    if conclusion.fault_target:
        details.append(f"{words.target}: {_inline(conclusion.fault_target)}")
    details.append(f"{words.confidence}: {words.of(conclusion.confidence)}")
    return [
        f"## {words.root_cause}",
        "",
        _inline(conclusion.root_cause),
        "",
        " · ".join(details),
        "",
    ]


def _statements(report: Report, words: Wording) -> list[str]:
    labels = {
        StatementKind.OBSERVATION: words.observed,
        StatementKind.NEGATIVE_OBSERVATION: words.nothing_found,
        StatementKind.INFERENCE: words.inferred,
    }
    lines = [f"## {words.evidence}", ""]
    for statement in report.statements:
        numbers = sorted({citation.number for citation in statement.citations})
        marks = "".join(f"[{number}]" for number in numbers)
        lines.append(f"- **{labels[statement.kind]}:** {_inline(statement.statement)} {marks}")
        lines += [
            f"  > {_inline(citation.quote)} [{citation.number}]"
            for citation in statement.citations
            if citation.quote is not None
        ]
    return [*lines, ""]


def _limitations(report: Report, words: Wording) -> list[str]:
    lines = [
        f"- {_inline(item.scope)}: {_inline(item.missing_information)}"
        + (f" ({words.user_can_supply})" if item.ask_user else "")
        for item in report.limitations
    ]
    return [f"## {words.limitations}", "", *lines, ""] if lines else []


def _actions(report: Report, words: Wording) -> list[str]:
    if not report.actions:
        return []
    lines = [
        f"- {_inline(action.action)} ({words.risk}: {words.of(action.risk)})"
        f" — {_inline(action.rationale)}"
        for action in report.actions
    ]
    return [f"## {words.actions}", "", words.proposals, "", *lines, ""]


def _citation_list(report: Report, words: Wording) -> list[str]:
    by_number: dict[int, Citation] = {}
    for statement in report.statements:
        for citation in statement.citations:
            by_number.setdefault(citation.number, citation)
    lines = [
        f"{number}. {_code(citation.tool_name)} ({_inline(citation.tool_call_id)}), "
        f"{_result_word(citation.evidence_status, words)}: {_scope(citation.scope)}"
        for number, citation in sorted(by_number.items())
    ]
    return [f"## {words.citations}", "", *lines, ""]


def _scopes(scopes: Iterable[CheckedScope], words: Wording) -> Iterator[str]:
    empty = True
    for scope in scopes:
        empty = False
        outcome = _result_word(scope.evidence_status, words)
        if scope.error_code is not None:
            outcome += f" ({scope.error_code})"
        if scope.evidence_status is EvidenceStatus.EVIDENCE_FOUND and scope.matched is not None:
            outcome += f" ({words.of_matched.format(shown=scope.shown, matched=scope.matched)})"
        where = f": {_scope(scope.scope)}" if scope.scope else ""
        yield f"- {_code(scope.tool_name)}{where} → {outcome}"
    if empty:
        yield words.nothing_checked


def _facts(facts: Iterable[VerifiedFact], words: Wording) -> Iterator[str]:
    for fact in facts:
        mark = f" ({words.reference})" if fact.reference else ""
        yield f"- {_code(fact.tool_name)}{mark}: {_inline(fact.excerpt)}"


def _result_word(status: EvidenceStatus, words: Wording) -> str:
    return {
        EvidenceStatus.EVIDENCE_FOUND: words.found,
        EvidenceStatus.NO_EVIDENCE: words.empty,
        EvidenceStatus.ERROR: words.failed,
    }[status]


def _footer(checks: Checks | None, usage: RunUsage, words: Wording) -> list[str]:
    lines = ["---", ""]
    if checks is not None:
        results = checks.model_dump(mode="json")
        shown = ", ".join(f"{words.of(name)} {words.of(value)}" for name, value in results.items())
        lines.append(f"{words.checks}: {shown}  ")
    calls = words.calls.format(
        models=usage.model_calls, tools=usage.tool_calls, seconds=usage.seconds
    )
    tokens = (
        words.not_reported
        if usage.calls_without_token_usage
        else words.tokens.format(tokens=usage.total_tokens)
    )
    return [*lines, f"{words.cost}: {calls}, {tokens}", ""]


def _scope(scope: dict[str, Any]) -> str:
    parts = [
        f"{key}={_short(value)}"
        for key, value in scope.items()
        # a cursor is for the next call, not for a reader
        if value is not None and not key.endswith("cursor")
    ]
    return _inline(", ".join(parts))


def _short(value: Any) -> str:
    """A value of a scope without JSON's punctuation, cut where it is long."""
    if isinstance(value, dict):
        named = [(name, _short(inner)) for name, inner in value.items() if inner is not None]
        more = ", ".join(f"{name} {text}" for name, text in named[1:])
        text = (named[0][1] if named else "") + (f" ({more})" if more else "")
    elif isinstance(value, list):
        text = "; ".join(_short(inner) for inner in value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SCOPE_CHARACTERS else f"{text[:_SCOPE_CHARACTERS]}…"


def _inline(text: str) -> str:
    """Data on one line that starts no Markdown or HTML of its own.

    Only what would be read as such is escaped, so that the text is also fit to be read as it is.
    """
    return _MARKUP.sub(r"\\\g<0>", _one_line(text))


def _code(text: str) -> str:
    """Data in a code span."""
    return f"`{_one_line(text).replace('`', chr(39))}`"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if line.isprintable() else visible(line)
