from datetime import UTC, datetime

import pytest
from pydantic import BaseModel, Field

from diagnosis.plugin import (
    EvidenceContext,
    EvidenceItem,
    EvidenceResult,
    EvidenceTool,
    evidence_tool,
)


class Request(BaseModel):
    service: str = Field(description="The service.")


CONTEXT = EvidenceContext("run", "call", datetime(2026, 1, 1, tzinfo=UTC), UTC, 10.0, 16_384)


async def test_an_async_function_becomes_a_tool_that_calls_it() -> None:
    @evidence_tool(name="list_things", description="Lists things.", reference=True)
    async def list_things(request: Request, context: EvidenceContext) -> EvidenceResult:
        item = EvidenceItem(identity=context.tool_call_id, fields={"service": request.service})
        return EvidenceResult(items=(item,), scope={})

    assert isinstance(list_things, EvidenceTool)
    assert (list_things.name, list_things.description) == ("list_things", "Lists things.")
    assert list_things.request is Request
    assert list_things.reference
    result = await list_things.collect(Request(service="cart"), CONTEXT)
    assert result.items[0].fields == {"service": "cart"}
    assert result.items[0].identity == "call"


def test_a_function_that_is_not_async_is_refused() -> None:
    with pytest.raises(TypeError, match="'blocking' must be async"):

        @evidence_tool(name="blocking", description="Blocks.")
        def blocking(request: Request, context: EvidenceContext) -> EvidenceResult:  # type: ignore[arg-type] # the mistake under test
            return EvidenceResult(scope={})


@pytest.mark.parametrize("annotation", [int, "Request | None", None])
def test_the_first_parameter_must_be_a_pydantic_model(annotation: object) -> None:
    async def collect(request, context: Request):  # type: ignore[no-untyped-def] # annotated below
        return EvidenceResult(scope={})

    if annotation is not None:
        collect.__annotations__["request"] = annotation
    with pytest.raises(TypeError, match="first parameter of 'odd' must be annotated"):
        evidence_tool(name="odd", description="Odd.")(collect)


def test_a_function_without_parameters_is_refused() -> None:
    async def collect() -> EvidenceResult:
        return EvidenceResult(scope={})

    with pytest.raises(TypeError, match="first parameter"):
        evidence_tool(name="odd", description="Odd.")(collect)  # type: ignore[arg-type] # the mistake under test


def test_a_model_that_cannot_be_resolved_is_named() -> None:
    async def collect(request: "Missing", context: EvidenceContext) -> EvidenceResult:  # type: ignore[name-defined] # noqa: F821 - the mistake under test
        return EvidenceResult(scope={})

    with pytest.raises(TypeError, match="'Missing', which is not defined at module level"):
        evidence_tool(name="odd", description="Odd.")(collect)
