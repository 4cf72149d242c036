"""An evidence tool that answers what a test wants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from diagnosis.contracts.evidence import EvidenceItem, EvidenceResult
from diagnosis.plugin.evidence_tool import EvidenceContext


class Question(BaseModel):
    """The request of a fake tool."""

    model_config = ConfigDict(extra="forbid")

    about: str = Field(description="What to look for.")
    limit: int = Field(default=5, ge=1, le=10, description="How many items at most.")


Collect = Callable[[Question, EvidenceContext], Awaitable[EvidenceResult]]


def found(*texts: str, **scope: JsonValue) -> EvidenceResult:
    """A result with one item a text."""
    items = tuple(
        EvidenceItem(identity=f"{number}:{text[:40]}", fields={"text": text})
        for number, text in enumerate(texts)
    )
    return EvidenceResult(items=items, scope=scope or {"source": "fake"}, matched=len(items))


def nothing(**scope: JsonValue) -> EvidenceResult:
    """A result without items: nothing matched in this scope."""
    return EvidenceResult(scope=scope or {"source": "fake"}, matched=0)


class FakeTool:
    """A tool whose answer is a result, an exception to raise, or an async function.

    Attributes:
        requests: every request it collected for, in order.
    """

    description = "Looks things up in a test. An empty result means that nothing matched."
    request = Question

    def __init__(
        self,
        answer: EvidenceResult | Exception | Collect | None = None,
        *,
        name: str = "look_up",
        reference: bool = False,
        timeout_s: float | None = None,
        agent_result_bytes: int | None = None,
    ) -> None:
        self.name = name
        self.reference = reference
        self.timeout_s = timeout_s
        self.agent_result_bytes = agent_result_bytes
        self.requests: list[Question] = []
        self._answer = found("something happened at node-7") if answer is None else answer

    async def collect(self, request: Question, context: EvidenceContext) -> EvidenceResult:
        """Give the answer."""
        self.requests.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        if isinstance(self._answer, EvidenceResult):
            return self._answer
        return await self._answer(request, context)
