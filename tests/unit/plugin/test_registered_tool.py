import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from diagnosis.errors import PluginError
from diagnosis.plugin import EvidenceContext, EvidenceResult
from diagnosis.plugin.registry import RegisteredTool


class Request(BaseModel):
    model_config = ConfigDict(strict=True)

    names: tuple[str, ...] = Field(description="Names to look for.")
    limit: int | None = Field(default=None, description="How many at most.")


@dataclass
class Tool:
    name: Any = "find_names"
    description: Any = "Finds names. Nothing found means that none is stored."
    request: Any = Request

    async def collect(self, request: Request, context: EvidenceContext) -> EvidenceResult:
        return EvidenceResult(scope={"names": list(request.names), "call": context.tool_call_id})


def _tool(**attributes: Any) -> Any:
    tool = Tool()
    for name, value in attributes.items():
        setattr(tool, name, value)
    return tool


def test_a_plain_tool_has_no_limits_of_its_own_and_is_no_reference() -> None:
    registered = RegisteredTool(_tool(), "people")
    assert (registered.name, registered.plugin) == ("find_names", "people")
    assert registered.reference is False
    assert registered.timeout_s is None
    assert registered.agent_result_bytes is None
    assert registered.description == Tool.description
    assert registered.parameters_json_schema["properties"]["input"]["required"] == ["names"]
    assert registered.request_json_schema["required"] == ["names"]


def test_a_tool_may_bring_limits_and_be_a_reference() -> None:
    registered = RegisteredTool(
        _tool(reference=True, timeout_s=2.5, agent_result_bytes=2_048), "people"
    )
    assert registered.reference is True
    assert registered.timeout_s == 2.5
    assert registered.agent_result_bytes == 2_048


@pytest.mark.parametrize(
    "name",
    ["", "Find", "find-names", "find names", "_find", "find_", "find__names", "1st", "a" * 65, 7],
)
def test_a_name_that_is_not_snake_case_is_refused(name: object) -> None:
    with pytest.raises(PluginError, match="of plugin 'people' has an invalid name"):
        RegisteredTool(_tool(name=name), "people")


class Undocumented(BaseModel):
    names: list[str]


class Schemaless(BaseModel):
    call: Callable[[], None] = Field(description="No JSON has this.")


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({"description": " "}, "has no description"),
        ({"description": 3}, "has no description"),
        ({"collect": "soon"}, "has no collect method"),
        ({"request": dict}, "has a request that is no pydantic model"),
        ({"request": Request(names=())}, "has a request that is no pydantic model"),
        ({"request": Undocumented}, "has undocumented request fields: names"),
        ({"request": Schemaless}, "has a request without a JSON schema"),
        ({"timeout_s": 0}, "has an invalid timeout_s"),
        ({"timeout_s": float("inf")}, "has an invalid timeout_s"),
        ({"timeout_s": float("nan")}, "has an invalid timeout_s"),
        ({"timeout_s": "5"}, "has an invalid timeout_s"),
        ({"agent_result_bytes": 1_023}, "has an invalid agent_result_bytes"),
        ({"agent_result_bytes": 2_000.5}, "has an invalid agent_result_bytes"),
        ({"agent_result_bytes": True}, "has an invalid agent_result_bytes"),
    ],
)
def test_a_definition_that_cannot_be_used_is_refused_with_the_owner(
    attributes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PluginError, match=problem) as refused:
        RegisteredTool(_tool(**attributes), "people")
    assert "'people'" in refused.value.problem
    assert refused.value.mend


def test_an_object_that_is_no_tool_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(PluginError, match="registers a dict, which is no evidence tool") as refused:
        RegisteredTool({}, "people")  # type: ignore[arg-type] # the mistake under test
    assert "no description" in refused.value.problem


def test_what_describe_says_is_added_and_asked_for_once() -> None:
    asked: list[int] = []

    def describe() -> str:
        asked.append(1)
        return " Stores: berlin, oslo. "

    registered = RegisteredTool(_tool(describe=describe), "people")
    assert asked == []
    assert registered.description == f"{Tool.description}\n\nStores: berlin, oslo."
    assert registered.description.endswith("oslo.")
    assert asked == [1]


def test_what_describe_says_is_cut_at_a_character_within_one_kibibyte() -> None:
    registered = RegisteredTool(_tool(describe=lambda: "日志" * 1_000), "people")
    added = registered.description.removeprefix(f"{Tool.description}\n\n")
    assert 1_020 <= len(added.encode()) <= 1_024
    assert added.endswith(("志…", "日…"))


@pytest.mark.parametrize("answer", [None, ""])
def test_a_describe_that_fails_or_says_nothing_leaves_the_description(
    answer: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    def describe() -> str:
        if answer is None:
            raise RuntimeError("password=hunter2")
        return answer

    assert RegisteredTool(_tool(describe=describe), "people").description == Tool.description
    assert "hunter2" not in caplog.text
    assert ("RuntimeError" in caplog.text) is (answer is None)


def test_a_strict_request_takes_the_arrays_of_json() -> None:
    request = RegisteredTool(_tool(), "people").validate({"names": ["ann", "bo"]})
    assert request == Request(names=("ann", "bo"))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"names": "ann"},
        {"names": ["ann"], "limit": "3"},
        {"names": ["ann"], "limits": 3},
        {"names": ["\ud800"]},
    ],
)
def test_an_invalid_input_is_a_validation_error(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RegisteredTool(_tool(), "people").validate(given)


def test_an_input_nested_too_deeply_is_a_validation_error() -> None:
    given: Any = "ann"
    for _ in range(100_000):
        given = [given]
    with pytest.raises(ValidationError, match="nested too deeply"):
        RegisteredTool(_tool(), "people").validate({"names": given})


def test_the_scope_is_the_request_without_nulls_unless_the_tool_normalises() -> None:
    request = Request(names=("bo", "ann"))
    assert RegisteredTool(_tool(), "people").normalise(request) == {"names": ["bo", "ann"]}

    def normalise(request: Request) -> dict[str, Any]:
        return {"names": sorted(request.names)}

    own = RegisteredTool(_tool(normalise=normalise), "people")
    assert own.normalise(request) == {"names": ["ann", "bo"]}


def test_a_normalise_that_returns_no_dict_is_an_error() -> None:
    registered = RegisteredTool(_tool(normalise=lambda request: "names"), "people")
    with pytest.raises(TypeError, match="normalise of 'find_names'"):
        registered.normalise(Request(names=()))


async def test_collect_hands_request_and_context_to_the_tool() -> None:
    registered = RegisteredTool(_tool(), "people")
    context = EvidenceContext("run", "call", datetime(2026, 1, 1, tzinfo=UTC), UTC, 10.0, 16_384)
    result = await registered.collect(registered.validate({"names": ["ann"]}), context)
    assert result.scope == {"names": ["ann"], "call": "call"}
    json.dumps(result.scope)
