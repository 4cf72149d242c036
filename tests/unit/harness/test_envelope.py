"""Strict JSON and the envelope around every request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.contracts.evidence import InformationGain, PreviousObservation, ViolationType
from diagnosis.harness.envelope import Envelope, read_envelope
from diagnosis.harness.strict_json import parse_strict_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a":1,"a":1}',
        '{"a":{"b":1,"b":2}}',
        '{"a":NaN}',
        "[Infinity]",
        '{"a":1} ok',
        "```json\n{}\n```",
        "[" * 100_000 + "]" * 100_000,
    ],
    ids=lambda text: text[:20],
)
def test_lenient_json_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - every kind of it has its own words
        parse_strict_json(text)


def test_a_well_formed_call_keeps_its_judgement_and_its_request():
    value = {
        "previous_observation": {"tool_call_id": "c1", "information_gain": "NO_GAIN"},
        "input": {"about": "x"},
    }
    assert read_envelope(value) == Envelope(
        previous=PreviousObservation(tool_call_id="c1", information_gain=InformationGain.NO_GAIN),
        request={"about": "x"},
    )


@pytest.mark.parametrize("value", [{"input": {}}, {"previous_observation": None, "input": {}}])
def test_no_judgement_and_null_are_the_same(value):
    assert read_envelope(value) == Envelope(previous=None, request={})


@pytest.mark.parametrize(
    ("value", "violation"),
    [
        ([], ViolationType.MALFORMED_ENVELOPE),
        ("x", ViolationType.MALFORMED_ENVELOPE),
        ({"input": {}, "more": 1}, ViolationType.MALFORMED_ENVELOPE),
        ({"about": "x"}, ViolationType.MALFORMED_ENVELOPE),
        ({"input": []}, ViolationType.MALFORMED_ENVELOPE),
        ({"input": {}, "previous_observation": "c1"}, ViolationType.MALFORMED_ENVELOPE),
        (
            {"input": {}, "previous_observation": {"tool_call_id": "c"}},
            ViolationType.MALFORMED_ENVELOPE,
        ),
        (
            {
                "input": {},
                "previous_observation": {"tool_call_id": 1, "information_gain": "GAINED"},
            },
            ViolationType.MALFORMED_ENVELOPE,
        ),
        ({}, ViolationType.MISSING_INPUT),
        ({"previous_observation": None}, ViolationType.MISSING_INPUT),
        ({"input": None}, ViolationType.MISSING_INPUT),
        (
            {
                "input": {},
                "previous_observation": {"tool_call_id": "c", "information_gain": "SOME"},
            },
            ViolationType.INVALID_INFORMATION_GAIN,
        ),
        (
            {"input": {}, "previous_observation": {"tool_call_id": "c", "information_gain": []}},
            ViolationType.INVALID_INFORMATION_GAIN,
        ),
    ],
)
def test_each_way_to_break_the_envelope_has_its_name(value, violation):
    assert read_envelope(value) is violation


@given(JSON)
def test_any_json_is_an_envelope_or_a_violation(value):
    assert isinstance(read_envelope(value), Envelope | ViolationType)
