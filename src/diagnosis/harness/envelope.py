"""The envelope around every tool request: parsing, and what a broken one is answered."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from diagnosis.contracts.evidence import InformationGain, PreviousObservation, ViolationType

_KEYS = {"previous_observation", "input"}
_OBSERVATION_KEYS = {"tool_call_id", "information_gain"}


@dataclass(frozen=True, slots=True)
class Envelope:
    """A well-formed call: the judgement of the previous result, and the tool's own request."""

    previous: PreviousObservation | None
    request: dict[str, JsonValue]


def read_envelope(value: JsonValue) -> Envelope | ViolationType:
    """Read a parsed call; a violation is a value, because it is answered, never raised.

    A missing `previous_observation` counts as null: many providers drop null arguments.
    """
    if not isinstance(value, dict) or not set(value) <= _KEYS:
        return ViolationType.MALFORMED_ENVELOPE
    request = value.get("input")
    if request is None:
        return ViolationType.MISSING_INPUT
    if not isinstance(request, dict):
        return ViolationType.MALFORMED_ENVELOPE
    previous = _read_previous(value.get("previous_observation"))
    if isinstance(previous, ViolationType):
        return previous
    return Envelope(previous=previous, request=request)


def _read_previous(value: JsonValue) -> PreviousObservation | ViolationType | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != _OBSERVATION_KEYS:
        return ViolationType.MALFORMED_ENVELOPE
    tool_call_id, gain = value["tool_call_id"], value["information_gain"]
    if not isinstance(tool_call_id, str) or not tool_call_id:
        return ViolationType.MALFORMED_ENVELOPE
    if gain not in tuple(InformationGain):
        return ViolationType.INVALID_INFORMATION_GAIN
    return PreviousObservation(tool_call_id=tool_call_id, information_gain=InformationGain(gain))
