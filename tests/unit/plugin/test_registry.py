import asyncio
from typing import Any

import pytest
from pydantic import BaseModel, Field

from diagnosis.errors import PluginError, SourceError
from diagnosis.plugin import EvidenceContext, EvidenceResult
from diagnosis.plugin.registry import EvidenceToolRegistry, RegisteredTool, RemovedTool


class Request(BaseModel):
    name: str = Field(description="The name.")


class Tool:
    """A tool that notes when it is opened and closed."""

    description = "Finds. Nothing found means that none is stored."
    request = Request

    def __init__(
        self,
        name: str,
        journal: list[str] | None = None,
        open_error: Exception | None = None,
        close_error: Exception | None = None,
    ) -> None:
        self.name = name
        self.journal = [] if journal is None else journal
        self.open_error = open_error
        self.close_error = close_error

    async def collect(self, request: Request, context: EvidenceContext) -> EvidenceResult:
        return EvidenceResult(scope={})

    async def open(self) -> None:
        if self.open_error:
            raise self.open_error
        self.journal.append(f"open {self.name}")

    async def close(self) -> None:
        self.journal.append(f"close {self.name}")
        if self.close_error:
            raise self.close_error


def _registry(*tools: Any, plugin: str = "shop") -> EvidenceToolRegistry:
    registry = EvidenceToolRegistry()
    for tool in tools:
        registry.register(tool, plugin)
    return registry


def test_tools_are_found_by_name_and_listed_in_the_order_of_names() -> None:
    registry = _registry(Tool("find_b"), Tool("find_c"), Tool("find_a"))
    assert registry.names == ("find_a", "find_b", "find_c")
    assert [tool.name for tool in registry] == ["find_a", "find_b", "find_c"]
    assert len(registry) == 3
    assert "find_b" in registry
    found = registry.get("find_b")
    assert isinstance(found, RegisteredTool)
    assert found.plugin == "shop"
    assert registry.get("find_d") is None


def test_a_name_that_is_taken_is_refused_with_both_owners() -> None:
    registry = _registry(Tool("find_a"), plugin="first")
    with pytest.raises(PluginError, match="'find_a' is taken") as refused:
        registry.register(Tool("find_a"), "second")
    assert "'first'" in refused.value.problem
    assert "'second'" in refused.value.problem
    found = registry.get("find_a")
    assert found is not None
    assert found.plugin == "first"


def test_the_name_of_a_tool_that_diagnosis_has_itself_is_taken() -> None:
    with pytest.raises(PluginError, match="diagnosis itself and plugin 'shop'"):
        _registry(Tool("read_skill"))


async def test_a_frozen_registry_refuses_every_change() -> None:
    registry = _registry(Tool("find_a"))
    assert not registry.frozen
    registry.freeze()
    registry.freeze()
    assert registry.frozen
    with pytest.raises(PluginError, match="is frozen"):
        registry.register(Tool("find_b"), "shop")
    with pytest.raises(PluginError, match="is frozen"):
        await registry.open()
    assert registry.names == ("find_a",)


async def test_tools_are_opened_in_order_and_closed_in_reverse_once() -> None:
    journal: list[str] = []
    registry = _registry(Tool("find_b", journal), Tool("find_a", journal))
    assert await registry.open() == ()
    registry.freeze()
    await registry.close()
    await registry.close()
    assert journal == ["open find_a", "open find_b", "close find_b", "close find_a"]


async def test_a_tool_without_open_and_close_needs_neither() -> None:
    class Plain:
        name = "find_plain"
        description = "Finds."
        request = Request

        async def collect(self, request: Request, context: EvidenceContext) -> EvidenceResult:
            return EvidenceResult(scope={})

    registry = _registry(Plain())
    assert await registry.open() == ()
    await registry.close()
    assert registry.names == ("find_plain",)


async def test_a_tool_that_fails_to_open_is_removed_with_the_reason() -> None:
    journal: list[str] = []
    broken = Tool("find_b", journal, open_error=OSError("password=hunter2"))
    registry = _registry(Tool("find_a", journal), broken)
    (removed,) = await registry.open(required={"find_a"})
    assert registry.names == ("find_a",)
    assert isinstance(removed, RemovedTool)
    assert (removed.name, removed.plugin) == ("find_b", "shop")
    assert removed.reason.endswith("could not be opened: OSError.")
    assert "hunter2" not in removed.reason + removed.mend
    await registry.close()
    assert journal == ["open find_a", "close find_a"]


async def test_our_own_error_of_a_tool_that_fails_to_open_is_told_as_it_is() -> None:
    broken = Tool("find_a", open_error=SourceError("no folder", "make it"))
    (removed,) = await _registry(broken).open()
    assert (removed.reason, removed.mend) == ("no folder", "make it")


async def test_a_required_tool_that_fails_to_open_stops_and_closes_the_others() -> None:
    journal: list[str] = []
    broken = Tool("find_b", journal, open_error=OSError("password=hunter2"))
    registry = _registry(Tool("find_a", journal), broken, Tool("find_c", journal))
    with pytest.raises(PluginError, match="'find_b' of plugin 'shop' could not be opened") as error:
        await registry.open(required={"find_b"})
    assert "hunter2" not in str(error.value)
    assert journal == ["open find_a", "close find_a"]


async def test_the_source_error_of_a_required_tool_is_raised_itself() -> None:
    problem = SourceError("no folder", "make it")
    with pytest.raises(SourceError) as error:
        await _registry(Tool("find_a", open_error=problem)).open(required={"find_a"})
    assert error.value is problem


async def test_a_cancelled_opening_leaves_nothing_open() -> None:
    journal: list[str] = []
    reached = asyncio.Event()

    class Slow(Tool):
        async def open(self) -> None:
            reached.set()
            await asyncio.sleep(60)

    registry = _registry(Tool("find_a", journal), Slow("find_b", journal))
    opening = asyncio.create_task(registry.open())
    await reached.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert journal == ["open find_a", "close find_a"]


async def test_a_tool_that_fails_to_close_does_not_keep_the_others_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    journal: list[str] = []
    broken = Tool("find_b", journal, close_error=OSError("password=hunter2"))
    registry = _registry(Tool("find_a", journal), broken)
    await registry.open()
    await registry.close()
    assert journal[-2:] == ["close find_b", "close find_a"]
    assert "OSError" in caplog.text
    assert "hunter2" not in caplog.text
