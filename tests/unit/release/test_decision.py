"""The outcome table: what a run may publish, for every way its loop can end."""

import hashlib
import json
from datetime import UTC, datetime

import pytest

from diagnosis.agent.use_case import LoopEnd
from diagnosis.contracts.draft import DiagnosisDraft
from diagnosis.contracts.evidence import (
    ErrorCode,
    EvidenceStatus,
    InvocationStatus,
    ToolInvocation,
)
from diagnosis.contracts.release import CheckStatus, FallbackType
from diagnosis.contracts.run import DraftFailure, EndReason, RunStatus, RunUsage, StopReason
from diagnosis.release.use_case import ReleaseInput, decide_release
from diagnosis.release.wording import CHINESE, ENGLISH
from diagnosis.testing import draft_json

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACT = "disk full on node-7 at 14:03"


def record(call_id="a", *texts, code=None, reference=False, tool="query_logs", scope=None):
    """A finished call: found with texts, empty without, failed with a code."""
    status = EvidenceStatus.EVIDENCE_FOUND if texts else EvidenceStatus.NO_EVIDENCE
    if code is not None:
        status = EvidenceStatus.ERROR
    projection = json.dumps(
        {
            "tool_call_id": call_id,
            "evidence_status": status,
            "scope": scope or {"window": "14:00/14:30"},
            "items": [{"text": text} for text in texts],
            "matched": len(texts),
            "shown": len(texts),
            "truncated": None,
        },
        ensure_ascii=False,
    )
    return ToolInvocation(
        run_id="r",
        tool_call_id=call_id,
        sequence=1,
        model_step=1,
        tool_name=tool,
        arguments="{}",
        arguments_sha256="0",
        status=InvocationStatus.ERROR if code else InvocationStatus.READY,
        evidence_status=status,
        error_code=code,
        projection=projection,
        projection_sha256=hashlib.sha256(projection.encode()).hexdigest(),
        projection_bytes=len(projection.encode()),
        reference=reference,
        started_at=NOW,
        finished_at=NOW,
    )


FOUND = record("a", FACT)
EMPTY = record("b")
FAILED = record("c", code=ErrorCode.TOOL_FAILED)


def observation(call_id="a", quote=FACT, text="The disk of a node is full."):
    return {
        "kind": "OBSERVATION",
        "statement": text,
        "tool_call_ids": [call_id],
        "quotes": [{"tool_call_id": call_id, "text": quote}],
    }


def draft(**parts):
    return DiagnosisDraft.model_validate_json(draft_json(**parts))


def decide(loop, *records, query="why?", rule_based=False, stop_reason=None):
    return decide_release(
        ReleaseInput(
            run_id="r",
            query=query,
            loop=loop,
            invocations=records,
            stop_reason=stop_reason,
            tools=("query_logs", "query_mysql"),
            usage=RunUsage(model_calls=2, tool_calls=len(records), total_tokens=1_234),
            model="scripted",
            rule_based=rule_based,
        )
    )


CAUSE = LoopEnd(draft=draft(root_cause="The disk is full.", statements=[observation()]))
NO_CAUSE = LoopEnd(draft=draft(statements=[observation()]))
ASKS = LoopEnd(
    draft=draft(limitations=[{"scope": "s", "missing_information": "which host", "ask_user": True}])
)


@pytest.mark.parametrize(
    ("loop", "records", "status", "fallback", "end_reason"),
    [
        (CAUSE, [FOUND], RunStatus.FALLBACK, "UNVERIFIED", None),
        (CAUSE, [EMPTY], RunStatus.FALLBACK, "EVIDENCE_VERIFICATION_FAILED", None),
        (CAUSE, [], RunStatus.FALLBACK, "EVIDENCE_VERIFICATION_FAILED", None),
        (NO_CAUSE, [FOUND], RunStatus.FALLBACK, "INSUFFICIENT_EVIDENCE", None),
        (NO_CAUSE, [EMPTY], RunStatus.FALLBACK, "INSUFFICIENT_EVIDENCE", None),
        (NO_CAUSE, [FAILED], RunStatus.FALLBACK, "MISSING_REQUIRED_CONTEXT", None),
        (ASKS, [FOUND], RunStatus.FALLBACK, "MISSING_REQUIRED_CONTEXT", None),
        (ASKS, [], RunStatus.FALLBACK, "MISSING_REQUIRED_CONTEXT", None),
        *[
            (reason, records, status, fallback, reason)
            for reason, with_found, with_empty in [
                (EndReason.INFORMATION_SATURATED, "INSUFFICIENT_EVIDENCE", True),
                (EndReason.PROGRESS_PROTOCOL_VIOLATED, "INSUFFICIENT_EVIDENCE", True),
                (EndReason.BUDGET_LIMIT_REACHED, "BUDGET_EXHAUSTED", True),
                (EndReason.BUDGET_EXHAUSTED, "BUDGET_EXHAUSTED", True),
                (EndReason.TIMED_OUT, "BUDGET_EXHAUSTED", True),
                (EndReason.NOT_STRICT_JSON, "INSUFFICIENT_EVIDENCE", False),
                (EndReason.SCHEMA_INVALID, "INSUFFICIENT_EVIDENCE", False),
                (EndReason.MODEL_UNAVAILABLE, "INSUFFICIENT_EVIDENCE", False),
                (EndReason.OBSERVER_FAILED, None, False),
                (EndReason.STORE_FAILED, None, False),
            ]
            for records, fallback in [
                ([FOUND], with_found),
                ([EMPTY], with_found if with_empty else None),
                ([FAILED], None),
                ([], None),
            ]
            for status in [RunStatus.FALLBACK if fallback else RunStatus.FAILED]
        ],
        (EndReason.CANCELLED, [FOUND], RunStatus.CANCELLED, None, EndReason.CANCELLED),
    ],
)
def test_the_outcome_table(loop, records, status, fallback, end_reason):
    end = LoopEnd(end_reason=loop) if isinstance(loop, EndReason) else loop
    decision = decide(end, *records)
    assert decision.status is status
    assert decision.end_reason is end_reason
    released = decision.release.fallback.type if decision.release else None
    assert released == fallback


def test_a_report_resolves_every_citation_to_its_call():
    second = record("d", "checkout 2.42 deployed", scope={"service": "checkout"})
    loop = LoopEnd(
        draft=draft(
            root_cause="The disk is full.",
            statements=[
                observation(),
                observation("d", "checkout 2.42 deployed", "A deployment came before."),
                {
                    "kind": "INFERENCE",
                    "statement": "One led to the other.",
                    "tool_call_ids": ["d", "a"],
                },
                {
                    "kind": "NEGATIVE_OBSERVATION",
                    "statement": "No other line.",
                    "tool_call_ids": ["b"],
                },
            ],
        )
    )
    decision = decide(loop, FOUND, EMPTY, second)
    report = decision.release.report
    numbers = [[c.number for c in statement.citations] for statement in report.statements]
    assert numbers == [[1], [2], [2, 1], [3]]
    assert report.statements[0].citations[0].quote == FACT
    assert report.statements[1].citations[0].scope == {"service": "checkout"}
    assert report.statements[3].citations[0].evidence_status == "NO_EVIDENCE"
    assert decision.checks.citations is CheckStatus.PASSED
    assert decision.checks.quotes is CheckStatus.PASSED
    assert decision.checks.values is CheckStatus.NOT_RUN
    assert decision.checks.semantic_check is CheckStatus.NOT_RUN
    markdown = decision.release.markdown
    assert markdown.index("## Root cause") < markdown.index("## Evidence")
    for number in (1, 2, 3):
        assert f"\n{number}. `query_logs`" in markdown
    assert "tokens 1,234" in markdown
    assert "NOT_RUN" in markdown


def test_a_refused_report_shows_no_cause_and_no_statement():
    loop = LoopEnd(
        draft=draft(root_cause="Aliens did it.", statements=[observation(quote="not in the log")])
    )
    decision = decide(loop, FOUND)
    assert decision.release.report is None
    assert decision.checks.quotes is CheckStatus.FAILED
    assert "Aliens" not in decision.release.model_dump_json()
    assert decision.verification.violations[0].code == "QUOTE_NOT_FOUND"


def test_nothing_a_model_wrote_appears_in_a_fallback_but_quotes_that_were_found():
    loop = LoopEnd(
        draft=draft(
            statements=[
                observation(text="MODEL TEXT one"),
                observation(quote="MODEL TEXT that is nowhere"),
                {
                    "kind": "INFERENCE",
                    "statement": "MODEL TEXT two",
                    "tool_call_ids": ["a"],
                },
            ],
            limitations=[
                {
                    "scope": "MODEL TEXT",
                    "missing_information": "MODEL TEXT",
                    "ask_user": True,
                }
            ],
            actions=[{"action": "MODEL TEXT", "risk": "LOW", "rationale": "MODEL TEXT"}],
        )
    )
    decision = decide(loop, record("a", FACT, "another line of the log"), EMPTY)
    assert "MODEL TEXT" not in decision.release.model_dump_json()
    assert [fact.excerpt for fact in decision.release.fallback.facts] == [FACT]


def test_a_fallback_says_what_was_checked_and_what_brought_nothing():
    end = LoopEnd(end_reason=EndReason.TIMED_OUT)
    decision = decide(end, FOUND, EMPTY, FAILED, stop_reason=StopReason.BUDGET_LIMIT_REACHED)
    fallback = decision.release.fallback
    assert [scope.evidence_status for scope in fallback.checked_scopes] == [
        "EVIDENCE_FOUND",
        "NO_EVIDENCE",
        "ERROR",
    ]
    assert [(each.tool_name, each.error_code) for each in fallback.missing] == [
        ("query_logs", None),
        ("query_logs", ErrorCode.TOOL_FAILED),
        ("query_mysql", None),
    ]
    assert decision.progress.stop_reason == "BUDGET_LIMIT_REACHED"
    assert FACT in decision.release.markdown
    assert (
        "TOOL\\_FAILED" in decision.release.markdown or "TOOL_FAILED" in decision.release.markdown
    )


def test_a_fallback_names_the_tools_that_nobody_used():
    fallback = decide(LoopEnd(end_reason=EndReason.TIMED_OUT), FOUND).release
    (unused,) = fallback.fallback.missing
    assert (unused.tool_name, unused.error_code, unused.scope) == ("query_mysql", None, None)
    assert "Not used in this run: `query_mysql`." in fallback.markdown


def test_observations_come_before_reference_knowledge_and_facts_are_bounded():
    knowledge = record(
        "k", *(f"runbook {n}" for n in range(9)), reference=True, tool="lookup_knowledge"
    )
    logs = [record(f"l{n}", *(f"line {n}.{m}" for m in range(9))) for n in range(9)]
    facts = decide(LoopEnd(end_reason=EndReason.TIMED_OUT), knowledge, *logs).progress.facts
    assert len(facts) == 20
    assert not any(fact.reference for fact in facts)
    few = decide(LoopEnd(end_reason=EndReason.TIMED_OUT), knowledge, logs[0]).progress.facts
    assert [fact.reference for fact in few] == [False] * 3 + [True] * 3


def test_items_without_a_text_are_told_as_json_and_long_ones_are_cut():
    row = record("a", FACT)
    shown = json.loads(row.projection)
    shown["items"] = [{"rows": 3, "table": "订单"}, {"text": "x" * 1_000}]
    odd = row.model_copy(update={"projection": json.dumps(shown, ensure_ascii=False)})
    facts = decide(LoopEnd(end_reason=EndReason.TIMED_OUT), odd).progress.facts
    assert facts[0].excerpt == '{"rows": 3, "table": "订单"}'
    assert facts[1].excerpt == "x" * 400 + "…"


@pytest.mark.parametrize(
    ("query", "title", "found"),
    [
        ("why?", "# No diagnosis", "What was checked"),
        ("为什么失败？", "# 没有诊断结论", "已检查的范围"),
    ],
)
def test_fixed_words_follow_the_language_of_the_question(query, title, found):
    markdown = decide(NO_CAUSE, EMPTY, query=query).release.markdown
    assert markdown.startswith(title)
    assert found in markdown


def test_the_offline_rules_are_named_wherever_their_answer_stands():
    for loop, records in ((CAUSE, [FOUND]), (NO_CAUSE, [EMPTY])):
        for query in ("why?", "为什么？"):
            decision = decide(loop, *records, query=query, rule_based=True)
            assert "language model" in decision.release.markdown or "语言模型" in (
                decision.release.markdown
            )
    assert decide(CAUSE, FOUND, rule_based=True).release.report.rule_based
    assert "Rule-based" not in decide(CAUSE, FOUND).release.markdown


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("# heading\n- item", "\\# heading - item"),
        ("<script>alert(1)</script>", "\\<script>alert(1)\\</script>"),
        ("see [link](http://x)", "see \\[link](http://x)"),
        ("a `code` and *bold* and __init__", "a \\`code\\` and \\*bold\\* and \\_\\_init\\_\\_"),
        ("1. first", "1\\. first"),
        ("10.0.0.47 - - GET", "10.0.0.47 - - GET"),
        ("-5 degrees", "-5 degrees"),
        ("---", "\\---"),
        ("> quoted", "\\> quoted"),
        ("~~gone~~", "\\~~gone\\~~"),
        (r"a \"b\"", r'a \\"b\\"'),
        ("run_migrations=false | max_tokens > 5", "run_migrations=false | max_tokens > 5"),
        ("磁盘_已满", "磁盘_已满"),
        ("a\x1b[2Jb\x07c\u202ed", "a\ufffd\\[2Jb\ufffdc\ufffdd"),
    ],
)
def test_data_starts_no_markdown_of_its_own_and_stays_readable(data, shown):
    loop = LoopEnd(draft=draft(root_cause=data, statements=[observation(text=data)]))
    markdown = decide(loop, FOUND, query=data).release.markdown
    assert f"\n{shown}\n" in markdown
    assert f"**Observed:** {shown} [1]" in markdown or f"**观察:** {shown} [1]" in markdown


def test_a_tool_name_that_a_model_invented_stays_in_its_code_span():
    odd = record("a", code=ErrorCode.TOOL_NOT_ALLOWED, tool="rm `-rf`\n# x")
    decision = decide(LoopEnd(end_reason=EndReason.TIMED_OUT), FOUND, odd)
    assert "\n- `rm '-rf' # x` → failed (TOOL_NOT_ALLOWED)\n" in decision.release.markdown


@pytest.mark.parametrize("reason", list(DraftFailure))
@pytest.mark.parametrize("query", ["why?", "为什么？"])
def test_a_discarded_answer_is_not_told_as_a_lack_of_evidence(reason, query):
    end = LoopEnd(end_reason=EndReason(reason.value), detail="The model ran out of tokens.")
    markdown = decide(end, FOUND, query=query).release.markdown
    assert reason in markdown
    assert "The model ran out of tokens." in markdown
    for words in (ENGLISH, CHINESE):
        assert words.fallback[FallbackType.INSUFFICIENT_EVIDENCE] not in markdown


def test_a_failed_model_is_not_told_as_a_lack_of_evidence():
    end = LoopEnd(end_reason=EndReason.MODEL_UNAVAILABLE, detail="The model answered HTTP 500.")
    markdown = decide(end, FOUND).release.markdown
    assert ENGLISH.model_failed in markdown
    assert "HTTP 500" in markdown
    assert ENGLISH.fallback[FallbackType.INSUFFICIENT_EVIDENCE] not in markdown


def test_a_scope_reads_as_words():
    scope = {
        "start": "14:00",
        "sources": [{"source": "a.log", "first": "12:00", "last": None}, {"source": "b.log"}],
        "regex": "x" * 300,
        "next_cursor": "WyI5",
        "limit": 5,
    }
    end = LoopEnd(end_reason=EndReason.TIMED_OUT)
    markdown = decide(end, record("a", FACT, scope=scope)).release.markdown
    expected = f"start=14:00, sources=a.log (first 12:00); b.log, regex={'x' * 120}…, limit=5 "
    assert expected in markdown


def test_every_fallback_type_has_words_in_both_languages():
    assert set(ENGLISH.fallback) == set(CHINESE.fallback) == set(FallbackType)
