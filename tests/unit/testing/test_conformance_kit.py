"""The conformance kit passes a good tool, and each check fails a tool that breaks its rule."""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, create_model
from typing_extensions import TypedDict

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected, SourceError, SourceNotFound, SourceUnavailable
from diagnosis.plugin import EvidenceContext, EvidenceItem, EvidenceResult, Truncation
from diagnosis.testing.conformance import CHECKS, ConformanceError, check_evidence_tool

STOCK = {"apples": 3, "pears": 5, "plums": 0, "quinces": 8}
MANY = {f"many{number:03} {'x' * 200}": number for number in range(200)}
SECRET = "hunter2"
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


class StockRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    prefix: str = Field(description="What the name begins with.", max_length=20)
    colour: str | None = Field(default=None, description="Only fruit of this colour.")
    wait_s: float = Field(default=0.0, description="Seconds to wait.", ge=0)
    limit: int = Field(default=300, description="How many kinds at most.", ge=1)


class StockTool:
    """A good tool: each bad one below differs from it in one thing."""

    name = "list_stock"
    description = "Lists fruit by prefix. An empty result means that none is stored."
    request: Any = StockRequest

    def __init__(self) -> None:
        self.calls = 0
        self.journal: list[str] = []

    def describe(self) -> str:
        return "Fruit: " + ", ".join(STOCK)

    def normalise(self, request: StockRequest) -> dict[str, Any]:
        return request.model_dump(exclude={"wait_s"})

    async def open(self) -> None:
        self.journal.append("open")

    async def close(self) -> None:
        self.journal.append("close")

    async def collect(self, request: StockRequest, context: EvidenceContext) -> EvidenceResult:
        self.calls += 1
        if request.prefix.startswith("/"):
            raise SourceNotFound
        if request.prefix.startswith("*"):
            raise QueryRejected(QueryRejection.PATTERN_INVALID)
        await self.work(request)
        return self.answer(request, context)

    async def work(self, request: StockRequest) -> None:
        await asyncio.sleep(request.wait_s)

    def answer(self, request: StockRequest, context: EvidenceContext) -> EvidenceResult:
        return self.result(request)

    def result(self, request: StockRequest) -> EvidenceResult:
        stored = {**STOCK, **MANY} if request.prefix.startswith("many") else STOCK
        names = [name for name in stored if name.startswith(request.prefix)]
        names = [] if request.colour == "blue" else names
        shown = names[: request.limit]
        return EvidenceResult(
            items=tuple(self.item(name) for name in shown),
            scope=self.scope(request),
            matched=len(names),
            truncated=Truncation.ITEMS if len(shown) < len(names) else None,
        )

    def scope(self, request: StockRequest) -> dict[str, Any]:
        return {"prefix": request.prefix, "colour": request.colour, "limit": request.limit}

    def item(self, name: str) -> EvidenceItem:
        return EvidenceItem(identity=name, fields={"name": name, "count": {**STOCK, **MANY}[name]})


class GoneStockTool(StockTool):
    """The good tool over a source that does not answer."""

    async def work(self, request: StockRequest) -> None:
        raise SourceUnavailable("the store does not answer")


class StockSettings(BaseModel):
    url: SecretStr = SecretStr(f"https://root:{SECRET}@stock")


ARGUMENTS: dict[str, Any] = {
    "requests": [{"prefix": "p"}, {"prefix": "", "colour": "red"}],
    "empty_request": {"prefix": "zzz"},
    "rejected_requests": [{"prefix": "/"}, {"prefix": "*"}, {"prefix": 3}, {"prefx": "p"}],
    "large_request": {"prefix": "many"},
    "slow_request": {"prefix": "a", "wait_s": 5.0},
    "unavailable_tool": GoneStockTool(),
    "settings": StockSettings(),
    "secrets": [SECRET],
    "reference_time": NOW,
}

ALL_CHECKS = ("definition", *CHECKS)


async def _failures(tool: Any, **changes: Any) -> dict[str, list[str]]:
    """What the kit finds, by check."""
    with pytest.raises(ConformanceError) as error:
        await check_evidence_tool(tool, **{**ARGUMENTS, **changes})
    found: dict[str, list[str]] = {}
    for failure in error.value.failures:
        found.setdefault(failure.check, []).append(failure.detail)
        assert str(failure) in str(error.value)
    return found


async def test_a_good_tool_passes_every_check_and_is_opened_and_closed() -> None:
    tool = StockTool()
    report = await check_evidence_tool(tool, **ARGUMENTS)
    assert report.tool == "list_stock"
    assert report.passed == ALL_CHECKS
    assert report.not_run == ()
    assert tool.journal == ["open", "close"]


async def test_checks_without_anything_to_look_at_are_reported_as_not_run() -> None:
    class Plain(StockTool):
        describe: Any = None

    report = await check_evidence_tool(Plain(), requests=[{"prefix": "p"}])
    assert report.not_run == (
        *("describe", "empty_result", "byte_bounds", "rejection", "unavailable", "secrets"),
    )
    assert set(report.passed) | set(report.not_run) == set(ALL_CHECKS)


async def test_a_tool_of_one_function_passes() -> None:
    from diagnosis.plugin import evidence_tool

    stock = StockTool()

    @evidence_tool(name="list_stock", description=StockTool.description)
    async def list_stock(request: StockRequest, context: EvidenceContext) -> EvidenceResult:
        return await stock.collect(request, context)

    report = await check_evidence_tool(list_stock, **ARGUMENTS)
    assert report.not_run == ("describe",)


async def test_no_request_at_all_is_a_mistake_of_the_author() -> None:
    with pytest.raises(ValueError, match="at least one valid request"):
        await check_evidence_tool(StockTool(), requests=[])


# --- definition ------------------------------------------------------------------------------


async def test_a_definition_that_the_registry_refuses_is_the_only_failure() -> None:
    class Undocumented(BaseModel):
        prefix: str

    class Bad(StockTool):
        request = Undocumented

    found = await _failures(Bad())
    assert list(found) == ["definition"]
    assert "undocumented request fields: prefix" in found["definition"][0]


async def test_an_invalid_name_is_found() -> None:
    class Bad(StockTool):
        name = "ListStock"

    assert "invalid name" in (await _failures(Bad()))["definition"][0]


async def test_a_tool_that_cannot_be_opened_is_found() -> None:
    class Bad(StockTool):
        async def open(self) -> None:
            raise OSError

    assert "could not be opened: OSError" in (await _failures(Bad()))["definition"][0]


async def test_a_description_that_is_long_and_silent_about_emptiness_is_found() -> None:
    class Bad(StockTool):
        description = "Lists fruit. " * 400

    first, second = (await _failures(Bad()))["description"]
    assert first.startswith("it has 5200 bytes")
    assert second == "it does not say what an empty result means"


async def test_a_description_in_another_language_passes() -> None:
    class Chinese(StockTool):
        description = "按前缀列出水果。没有结果表示库存中没有匹配项。"

    assert (await check_evidence_tool(Chinese(), **ARGUMENTS)).passed == ALL_CHECKS


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        ("x" * 1_025, "it returned 1025 bytes; at most 1024"),
        (3, "it returned int, no text"),
        (None, "it raised RuntimeError"),
    ],
)
async def test_a_describe_that_is_of_no_use_is_found(answer: object, detail: str) -> None:
    class Bad(StockTool):
        def describe(self) -> Any:
            if answer is None:
                raise RuntimeError
            return answer

    assert await _failures(Bad()) == {"describe": [detail]}


@pytest.mark.parametrize("argument", ["empty_request", "slow_request"])
async def test_requests_that_do_not_fit_the_model_are_found_and_nothing_is_asked(
    argument: str,
) -> None:
    tool = StockTool()
    found = await _failures(tool, **{argument: {"prefix": "x" * 30}})
    (detail,) = found["requests"]
    assert detail.endswith("is not valid: prefix")
    assert tool.calls == 0


async def test_a_normalise_that_changes_its_mind_is_found() -> None:
    class Bad(StockTool):
        def normalise(self, request: StockRequest) -> dict[str, Any]:
            return {"asked_at": time.monotonic_ns()}

    assert "gives two scopes" in (await _failures(Bad()))["normalise"][0]


async def test_a_normalise_that_gives_no_json_is_found() -> None:
    class Bad(StockTool):
        def normalise(self, request: StockRequest) -> dict[str, Any]:
            return {"prefix": {request.prefix}}

    assert "TypeError" in (await _failures(Bad()))["normalise"][0]


# --- results ---------------------------------------------------------------------------------


async def test_a_collect_that_raises_is_found_in_every_check_that_asks() -> None:
    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            raise KeyError("apples")

    found = await _failures(Bad())
    assert found["collect"][0] == '{"prefix": "p"}: collect raised KeyError: \'apples\''
    assert found["empty_result"] == ["the empty request was not answered with a result"]
    assert "the second time collect raised KeyError" in found["identities"][0]
    assert "beside other calls collect raised KeyError" in found["concurrency"][0]


@pytest.mark.parametrize("answer", [None, [], {"items": []}])
async def test_a_collect_that_returns_something_else_is_found(answer: object) -> None:
    class Bad(StockTool):
        def result(self, request: StockRequest) -> Any:
            return answer

    assert "no EvidenceResult" in (await _failures(Bad()))["collect"][0]


async def test_a_collect_that_is_not_async_is_found() -> None:
    class Bad(StockTool):
        def collect(self, request: StockRequest, context: EvidenceContext) -> Any:
            return self.result(request)

    assert "collect raised TypeError" in (await _failures(Bad()))["collect"][0]


async def test_a_collect_that_takes_too_long_is_found() -> None:
    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            await asyncio.sleep(30)

    found = await _failures(Bad(), timeout_s=0.05)
    assert "collect did not end within 0.05 s" in found["collect"][0]


async def test_an_empty_scope_is_found() -> None:
    class Bad(StockTool):
        def result(self, request: StockRequest) -> EvidenceResult:
            return super().result(request).model_copy(update={"scope": {}})

    found = await _failures(Bad())
    assert list(found) == ["collect"]
    assert len(found["collect"]) == 4


async def test_requests_that_find_nothing_are_no_ground_to_judge_on() -> None:
    found = await _failures(StockTool(), requests=[{"prefix": "zz"}])
    assert "none of the requests found anything" in found["collect"][0]


async def test_an_empty_result_that_is_an_error_is_found() -> None:
    class Bad(StockTool):
        def result(self, request: StockRequest) -> EvidenceResult:
            answer = super().result(request)
            if not answer.items:
                raise SourceNotFound
            return answer

    found = await _failures(Bad())
    assert "collect raised SourceNotFound" in found["collect"][0]
    assert found["empty_result"] == ["the empty request was not answered with a result"]


async def test_an_empty_request_that_finds_something_is_found() -> None:
    found = await _failures(StockTool(), empty_request={"prefix": "p"})
    assert found == {"empty_result": ["the empty request found 2 items"]}


async def test_identities_that_are_shared_within_a_result_are_found() -> None:
    class Bad(StockTool):
        def item(self, name: str) -> EvidenceItem:
            return EvidenceItem(identity=name[0], fields={"name": name})

    assert "two items share an identity" in (await _failures(Bad()))["identities"][0]


async def test_identities_that_change_between_calls_are_found() -> None:
    class Bad(StockTool):
        def item(self, name: str) -> EvidenceItem:
            return EvidenceItem(identity=f"{name} {self.calls}", fields={"name": name})

    found = await _failures(Bad())
    assert "the second time the identities are others" in found["identities"][0]


async def test_fields_that_are_no_json_are_found() -> None:
    class Bad(StockTool):
        def item(self, name: str) -> EvidenceItem:
            return EvidenceItem(identity=name, fields={"count": float("nan")})

    assert "it cannot be shown" in (await _failures(Bad()))["projection"][0]


async def test_a_large_result_is_shown_within_its_bytes() -> None:
    class Large(StockTool):
        agent_result_bytes = 2_048

        def item(self, name: str) -> EvidenceItem:
            return EvidenceItem(identity=name, fields={"text": f"{name[:4]} " * 2_000})

        def answer(self, request: StockRequest, context: EvidenceContext) -> EvidenceResult:
            answer = super().answer(request, context)
            if request.prefix == "many":
                cut = {"items": answer.items[:1], "truncated": Truncation.ITEMS}
                return answer.model_copy(update=cut)
            return answer

    assert (await check_evidence_tool(Large(), **ARGUMENTS)).passed == ALL_CHECKS


# --- conduct ---------------------------------------------------------------------------------


async def test_a_tool_that_mixes_up_calls_at_once_is_found() -> None:
    class Bad(StockTool):
        current: StockRequest

        async def work(self, request: StockRequest) -> None:
            self.current = request
            await asyncio.sleep(request.wait_s)

        def result(self, request: StockRequest) -> EvidenceResult:
            return super().result(self.current)

    found = await _failures(Bad())
    assert list(found) == ["concurrency"]
    assert "beside other calls the items are others" in found["concurrency"][0]


async def test_a_tool_that_fails_beside_other_calls_is_found() -> None:
    class Bad(StockTool):
        busy = False

        async def work(self, request: StockRequest) -> None:
            if self.busy:
                raise RuntimeError("busy")
            self.busy = True
            try:
                await asyncio.sleep(request.wait_s)
            finally:
                self.busy = False

    found = await _failures(Bad())
    assert "beside other calls collect raised RuntimeError: busy" in found["concurrency"][0]


async def test_a_tool_that_blocks_the_loop_is_found() -> None:
    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            time.sleep(min(request.wait_s, 0.5))  # noqa: ASYNC251 - the mistake under test

    (detail,) = (await _failures(Bad()))["cancellation"]
    assert detail.endswith("collect did not end within 200 ms")


async def test_a_tool_that_cleans_up_too_slowly_is_found() -> None:
    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            try:
                await asyncio.sleep(request.wait_s)
            except asyncio.CancelledError:
                await asyncio.sleep(0.5)
                raise

    (detail,) = (await _failures(Bad()))["cancellation"]
    assert detail.endswith("collect did not end within 200 ms")


async def test_a_tool_that_swallows_the_cancellation_is_found() -> None:
    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            try:
                await asyncio.sleep(request.wait_s)
            except asyncio.CancelledError:
                return

    (detail,) = (await _failures(Bad()))["cancellation"]
    assert detail.endswith("collect went on to its result")


async def test_a_tool_that_turns_the_cancellation_into_an_error_is_found() -> None:
    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            try:
                await asyncio.sleep(request.wait_s)
            except asyncio.CancelledError:
                raise RuntimeError from None

    (detail,) = (await _failures(Bad()))["cancellation"]
    assert detail.endswith("turned the cancellation into RuntimeError")


@pytest.fixture
async def left_behind() -> AsyncIterator[set[asyncio.Task[None]]]:
    tasks: set[asyncio.Task[None]] = set()
    yield tasks
    for task in tasks:
        task.cancel()


async def test_a_task_that_goes_on_after_the_cancellation_is_found(
    left_behind: set[asyncio.Task[None]],
) -> None:
    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            if request.wait_s:
                task = asyncio.create_task(asyncio.sleep(request.wait_s))
                left_behind.add(task)
                await asyncio.shield(task)

    found = await _failures(Bad())
    assert set(found) == {"cancellation", "timeouts"}
    assert found["cancellation"][0].endswith("what it started went on for 200 ms: 1 task")


async def test_a_tool_that_answers_before_it_is_cancelled_passes() -> None:
    arguments = {**ARGUMENTS, "slow_request": {"prefix": "p"}}
    assert (await check_evidence_tool(StockTool(), **arguments)).passed == ALL_CHECKS


async def test_a_request_that_should_be_refused_but_is_answered_is_found() -> None:
    found = await _failures(StockTool(), rejected_requests=[{"prefix": "p"}])
    assert found == {"rejection": ['{"prefix": "p"}: it was answered']}


async def test_a_refusal_without_a_type_is_found() -> None:
    class Bad(StockTool):
        def result(self, request: StockRequest) -> EvidenceResult:
            if request.prefix == "?":
                raise ValueError("what now")
            return super().result(request)

    found = await _failures(Bad(), rejected_requests=[{"prefix": "?"}])
    assert found == {
        "rejection": ['{"prefix": "?"}: ValueError, not QueryRejected or SourceNotFound']
    }


async def test_all_failures_are_told_together() -> None:
    class Bad(StockTool):
        description = "Lists fruit."

        def item(self, name: str) -> EvidenceItem:
            return EvidenceItem(identity="same", fields={"name": name})

    assert {"description", "identities"} <= set(await _failures(Bad()))


# --- what the checks look for, one broken tool each -------------------------------------------


class Colour(StrEnum):
    RED = "RED"


class Bare(BaseModel):
    colour: Colour


class Apple(BaseModel):
    kind: Literal["apple"] = Field(description="An apple.")


class Pear(BaseModel):
    kind: Literal["pear"] = Field(description="A pear.")
    colour: Colour


@dataclass
class Basket:
    weight: int


class Crate(TypedDict):
    depth: int


def _request_with(annotation: Any) -> type[BaseModel]:
    more = (annotation, Field(description="Ripe ones only."))
    return create_model("Nested", __base__=StockRequest, more=more)


@pytest.mark.parametrize(
    ("annotation", "path"),
    [
        (Bare, "Bare.colour"),
        (Bare | None, "Bare.colour"),
        (list[Bare], "Bare.colour"),
        (tuple[int, Bare], "Bare.colour"),
        (dict[str, Bare], "Bare.colour"),
        (dict[str, list[Bare | None]], "Bare.colour"),
        (Annotated[Apple | Pear, Field(discriminator="kind")], "Pear.colour"),
        (Basket, "Basket.weight"),
        (Crate, "Crate.depth"),
    ],
    ids=str,
)
async def test_a_field_without_description_is_found_however_deep_it_is(
    annotation: Any, path: str
) -> None:
    class Bad(StockTool):
        request = _request_with(annotation)

    found = await _failures(Bad())
    assert list(found) == ["definition"]
    assert path in found["definition"][0]


async def test_an_enum_without_description_is_found() -> None:
    class Bad(StockTool):
        request = create_model("Coloured", __base__=StockRequest, shade=(Colour, Colour.RED))

    assert "undocumented request fields: shade" in (await _failures(Bad()))["definition"][0]


async def test_a_description_that_repeats_the_name_is_found() -> None:
    class Bad(StockTool):
        request = create_model(
            "Bad", __base__=StockRequest, best_of=(int | None, Field(None, description="Best of."))
        )

    found = await _failures(Bad())
    assert found == {"schema": ["the description of best_of only repeats its name"]}


async def test_a_field_that_takes_anything_is_found() -> None:
    class Bad(StockTool):
        request = create_model(
            "Bad", __base__=StockRequest, filters=(Any, Field(None, description="What to keep."))
        )

    assert await _failures(Bad()) == {"schema": ["filters takes anything"]}


async def test_an_order_that_changes_between_calls_is_found() -> None:
    class Bad(StockTool):
        def result(self, request: StockRequest) -> EvidenceResult:
            answer = super().result(request)
            items = answer.items[::-1] if self.calls > 4 else answer.items
            return answer.model_copy(update={"items": items})

    found = await _failures(Bad())
    assert "the second time the order is another" in found["identities"][0]


async def test_identities_that_change_with_the_limit_are_found() -> None:
    class Bad(StockTool):
        def result(self, request: StockRequest) -> EvidenceResult:
            answer = super().result(request)
            items = tuple(
                item.model_copy(update={"identity": f"{item.identity} of {len(answer.items)}"})
                for item in answer.items
            )
            return answer.model_copy(update={"items": items})

    found = await _failures(Bad())
    assert list(found) == ["paging"]
    assert "under other identities" in found["paging"][0]


async def test_identities_that_are_positions_are_found() -> None:
    class Bad(StockTool):
        def result(self, request: StockRequest) -> EvidenceResult:
            answer = super().result(request)
            names = [item.fields for item in answer.items]
            if answer.truncated:
                names.reverse()
            items = (
                EvidenceItem(identity=f"row {row}", fields=name) for row, name in enumerate(names)
            )
            return answer.model_copy(update={"items": tuple(items)})

    found = await _failures(Bad())
    assert list(found) == ["paging"]


async def test_a_limit_that_cuts_in_silence_is_found() -> None:
    class Bad(StockTool):
        def result(self, request: StockRequest) -> EvidenceResult:
            answer = super().result(request)
            return answer.model_copy(update={"truncated": None, "matched": len(answer.items)})

    found = await _failures(Bad())
    assert list(found) == ["paging"]
    assert found["paging"][0].endswith("leaves items out, and truncated is null")


async def test_a_scope_without_one_of_the_filters_is_found() -> None:
    class Bad(StockTool):
        def scope(self, request: StockRequest) -> dict[str, Any]:
            return {"prefix": request.prefix, "limit": request.limit}

    found = await _failures(Bad())
    assert list(found) == ["scope"]
    assert found["scope"][0].endswith("the scope is the same without colour")


async def test_a_scope_that_differs_by_itself_does_not_hide_a_filter() -> None:
    class Bad(StockTool):
        def scope(self, request: StockRequest) -> dict[str, Any]:
            return {"prefix": request.prefix, "limit": request.limit, "call": self.calls}

    assert list(await _failures(Bad())) == ["scope"]


async def test_a_filter_that_normalise_leaves_out_need_not_stand_in_the_scope() -> None:
    class Good(StockTool):
        def normalise(self, request: StockRequest) -> dict[str, Any]:
            return {"prefix": request.prefix}

        def scope(self, request: StockRequest) -> dict[str, Any]:
            return {"prefix": request.prefix}

    assert (await check_evidence_tool(Good(), **ARGUMENTS)).passed == ALL_CHECKS


async def test_a_value_that_is_the_default_need_not_change_the_scope() -> None:
    class Good(StockTool):
        def scope(self, request: StockRequest) -> dict[str, Any]:
            return {**super().scope(request), "colour": request.colour or "red"}

    assert (await check_evidence_tool(Good(), **ARGUMENTS)).passed == ALL_CHECKS


async def test_a_filter_that_changes_what_is_found_must_change_the_scope() -> None:
    class Bad(StockTool):
        def scope(self, request: StockRequest) -> dict[str, Any]:
            return {**super().scope(request), "colour": "red or blue"}

    requests = [{"prefix": "p"}, {"prefix": "", "colour": "blue"}]
    assert list(await _failures(Bad(), requests=requests)) == ["scope"]


async def test_a_window_that_the_scope_does_not_tell_is_found() -> None:
    class Bad(StockTool):
        def answer(self, request: StockRequest, context: EvidenceContext) -> EvidenceResult:
            answer = super().answer(request, context)
            return answer if context.reference_time == NOW else EvidenceResult(scope=answer.scope)

    found = await _failures(Bad())
    assert list(found) == ["scope"]
    assert "at another reference time the items are others" in found["scope"][0]


async def test_a_window_that_the_scope_tells_passes() -> None:
    class Good(StockTool):
        def answer(self, request: StockRequest, context: EvidenceContext) -> EvidenceResult:
            answer = super().answer(request, context)
            scope = {**answer.scope, "end": context.reference_time.isoformat()}
            if context.reference_time == NOW:
                return answer.model_copy(update={"scope": scope})
            return EvidenceResult(scope=scope)

    assert (await check_evidence_tool(Good(), **ARGUMENTS)).passed == ALL_CHECKS


async def test_a_time_without_its_offset_in_the_scope_is_found() -> None:
    class Bad(StockTool):
        def scope(self, request: StockRequest) -> dict[str, Any]:
            return {**super().scope(request), "windows": [{"start": "2026-03-02T10:00:00"}]}

    details = (await _failures(Bad()))["scope"]
    assert "2026-03-02T10:00:00, a time without its offset" in details[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"matched": 7}, "7 match, 2 are given, and truncated is null"),
        ({"truncated": Truncation.ITEMS}, "truncated is ITEMS, and all 2 that match are given"),
    ],
)
async def test_counts_that_are_not_true_are_found(changes: dict[str, Any], words: str) -> None:
    class Bad(StockTool):
        def result(self, request: StockRequest) -> EvidenceResult:
            answer = super().result(request)
            return answer.model_copy(update=changes) if len(answer.items) == 2 else answer

    found = await _failures(Bad())
    assert list(found) == ["truncation"]
    assert found["truncation"][0].endswith(words)


async def test_a_source_whose_size_decides_the_size_of_the_result_is_found() -> None:
    class Bad(StockTool):
        def item(self, name: str) -> EvidenceItem:
            text = "x" * (10_000 if name.startswith("many") else 1)
            return EvidenceItem(identity=name, fields={"name": name, "text": text})

    found = await _failures(Bad())
    assert list(found) == ["byte_bounds"]
    assert "more than 16 times the budget of 16384" in found["byte_bounds"][0]


async def test_a_large_request_that_is_not_large_is_told() -> None:
    found = await _failures(StockTool(), large_request={"prefix": "p"})
    assert list(found) == ["byte_bounds"]
    assert "the large request is not large" in found["byte_bounds"][0]


async def test_a_tool_that_mixes_up_the_fields_of_calls_at_once_is_found() -> None:
    class Bad(StockTool):
        open_calls = 0

        async def work(self, request: StockRequest) -> None:
            self.open_calls += 1
            await asyncio.sleep(request.wait_s)
            await asyncio.sleep(0)
            self.together = self.open_calls
            self.open_calls = 0

        def item(self, name: str) -> EvidenceItem:
            fields = {"name": name, "beside": self.together}
            return EvidenceItem(identity=name, fields=fields)

    found = await _failures(Bad())
    assert list(found) == ["concurrency"]
    assert "beside other calls the fields are others" in found["concurrency"][0]


async def test_a_tool_that_blocks_the_loop_in_a_short_call_is_found() -> None:
    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            if request.wait_s:
                await asyncio.sleep(request.wait_s)
            elif request.colour == "red":
                time.sleep(0.3)  # noqa: ASYNC251 - the mistake under test

    found = await _failures(Bad())
    assert list(found) == ["responsiveness"]
    assert "the event loop stood still for" in found["responsiveness"][0]


async def test_a_thread_that_goes_on_after_the_cancellation_is_found() -> None:
    ended = threading.Event()

    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            if request.wait_s:
                await asyncio.to_thread(ended.wait, 5.0)

    try:
        found = await _failures(Bad())
    finally:
        ended.set()
    assert set(found) == {"cancellation", "timeouts"}
    assert found["cancellation"][0].endswith("what it started went on for 200 ms: 1 thread")


async def test_a_thread_that_is_told_to_stop_passes() -> None:
    class Good(StockTool):
        async def work(self, request: StockRequest) -> None:
            stop = threading.Event()
            try:
                await asyncio.to_thread(stop.wait, request.wait_s)
            finally:
                stop.set()

    assert (await check_evidence_tool(Good(), **ARGUMENTS)).passed == ALL_CHECKS


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of child processes")
async def test_a_process_that_goes_on_after_the_cancellation_is_found() -> None:
    started: list[asyncio.subprocess.Process] = []

    class Bad(StockTool):
        async def work(self, request: StockRequest) -> None:
            if request.wait_s:
                child = await asyncio.create_subprocess_exec("sleep", str(request.wait_s))
                started.append(child)
                await child.wait()

    try:
        found = await _failures(Bad())
    finally:
        for child in started:
            if child.returncode is None:
                child.kill()
            await child.wait()
    assert set(found) == {"cancellation", "timeouts"}
    assert "1 child process" in found["cancellation"][0]


class Server:
    """Does what it is asked for until it is told to stop, whoever waits for it."""

    def __init__(self, *, can_stop: bool) -> None:
        self.can_stop = can_stop
        self.at_work = 0

    async def query(self, seconds: float) -> None:
        self.at_work += 1
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            if self.can_stop:
                self.at_work -= 1
            raise
        self.at_work -= 1

    async def is_working(self) -> bool:
        return self.at_work > 0


@pytest.mark.parametrize("can_stop", [True, False])
async def test_work_that_goes_on_in_a_server_is_found_by_its_probe(can_stop: bool) -> None:
    server = Server(can_stop=can_stop)

    class Remote(StockTool):
        async def work(self, request: StockRequest) -> None:
            await server.query(request.wait_s)

    if can_stop:
        report = await check_evidence_tool(Remote(), **ARGUMENTS, is_working=server.is_working)
        assert report.passed == ALL_CHECKS
    else:
        found = await _failures(Remote(), is_working=server.is_working)
        assert "the source still worked after 200 ms" in found["cancellation"][0]


async def test_a_probe_that_never_sees_any_work_is_told() -> None:
    found = await _failures(StockTool(), is_working=lambda: False)
    assert found == {"cancellation": ["is_working() was never true while the slow request ran"]}


async def test_a_tool_that_passes_a_part_off_as_the_whole_is_found() -> None:
    class Bad(StockTool):
        def answer(self, request: StockRequest, context: EvidenceContext) -> EvidenceResult:
            if context.remaining_s < 1:
                return EvidenceResult(scope=self.scope(request), matched=0)
            return super().answer(request, context)

    found = await _failures(Bad(), slow_request={"prefix": "p"})
    assert list(found) == ["timeouts"]
    assert found["timeouts"][0].endswith("found less than with more, and truncated is null")


async def test_a_tool_that_says_that_it_ran_out_of_time_passes() -> None:
    class Good(StockTool):
        def answer(self, request: StockRequest, context: EvidenceContext) -> EvidenceResult:
            if context.remaining_s < 1:
                return EvidenceResult(scope=self.scope(request), truncated=Truncation.SCAN)
            return super().answer(request, context)

    report = await check_evidence_tool(Good(), **{**ARGUMENTS, "slow_request": {"prefix": "p"}})
    assert report.passed == ALL_CHECKS


async def test_a_tool_whose_own_time_limit_is_an_error_without_a_type_is_found() -> None:
    class Bad(StockTool):
        def answer(self, request: StockRequest, context: EvidenceContext) -> EvidenceResult:
            if context.remaining_s < 1:
                raise RuntimeError("too little time")
            return super().answer(request, context)

    found = await _failures(Bad(), slow_request={"prefix": "p"})
    assert found == {"timeouts": ["with 0.1 s left it raised RuntimeError"]}


@pytest.mark.parametrize("failure", [None, ConnectionError("refused")])
async def test_a_source_that_is_gone_and_looks_empty_is_found(failure: Exception | None) -> None:
    class Gone(StockTool):
        def result(self, request: StockRequest) -> EvidenceResult:
            if failure:
                raise failure
            return EvidenceResult(scope=self.scope(request), matched=0)

    found = await _failures(StockTool(), unavailable_tool=Gone())
    assert list(found) == ["unavailable"]
    said = "it raised ConnectionError" if failure else "it was answered, found: nothing"
    assert all(detail.endswith(said) for detail in found["unavailable"])


async def test_a_source_that_is_refused_at_the_start_passes() -> None:
    class Refused(StockTool):
        async def open(self) -> None:
            raise SourceError("There is no store.", "Name another one.")

    arguments = {**ARGUMENTS, "unavailable_tool": Refused()}
    assert (await check_evidence_tool(StockTool(), **arguments)).passed == ALL_CHECKS


class Talkative(StockTool):
    """Lets its secret out where it is told to."""

    def __init__(self, way_out: str) -> None:
        super().__init__()
        self.way_out = way_out

    def __repr__(self) -> str:
        return f"Talkative({SECRET if self.way_out == 'repr' else ''})"

    def describe(self) -> str:
        return f"At {SECRET}" if self.way_out == "describe" else "At the market"

    def scope(self, request: StockRequest) -> dict[str, Any]:
        source = {"source": f"root:{SECRET}@stock"} if self.way_out == "scope" else {}
        return {**super().scope(request), **source}

    def item(self, name: str) -> EvidenceItem:
        item = super().item(name)
        if self.way_out == "item" and name == "pears":
            return item.model_copy(update={"fields": {"name": name, "url": f"//:{SECRET}@"}})
        return item

    async def work(self, request: StockRequest) -> None:
        logger = logging.getLogger("stock")
        if self.way_out == "log":
            logger.debug("asking %s", f"https://{SECRET}")
        if self.way_out == "traceback":
            logger.info("failed", exc_info=ValueError(SECRET))
        await super().work(request)


@pytest.mark.parametrize(
    ("way_out", "words"),
    [
        ("repr", "repr() of the tool"),
        ("describe", "description"),
        ("scope", '{"prefix": "p"}'),
        ("item", '{"prefix": "p"}'),
        ("log", "the log of stock (DEBUG)"),
        ("traceback", "the log of stock (INFO)"),
    ],
)
async def test_a_secret_is_found_on_every_way_out(way_out: str, words: str) -> None:
    found = await _failures(Talkative(way_out))
    assert list(found) == ["secrets"]
    assert found["secrets"][0] == f"{words}: a secret stands in it"


async def test_a_secret_in_the_words_of_a_failure_is_found() -> None:
    class Gone(StockTool):
        async def work(self, request: StockRequest) -> None:
            raise SourceUnavailable(f"cannot connect to https://root:{SECRET}@stock")

    found = await _failures(StockTool(), unavailable_tool=Gone())
    assert list(found) == ["secrets"]
    assert found["secrets"][0].endswith("a secret stands in what it raised")


async def test_a_secret_in_the_repr_of_the_settings_is_found() -> None:
    class Plain(BaseModel):
        url: str = f"https://root:{SECRET}@stock"

    found = await _failures(StockTool(), settings=Plain())
    assert found == {"secrets": ["repr() of the settings: a secret stands in it"]}


async def test_the_logs_are_as_before_once_the_kit_is_done() -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    await check_evidence_tool(StockTool(), **ARGUMENTS)
    assert (root.level, list(root.handlers)) == before


async def test_every_failure_says_how_to_mend_it() -> None:
    class Bad(StockTool):
        description = "Lists fruit."

    with pytest.raises(ConformanceError) as error:
        await check_evidence_tool(Bad(), **ARGUMENTS)
    (failure,) = error.value.failures
    assert failure.mend.startswith("Add a sentence")
    assert str(error.value).endswith(f"{failure.detail}\n    {failure.mend}")
