"""An evidence tool: what a plugin author implements, and what `collect` is given."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Generic, Protocol, TypeVar, cast, get_type_hints, runtime_checkable

from pydantic import BaseModel

from diagnosis.contracts.evidence import EvidenceResult

RequestT = TypeVar("RequestT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class EvidenceContext:
    """All that a tool learns about the run.

    Attributes:
        run_id, tool_call_id: together the idempotency key of the call.
        reference_time: what "now" means in this run; aware.
        zone: the zone for times that carry none.
        remaining_s: seconds until the call is cut off.
        byte_budget: bytes of the serialised result that the model can be shown.
    """

    run_id: str
    tool_call_id: str
    reference_time: datetime
    zone: tzinfo
    remaining_s: float
    byte_budget: int


@runtime_checkable
class EvidenceTool(Protocol):
    """One way to collect evidence.

    A tool may also have: `reference: bool` (True for knowledge, which alone never carries a
    conclusion), `normalise(request) -> dict` (the scope its fingerprint is made of; by default the
    request itself), `describe() -> str` (sources and names, at most 1 KiB, added to the
    description), `async open()`, `async close()`, `timeout_s: float` and
    `agent_result_bytes: int` (only ever below the run's limits).
    """

    @property
    def name(self) -> str:
        """snake_case, unique among all plugins."""
        ...

    @property
    def description(self) -> str:
        """What it answers, when to use it, what an empty result means."""
        ...

    @property
    def request(self) -> type[BaseModel]:
        """The schema the model sees; every field is documented."""
        ...

    async def collect(self, request: Any, context: EvidenceContext) -> EvidenceResult:
        """Collect evidence for one validated request.

        Cancellation must stop the work itself. Raise `QueryRejected`, `SourceNotFound` or
        `SourceUnavailable`; any other exception becomes TOOL_FAILED, its text never shown.
        """
        ...


@dataclass(frozen=True, slots=True)
class FunctionTool(Generic[RequestT]):
    """An evidence tool made of one async function."""

    name: str
    description: str
    request: type[RequestT]
    function: Callable[[RequestT, EvidenceContext], Awaitable[EvidenceResult]]
    reference: bool = False

    async def collect(self, request: RequestT, context: EvidenceContext) -> EvidenceResult:
        """Call the function."""
        return await self.function(request, context)


def evidence_tool(
    *, name: str, description: str, reference: bool = False
) -> Callable[
    [Callable[[RequestT, EvidenceContext], Awaitable[EvidenceResult]]], FunctionTool[RequestT]
]:
    """Make an evidence tool of `async def f(request: Model, context: EvidenceContext)`.

    The annotation of the first parameter is the request's schema; the model is defined at module
    level.

    Raises:
        TypeError: the function is not async, or its first parameter is not annotated with a
            pydantic model.
    """

    def decorate(
        function: Callable[[RequestT, EvidenceContext], Awaitable[EvidenceResult]],
    ) -> FunctionTool[RequestT]:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"the function of {name!r} must be async")
        return FunctionTool(
            name=name,
            description=description,
            request=cast("type[RequestT]", _request_model(name, function)),
            function=function,
            reference=reference,
        )

    return decorate


def _request_model(tool_name: str, function: Callable[..., Any]) -> type[BaseModel]:
    try:
        hints = get_type_hints(function)
    except NameError as error:  # a model defined inside a function, with postponed annotations
        raise TypeError(
            f"the annotations of {tool_name!r} name {error.name!r}, which is not defined at "
            "module level"
        ) from error
    first = next(iter(inspect.signature(function).parameters), None)
    model = hints.get(first) if first is not None else None
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(
            f"the first parameter of {tool_name!r} must be annotated with a pydantic model"
        )
    return model
