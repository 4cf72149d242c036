"""The tool under test, with its requests and what it answers them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from pydantic import BaseModel, JsonValue

from diagnosis.contracts.evidence import EvidenceResult
from diagnosis.plugin.evidence_tool import EvidenceContext, EvidenceTool
from diagnosis.plugin.registered_tool import RegisteredTool
from diagnosis.testing.conformance.log_watch import LoggedSecrets

Request = dict[str, JsonValue]
IsWorking = Callable[[], bool | Awaitable[bool]]

_LIMITS = ("limit", "top_k", "max_results", "max_items", "page_size", "count", "top")


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
        large_request: a request that matches far more than can be shown, or None.
        slow_request: the one that is cancelled.
        is_working: whether the source still works for the slow request, or None.
        unavailable_tool: the same tool over a source that does not answer, or None.
        settings: the plugin's settings, or None.
        secrets: texts that must never leave the tool.
        reference_time, zone, timeout_s, agent_result_bytes: of every call's context.
        logged: what was logged since the check began, as far as it holds a secret.
        answers: the first answer to each valid request, by its JSON text.
        again: the second one.
        failures: what was raised, as text, by where it was.
    """

    tool: RegisteredTool
    requests: Sequence[Request]
    empty_request: Request | None
    rejected_requests: Sequence[Request]
    large_request: Request | None
    slow_request: Request
    is_working: IsWorking | None
    unavailable_tool: EvidenceTool | None
    settings: object | None
    secrets: Sequence[str]
    reference_time: datetime
    zone: tzinfo
    timeout_s: float
    agent_result_bytes: int
    logged: LoggedSecrets
    answers: dict[str, EvidenceResult] = field(default_factory=dict)
    again: dict[str, EvidenceResult] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    _calls: int = 0

    @property
    def limit(self) -> int:
        """Bytes of what the model is shown: the tool's own limit, if it is below the run's."""
        return min(self.agent_result_bytes, self.tool.agent_result_bytes or self.agent_result_bytes)

    @property
    def valid_requests(self) -> tuple[Request, ...]:
        """All requests that must be answered."""
        optional = (self.empty_request, self.large_request)
        return (*self.requests, *(request for request in optional if request is not None))

    @property
    def limit_field(self) -> str | None:
        """The field of the request that says how many items are wanted, or None."""
        fields = self.tool.tool.request.model_fields
        return next((name for name in _LIMITS if name in fields), None)

    def context(
        self, *, reference_time: datetime | None = None, remaining_s: float | None = None
    ) -> EvidenceContext:
        """The context of one more call, each of another run."""
        self._calls += 1
        return EvidenceContext(
            run_id=f"conformance-{self._calls}",
            tool_call_id=f"call-{self._calls}",
            reference_time=reference_time or self.reference_time,
            zone=self.zone,
            remaining_s=self.timeout_s if remaining_s is None else remaining_s,
            byte_budget=self.limit,
        )

    def validated(self, request: Request) -> BaseModel:
        """The request as the tool's model."""
        return self.tool.validate(request)

    def answer(self, request: Request) -> EvidenceResult:
        """The first answer to a request; where there was none, `collect` has told so."""
        return self.answers.get(key(request), EvidenceResult(scope={}))

    async def ask(
        self, request: Request, *, reference_time: datetime | None = None
    ) -> EvidenceResult:
        """Ask the tool once.

        Raises:
            Misbehaviour: it raised, took too long, or returned something else.
        """
        context = self.context(reference_time=reference_time)
        try:
            async with asyncio.timeout(self.timeout_s):
                answer: object = await self.tool.collect(self.validated(request), context)
        except TimeoutError:
            raise Misbehaviour(f"collect did not end within {self.timeout_s:g} s") from None
        except Exception as error:
            self.failures[key(request)] = f"{error!r} {error}"
            # a kit for authors: the text helps them, and goes no further than their terminal
            raise Misbehaviour(f"collect raised {type(error).__name__}: {error}") from error
        if not isinstance(answer, EvidenceResult):
            raise Misbehaviour(f"collect returned {type(answer).__name__}, no EvidenceResult")
        return answer


def key(request: Request) -> str:
    """The request as text, to look its answer up and to show it."""
    return json.dumps(request, ensure_ascii=False, sort_keys=True, default=str)


def identities(answer: EvidenceResult) -> list[str]:
    """The identities of an answer's items, in order."""
    return [item.identity for item in answer.items]
