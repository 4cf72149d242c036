"""Fakes for tests of applications and plugins: nothing here needs a network, a key or patience.

    from diagnosis.testing import FakeClock, RecordingObserver, ScriptedModel, answer, call

Plugin authors: `check_evidence_tool` in `diagnosis.testing.conformance`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnosis.testing.conformance import check_evidence_tool
    from diagnosis.testing.fake_clock import FakeClock
    from diagnosis.testing.fake_tool import FakeTool, Question, found, nothing
    from diagnosis.testing.recording import RecordingObserver
    from diagnosis.testing.run import make_boundary, make_context, open_for_testing
    from diagnosis.testing.scripted import ScriptedModel, answer, call, calls, draft_json

_HOMES = {
    "FakeClock": "fake_clock",
    "FakeTool": "fake_tool",
    "Question": "fake_tool",
    "RecordingObserver": "recording",
    "ScriptedModel": "scripted",
    "answer": "scripted",
    "call": "scripted",
    "calls": "scripted",
    "check_evidence_tool": "conformance",
    "draft_json": "scripted",
    "found": "fake_tool",
    "make_boundary": "run",
    "make_context": "run",
    "nothing": "fake_tool",
    "open_for_testing": "run",
}

__all__ = [
    "FakeClock",
    "FakeTool",
    "Question",
    "RecordingObserver",
    "ScriptedModel",
    "answer",
    "call",
    "calls",
    "check_evidence_tool",
    "draft_json",
    "found",
    "make_boundary",
    "make_context",
    "nothing",
    "open_for_testing",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'diagnosis.testing' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"diagnosis.testing.{_HOMES[name]}"), name)
    return value
