"""Which operations may be attempted again, and after which technical failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class Operation(StrEnum):
    """What can fail technically. An ordinary round of the loop is no retry."""

    INTENT_ROUTER = "INTENT_ROUTER"
    AGENT = "AGENT"
    EVIDENCE_TOOL = "EVIDENCE_TOOL"
    EVIDENCE_REPAIR = "EVIDENCE_REPAIR"
    SEMANTIC_GUARD = "SEMANTIC_GUARD"


class FailureKind(StrEnum):
    """Why an attempt failed; the first four are technical and may pass."""

    NETWORK = "NETWORK"
    TIMEOUT = "TIMEOUT"
    RATE_LIMITED = "RATE_LIMITED"
    SERVER_ERROR = "SERVER_ERROR"
    REFUSED = "REFUSED"
    NO_EVIDENCE = "NO_EVIDENCE"
    CANCELLED = "CANCELLED"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"


_TECHNICAL = frozenset(
    {
        FailureKind.NETWORK,
        FailureKind.TIMEOUT,
        FailureKind.RATE_LIMITED,
        FailureKind.SERVER_ERROR,
    }
)
_DEFAULT_ATTEMPTS: Mapping[Operation, int] = MappingProxyType(
    {
        Operation.INTENT_ROUTER: 2,
        Operation.AGENT: 1,
        Operation.EVIDENCE_TOOL: 1,
        Operation.EVIDENCE_REPAIR: 1,
        Operation.SEMANTIC_GUARD: 2,
    }
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many attempts each operation has. The provider SDK's own retries are always off."""

    attempts: Mapping[Operation, int] = field(default_factory=lambda: _DEFAULT_ATTEMPTS)

    def allows_another(self, operation: Operation, made: int, failure: FailureKind) -> bool:
        """Whether one more attempt may follow `made` attempts, the last of which failed so."""
        return failure in _TECHNICAL and made < self.attempts[operation]
