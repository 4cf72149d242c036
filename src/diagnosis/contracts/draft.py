"""The draft: the only thing the diagnosis agent may answer with.

The schema checks shape only; rules across fields belong to the evidence guard.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from diagnosis.contracts.base import Contract


class Confidence(StrEnum):
    """How sure the agent is of its root cause."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class FaultCategory(StrEnum):
    """The kind of fault."""

    DATABASE = "DATABASE"
    DEPENDENCY = "DEPENDENCY"
    CODE = "CODE"
    CONFIGURATION = "CONFIGURATION"
    CAPACITY = "CAPACITY"
    NETWORK = "NETWORK"
    INFRASTRUCTURE = "INFRASTRUCTURE"
    DATA = "DATA"
    SECURITY = "SECURITY"
    OTHER = "OTHER"


class StatementKind(StrEnum):
    """What a statement of the analysis claims."""

    OBSERVATION = "OBSERVATION"
    NEGATIVE_OBSERVATION = "NEGATIVE_OBSERVATION"
    INFERENCE = "INFERENCE"


class ActionRisk(StrEnum):
    """How much harm an action could do."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


def _unique(ids: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(ids)) != len(ids):
        raise ValueError("tool_call_ids must be unique")
    return ids


class _DraftPart(Contract):
    # strict: a draft is JSON, and JSON of the wrong type is a contract failure, not a hint
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Quote(_DraftPart):
    """A passage copied verbatim from one item of a cited result."""

    tool_call_id: str = Field(description="The result it was copied from.")
    text: str = Field(description="Copied character for character; no ellipsis, no rewording.")


class AnalysisItem(_DraftPart):
    """One statement, bound to the results it rests on."""

    kind: StatementKind = Field(
        description="OBSERVATION: seen in a found result, with a quote. NEGATIVE_OBSERVATION: a "
        "search of a stated scope returned nothing; no quotes. INFERENCE: reasoned from results."
    )
    statement: str
    tool_call_ids: Annotated[tuple[str, ...], AfterValidator(_unique)] = Field(
        min_length=1, max_length=10, description="tool_call_id values of results of this run."
    )
    quotes: tuple[Quote, ...] = Field(default=(), max_length=10)


class Conclusion(_DraftPart):
    """The root cause, where the evidence carries one."""

    root_cause: str
    fault_category: FaultCategory
    fault_source: str | None = Field(description="The component the fault comes from, or null.")
    fault_target: str | None = Field(description="The component that suffers, or null.")
    confidence: Confidence


class Limitation(_DraftPart):
    """What could not be learned."""

    scope: str = Field(description="Where was looked, or could not be looked.")
    missing_information: str
    ask_user: bool = Field(description="True when the user could supply it.")


class Action(_DraftPart):
    """A proposal; nothing is executed."""

    action: str
    risk: ActionRisk
    rationale: str


class DiagnosisDraft(_DraftPart):
    """The whole answer of the diagnosis agent."""

    conclusion: Conclusion | None = Field(
        description="null when the evidence does not carry a root cause."
    )
    analysis: tuple[AnalysisItem, ...] = Field(max_length=30)
    limitations: tuple[Limitation, ...] = Field(max_length=20)
    recommended_actions: tuple[Action, ...] = Field(max_length=10)
