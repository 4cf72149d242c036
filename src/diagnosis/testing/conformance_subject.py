"""The tool under test, with its requests and what it answers them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from pydantic import BaseModel, JsonValue

from diagnosis.contracts.evidence import EvidenceResult
from diagnosis.plugin.evidence_tool import EvidenceContext
from diagnosis.plugin.registered_tool import RegisteredTool

Request = dict[str, JsonValue]


class Misbehaviour(Exception):
    """The tool did what it must not; the text is one line for its author."""


@dataclass(slots=True)
class Subject:
    """The tool under test.

    Attributes:
        tool: its checked definition.
        requests: valid requests; at least one of them finds something.
        empty_request: a valid request that finds nothing, or None.
        rejected_requests: requests that the tool must refuse.
        slow_request: the one that is cancelled.
        secrets: texts that must never leave the tool.
        reference_time, zone, timeout_s, agent_result_bytes: of every call's context.
        answers: the first answer to each request, by its JSON text.
    """

    tool: RegisteredTool
    requests: Sequence[Request]
    empty_request: Request | None
    rejected_requests: Sequence[Request]
    slow_request: Request
    secrets: Sequence[str]
    reference_time: datetime
    zone: tzinfo
    timeout_s: float
    agent_result_bytes: int
    answers: dict[str, EvidenceResult] = field(default_factory=dict)
    _calls: int = 0

    @property
    def limit(self) -> int:
        """Bytes of what the model is shown: the tool's own limit, if it is below the run's."""
        return min(self.agent_result_bytes, self.tool.agent_result_bytes or self.agent_result_bytes)

    @property
    def valid_requests(self) -> tuple[Request, ...]:
        """All requests that must be answered."""
        return (*self.requests, *([] if self.empty_request is None else [self.empty_request]))

    def context(self) -> EvidenceContext:
        """The context of one more call."""
        self._calls += 1
        return EvidenceContext(
            run_id="conformance",
            tool_call_id=f"call-{self._calls}",
            reference_time=self.reference_time,
            zone=self.zone,
            remaining_s=self.timeout_s,
            byte_budget=self.limit,
        )

    def validated(self, request: Request) -> BaseModel:
        """The request as the tool's model."""
        return self.tool.validate(request)

    async def ask(self, request: Request) -> EvidenceResult:
        """Ask the tool once.

        Raises:
            Misbehaviour: it raised, took too long, or returned something else.
        """
        try:
            async with asyncio.timeout(self.timeout_s):
                answer: object = await self.tool.collect(self.validated(request), self.context())
        except TimeoutError:
            raise Misbehaviour(f"collect did not end within {self.timeout_s:g} s") from None
        except Exception as error:
            # a kit for authors: the text helps them, and goes no further than their terminal
            raise Misbehaviour(f"collect raised {type(error).__name__}: {error}") from error
        if not isinstance(answer, EvidenceResult):
            raise Misbehaviour(f"collect returned {type(answer).__name__}, no EvidenceResult")
        return answer


def key(request: Request) -> str:
    """The request as text, to look its answer up and to show it."""
    return json.dumps(request, ensure_ascii=False, sort_keys=True, default=str)
