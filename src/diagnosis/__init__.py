"""Diagnose incidents with statements bound to evidence collected in the run.

    async with open_diagnosis(settings) as diagnosis:
        outcome = await diagnosis.run(DiagnosisInput(query="why do orders fail?"))

Names are loaded when they are first used: importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnosis.agent.capability import HarnessCapability
    from diagnosis.agent.toolset import EvidenceToolset
    from diagnosis.application import Diagnosis
    from diagnosis.bootstrap import open_diagnosis
    from diagnosis.contracts.draft import DiagnosisDraft
    from diagnosis.contracts.events import RunEvent
    from diagnosis.contracts.evidence import ToolAnswer, ToolInvocation
    from diagnosis.contracts.release import DiagnosisOutcome
    from diagnosis.contracts.run import (
        DiagnosisInput,
        EndReason,
        PreviousTurn,
        RunLimits,
        RunStatus,
    )
    from diagnosis.errors import ConfigurationError, DiagnosisError, InvalidInput
    from diagnosis.harness.cancellation import Cancellation
    from diagnosis.harness.run_context import RunContext
    from diagnosis.plugin.observer import RunObserver
    from diagnosis.settings import Settings, load_settings

_HOMES = {
    "Cancellation": "diagnosis.harness.cancellation",
    "ConfigurationError": "diagnosis.errors",
    "Diagnosis": "diagnosis.application",
    "DiagnosisDraft": "diagnosis.contracts.draft",
    "DiagnosisError": "diagnosis.errors",
    "DiagnosisInput": "diagnosis.contracts.run",
    "DiagnosisOutcome": "diagnosis.contracts.release",
    "EndReason": "diagnosis.contracts.run",
    "EvidenceToolset": "diagnosis.agent.toolset",
    "HarnessCapability": "diagnosis.agent.capability",
    "InvalidInput": "diagnosis.errors",
    "PreviousTurn": "diagnosis.contracts.run",
    "RunContext": "diagnosis.harness.run_context",
    "RunEvent": "diagnosis.contracts.events",
    "RunLimits": "diagnosis.contracts.run",
    "RunObserver": "diagnosis.plugin.observer",
    "RunStatus": "diagnosis.contracts.run",
    "Settings": "diagnosis.settings",
    "ToolAnswer": "diagnosis.contracts.evidence",
    "ToolInvocation": "diagnosis.contracts.evidence",
    "load_settings": "diagnosis.settings",
    "open_diagnosis": "diagnosis.bootstrap",
}

__all__ = [
    "Cancellation",
    "ConfigurationError",
    "Diagnosis",
    "DiagnosisDraft",
    "DiagnosisError",
    "DiagnosisInput",
    "DiagnosisOutcome",
    "EndReason",
    "EvidenceToolset",
    "HarnessCapability",
    "InvalidInput",
    "PreviousTurn",
    "RunContext",
    "RunEvent",
    "RunLimits",
    "RunObserver",
    "RunStatus",
    "Settings",
    "ToolAnswer",
    "ToolInvocation",
    "load_settings",
    "open_diagnosis",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'diagnosis' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
