"""The conformance kit passes a good tool, and each check fails a tool that breaks its rule."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from diagnosis.contracts.evidence import QueryRejection
from diagnosis.errors import QueryRejected, SourceNotFound
from diagnosis.plugin import EvidenceContext, EvidenceItem, EvidenceResult, Truncation
from diagnosis.testing.conformance import ConformanceError, check_evidence_tool

STOCK = {"apples": 3, "pears": 5, "plums": 0, "quinces": 8}


class StockRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    prefix: str = Field(description="What the name begins with.", max_length=20)
    wait_s: float = Field(default=0.0, description="Seconds to wait.", ge=0)


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
        return {"prefix": request.prefix}

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
        return self.result(request)

    async def work(self, request: StockRequest) -> None:
        await asyncio.sleep(request.wait_s)

    def result(self, request: StockRequest) -> EvidenceResult:
        names = [name for name in STOCK if name.startswith(request.prefix)]
        return EvidenceResult(
            items=tuple(self.item(name) for name in names),
            scope={"prefix": request.prefix},
            matched=len(names),
        )

    def item(self, name: str) -> EvidenceItem:
        return EvidenceItem(identity=name, fields={"name": name, "count": STOCK[name]})


ARGUMENTS: dict[str, Any] = {
    "requests": [{"prefix": "p"}, {"prefix": ""}],
    "empty_request": {"prefix": "zzz"},
    "rejected_requests": [{"prefix": "/"}, {"prefix": "*"}, {"prefix": 3}, {"prefx": "p"}],
    "slow_request": {"prefix": "a", "wait_s": 5.0},
    "secrets": ["hunter2"],
}

ALL_CHECKS = (
    "definition",
    "description",
    "describe",
    "requests",
    "normalise",
    "collect",
    "empty_result",
    "identities",
    "projection",
    "concurrency",
    "cancellation",
    "rejection",
    "secrets",
)


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
    assert report.not_run == ("describe", "empty_result", "rejection", "secrets")
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
    assert len(found["collect"]) == 3


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
            return EvidenceItem(identity=name, fields={"text": f"{name} " * 2_000})

        def result(self, request: StockRequest) -> EvidenceResult:
            answer = super().result(request)
            return answer.model_copy(update={"truncated": Truncation.ITEMS, "matched": None})

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

    (detail,) = (await _failures(Bad()))["cancellation"]
    assert detail.endswith("1 tasks are left running")


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
                raise ValueError("password=hunter2")
            return super().result(request)

    found = await _failures(Bad(), rejected_requests=[{"prefix": "?"}])
    assert found == {
        "rejection": ['{"prefix": "?"}: ValueError, not QueryRejected or SourceNotFound']
    }


async def test_a_secret_in_description_or_result_is_found() -> None:
    class Bad(StockTool):
        def describe(self) -> str:
            return "Fruit at https://root:hunter2@stock"

        def item(self, name: str) -> EvidenceItem:
            return EvidenceItem(identity=name, fields={"source": "root:hunter2@stock"})

    found = await _failures(Bad())
    assert found == {
        "secrets": [
            "description: a secret stands in it",
            '{"prefix": "p"}: a secret stands in it',
            '{"prefix": ""}: a secret stands in it',
        ]
    }


async def test_all_failures_are_told_together() -> None:
    class Bad(StockTool):
        description = "Lists fruit."

        def item(self, name: str) -> EvidenceItem:
            return EvidenceItem(identity="same", fields={"name": name})

    assert set(await _failures(Bad())) == {"description", "identities"}
