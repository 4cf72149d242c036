"""The guard's rules for citations and conclusions: each with its near miss."""

from __future__ import annotations

from typing import Any

import pytest

from diagnosis.contracts.evidence import ErrorCode, EvidenceStatus, InvocationStatus
from diagnosis.contracts.release import Verdict
from diagnosis.guards.evidence_guard import check_draft

LINE = "Connection is not available, request timed out"
FOUND = [{"level": "ERROR", "message": LINE}]


@pytest.fixture(scope="module")
def records(record: Any) -> list[Any]:
    """One record of each sort."""
    return [
        record("found", FOUND),
        record("found-too", FOUND),
        record("cut", FOUND, truncated="ITEMS"),
        record("empty"),
        record("empty-too"),
        record("empty-scan", truncated="SCAN"),
        record("runbook", FOUND, reference=True),
        record(
            "projecting",
            status=InvocationStatus.PROJECTING,
            evidence_status=None,
            projection=None,
        ),
        record(
            "failed",
            projection='{"evidence_status":"ERROR","tool_call_id":"failed"}',
            status=InvocationStatus.ERROR,
            evidence_status=EvidenceStatus.ERROR,
            error_code=ErrorCode.TOOL_TIMEOUT,
        ),
        record(
            "repaired",
            projection='{"repair_required":true,"tool_call_id":"repaired"}',
            status=InvocationStatus.ERROR,
            evidence_status=EvidenceStatus.ERROR,
            error_code=ErrorCode.PROTOCOL_VIOLATION,
        ),
        record("foreign", FOUND, run_id="run-0"),
        record("found", run_id="run-0"),
        record("tampered", FOUND, projection_sha256="0" * 64),
    ]


OBSERVATION, NEGATIVE, INFERENCE = "OBSERVATION", "NEGATIVE_OBSERVATION", "INFERENCE"


@pytest.mark.parametrize(
    ("kind", "ids", "quotes", "violations"),
    [
        (OBSERVATION, ["found"], [("found", LINE)], []),
        (OBSERVATION, ["cut"], [("cut", LINE)], []),
        (OBSERVATION, ["runbook"], [("runbook", LINE)], []),
        (OBSERVATION, ["found", "found-too"], [("found", LINE)], []),
        (OBSERVATION, ["found", "found-too"], [("found", LINE), ("found-too", LINE)], []),
        (OBSERVATION, ["nobody"], [("nobody", LINE)], [("UNKNOWN_TOOL_CALL_ID", "nobody")]),
        (OBSERVATION, ["Found"], [("Found", LINE)], [("UNKNOWN_TOOL_CALL_ID", "Found")]),
        (OBSERVATION, ["foreign"], [("foreign", LINE)], [("FOREIGN_RUN", "foreign")]),
        (
            OBSERVATION,
            ["projecting"],
            [("projecting", LINE)],
            [("INVOCATION_NOT_READY", "projecting")],
        ),
        (OBSERVATION, ["failed"], [("failed", LINE)], [("INVOCATION_ERROR", "failed")]),
        (OBSERVATION, ["repaired"], [("repaired", LINE)], [("INVOCATION_ERROR", "repaired")]),
        (OBSERVATION, ["tampered"], [("tampered", LINE)], [("PROJECTION_TAMPERED", "tampered")]),
        (
            OBSERVATION,
            ["found", "empty"],
            [("found", LINE)],
            [("NO_EVIDENCE_CITED_AS_EVIDENCE", "empty")],
        ),
        (
            OBSERVATION,
            ["found", "nobody", "failed"],
            [("found", LINE)],
            [("UNKNOWN_TOOL_CALL_ID", "nobody"), ("INVOCATION_ERROR", "failed")],
        ),
        (OBSERVATION, ["found", "cut"], [], [("QUOTE_MISSING", "found, cut")]),
        (
            OBSERVATION,
            ["empty"],
            [("empty", LINE)],
            [("NO_EVIDENCE_CITED_AS_EVIDENCE", "empty"), ("QUOTE_NOT_FOUND", LINE)],
        ),
        (OBSERVATION, ["found"], [("found-too", LINE)], [("QUOTE_NOT_BOUND", LINE)]),
        (OBSERVATION, ["found"], [("nobody", LINE)], [("QUOTE_NOT_BOUND", LINE)]),
        (
            OBSERVATION,
            ["found"],
            [("found", LINE), ("found", "something else altogether")],
            [("QUOTE_NOT_FOUND", "something else altogether")],
        ),
        (NEGATIVE, ["empty"], [], []),
        (NEGATIVE, ["empty", "empty-too"], [], []),
        (
            NEGATIVE,
            ["empty", "found"],
            [],
            [("NEGATIVE_OBSERVATION_WITHOUT_EMPTY_RESULT", "found")],
        ),
        (NEGATIVE, ["cut"], [], [("NEGATIVE_OBSERVATION_WITHOUT_EMPTY_RESULT", "cut")]),
        (NEGATIVE, ["empty-scan"], [], [("TRUNCATED_NEGATIVE", "empty-scan")]),
        (NEGATIVE, ["empty", "empty-scan"], [], [("TRUNCATED_NEGATIVE", "empty-scan")]),
        (NEGATIVE, ["failed"], [], [("INVOCATION_ERROR", "failed")]),
        (NEGATIVE, ["empty"], [("empty", LINE)], [("QUOTE_NOT_BOUND", LINE)]),
        (INFERENCE, ["found"], [], []),
        (INFERENCE, ["empty", "found"], [], []),
        (INFERENCE, ["runbook"], [("runbook", LINE)], []),
        (INFERENCE, ["empty-scan", "cut"], [], []),
        (INFERENCE, ["found"], [("found", "no such text")], [("QUOTE_NOT_FOUND", "no such text")]),
        (INFERENCE, ["found"], [("cut", LINE)], [("QUOTE_NOT_BOUND", LINE)]),
        (
            INFERENCE,
            ["empty", "empty-too"],
            [],
            [
                ("NO_EVIDENCE_CITED_AS_EVIDENCE", "empty"),
                ("NO_EVIDENCE_CITED_AS_EVIDENCE", "empty-too"),
            ],
        ),
        (INFERENCE, ["foreign", "found"], [], [("FOREIGN_RUN", "foreign")]),
        (INFERENCE, ["nobody"], [], [("UNKNOWN_TOOL_CALL_ID", "nobody")]),
    ],
)
def test_a_statement_breaks_exactly_these_rules(
    records: list[Any],
    statement: Any,
    draft: Any,
    run_id: str,
    kind: str,
    ids: list[str],
    quotes: list[tuple[str, str]],
    violations: list[tuple[str, str]],
) -> None:
    sound = statement(OBSERVATION, ["found"], [("found", LINE)])
    verification = check_draft(draft(sound, statement(kind, ids, quotes)), records, run_id=run_id)
    assert [(each.target, each.code, each.detail) for each in verification.violations] == [
        (1, code, detail) for code, detail in violations
    ]
    assert verification.verdicts == (
        Verdict(target=0, passed=True),
        Verdict(target=1, passed=not violations),
    )
    assert verification.accepted is (not violations)


def _carrying(statement: Any) -> dict[str, Any]:
    return {
        "observed": statement(OBSERVATION, ["found"], [("found", LINE)]),
        "observed with a runbook": statement(
            OBSERVATION, ["found", "runbook"], [("runbook", LINE), ("found", LINE)]
        ),
        "quoted from the runbook only": statement(
            OBSERVATION, ["found", "runbook"], [("runbook", LINE)]
        ),
        "inferred": statement(INFERENCE, ["found"], [("found", LINE)]),
        "nothing there": statement(NEGATIVE, ["empty"]),
        "broken": statement(OBSERVATION, ["found"], [("found", LINE), ("found", "and no such")]),
        "not quoted": statement(OBSERVATION, ["found"]),
    }


@pytest.mark.parametrize(
    ("names", "carried"),
    [
        (["observed"], True),
        (["observed with a runbook"], True),
        (["inferred", "nothing there", "observed"], True),
        (["broken", "observed"], True),
        ([], False),
        (["inferred"], False),
        (["nothing there"], False),
        (["quoted from the runbook only"], False),
        (["quoted from the runbook only", "inferred"], False),
        (["broken"], False),
        (["not quoted"], False),
    ],
)
def test_a_conclusion_needs_a_passing_observation_of_the_incident(
    records: list[Any],
    statement: Any,
    draft: Any,
    run_id: str,
    names: list[str],
    carried: bool,
) -> None:
    statements = [_carrying(statement)[name] for name in names]
    verification = check_draft(
        draft(*statements, root_cause="the pool is too small"), records, run_id=run_id
    )
    of_conclusion = [
        (each.code, each.detail) for each in verification.violations if each.target == "conclusion"
    ]
    missing = [("CONCLUSION_WITHOUT_EVIDENCE", "the pool is too small")]
    assert of_conclusion == ([] if carried else missing)
    assert verification.verdicts[-1] == Verdict(target="conclusion", passed=carried)
    assert len(verification.verdicts) == len(names) + 1


def test_a_draft_without_conclusion_is_judged_too(
    records: list[Any], statement: Any, draft: Any, run_id: str
) -> None:
    empty = check_draft(draft(), records, run_id=run_id)
    assert empty.accepted
    assert empty.verdicts == ()
    unsound = check_draft(draft(statement(OBSERVATION, ["found"])), records, run_id=run_id)
    assert not unsound.accepted


def test_of_two_runs_with_the_same_id_the_own_one_is_read(
    record: Any, statement: Any, draft: Any, run_id: str
) -> None:
    own, foreign = record("call_1", FOUND), record("call_1", run_id="run-0")
    judged = draft(statement(OBSERVATION, ["call_1"], [("call_1", LINE)]))
    for invocations in ([own, foreign], [foreign, own]):
        assert check_draft(judged, invocations, run_id=run_id).accepted
        assert not check_draft(judged, invocations, run_id="run-0").accepted


HEAD = '{"tool_call_id":"call","evidence_status":"EVIDENCE_FOUND","truncated":null'
PROJECTIONS = {
    "no JSON": "not JSON",
    "nothing": "",
    "no object": "[]",
    "no members": "{}",
    "cut off": HEAD + ',"items":[',
    "text behind it": HEAD + ',"items":[{}]} x',
    "no items": HEAD + "}",
    "items that are no list": HEAD + ',"items":{}}',
    "items twice": HEAD + ',"items":[{}],"items":[{}]}',
    "a status twice": HEAD + ',"evidence_status":"EVIDENCE_FOUND","items":[{}]}',
    "a comma too many": HEAD + ',"items":[{},]}',
    "a comma too few": HEAD + ' "items":[{}]}',
    "a number for a name": HEAD + ',1:2,"items":[{}]}',
    "NaN": HEAD + ',"items":[{"a":NaN}]}',
    "nested without end": HEAD + ',"items":[' + "[" * 5_000 + "]" * 5_000 + "]}",
    "no truncated": '{"tool_call_id":"call","evidence_status":"EVIDENCE_FOUND","items":[{}]}',
    "another call's": HEAD.replace('"call"', '"other"') + ',"items":[{}]}',
    "another status": HEAD.replace("EVIDENCE_FOUND", "NO_EVIDENCE") + ',"items":[{}]}',
    "no status": HEAD.replace('"EVIDENCE_FOUND"', "[]") + ',"items":[{}]}',
}


def test_the_projections_below_are_one_fault_away_from_a_sound_one(
    record: Any, statement: Any, draft: Any, run_id: str
) -> None:
    sound = record("call", FOUND, projection=HEAD + ',"items":[{}]}')
    assert check_draft(draft(statement(INFERENCE, ["call"])), [sound], run_id=run_id).accepted


@pytest.mark.parametrize("name", PROJECTIONS)
def test_a_projection_that_is_no_result_of_the_call_is_tampered(
    record: Any, statement: Any, draft: Any, run_id: str, name: str
) -> None:
    tampered = record("call", FOUND, projection=PROJECTIONS[name])
    judged = draft(statement(INFERENCE, ["call"]))
    verification = check_draft(judged, [tampered], run_id=run_id)
    assert [each.code for each in verification.violations] == ["PROJECTION_TAMPERED"]


def test_white_space_in_a_projection_is_no_tampering(
    record: Any, statement: Any, draft: Any, run_id: str
) -> None:
    text = (
        ' {"tool_call_id" : "call",\n"evidence_status":"EVIDENCE_FOUND", "items" : '
        '[ {"a": "first value"} ,\n {"a": "second value"}\n] , "truncated": null }\n'
    )
    quotes = [("call", '{"a": "first value"}'), ("call", "second value")]
    judged = draft(statement(OBSERVATION, ["call"], quotes))
    laid_out = record("call", FOUND, projection=text)
    assert check_draft(judged, [laid_out], run_id=run_id).accepted


@pytest.mark.parametrize(
    "changes",
    [
        {"projection": None},
        {"projection_sha256": None},
        {"projection_sha256": ""},
        {"evidence_status": EvidenceStatus.NO_EVIDENCE},
        {"evidence_status": None},
    ],
)
def test_a_record_that_does_not_fit_its_projection_is_tampered(
    record: Any, statement: Any, draft: Any, run_id: str, changes: dict[str, Any]
) -> None:
    judged = draft(statement(INFERENCE, ["call"]))
    verification = check_draft(judged, [record("call", FOUND, **changes)], run_id=run_id)
    assert [each.code for each in verification.violations] == ["PROJECTION_TAMPERED"]


def test_a_ready_record_of_an_error_is_tampered(
    record: Any, projection: Any, statement: Any, draft: Any, run_id: str
) -> None:
    contradiction = record(
        "call",
        projection=projection("call", [], evidence_status="ERROR"),
        evidence_status=EvidenceStatus.ERROR,
    )
    verification = check_draft(draft(statement(NEGATIVE, ["call"])), [contradiction], run_id=run_id)
    assert [each.code for each in verification.violations] == ["PROJECTION_TAMPERED"]


def test_a_text_changed_after_recording_is_tampered(
    record: Any, statement: Any, draft: Any, run_id: str
) -> None:
    sound = record("call", FOUND)
    changed = sound.model_copy(
        update={"projection": sound.projection.replace("timed out", "succeeded")}
    )
    judged = draft(
        statement(OBSERVATION, ["call"], [("call", "request succeeded")]), root_cause="none"
    )
    verification = check_draft(judged, [changed], run_id=run_id)
    assert [(each.target, each.code) for each in verification.violations] == [
        (0, "PROJECTION_TAMPERED"),
        ("conclusion", "CONCLUSION_WITHOUT_EVIDENCE"),
    ]
