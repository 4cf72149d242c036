import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer
from pydantic_ai.tools import Tool
from typing_extensions import TypedDict

from diagnosis.contracts.evidence import PreviousObservation
from diagnosis.plugin.envelope_schema import envelope_schema, request_schema, undocumented_fields


class Mode(StrEnum):
    """For Python readers."""

    LINES = "lines"
    COUNTS = "counts"


class Window(BaseModel):
    """For Python readers, too."""

    start: str = Field(description="First moment.")
    title: str | None = Field(default=None, description="A field may have any name.")


@dataclass
class Place:
    """Not for the model."""

    host: str = Field(description="Host name.")


class Label(TypedDict):
    """Not for the model."""

    description: str


class Request(BaseModel):
    """A docstring with notes for maintainers."""

    query: str = Field(description="Text to look for.")
    mode: Mode = Field(default=Mode.LINES, description="What to return.")
    window: Window | None = Field(default=None, description="Where to look.")
    others: list[Window] = Field(default_factory=list, description="Further windows.")
    place: Place | None = Field(default=None, description="A host.")
    labels: dict[str, str] = Field(default_factory=dict, description="Labels to match.")
    kind: Literal["a", "b"] = Field(default="a", description="Its kind.")


class Tree(BaseModel):
    name: str = Field(description="Its name.")
    children: list["Tree"] = Field(default_factory=list, description="Smaller ones.")


def _texts(schema: Any) -> str:
    return json.dumps(schema)


def test_descriptions_of_fields_reach_the_model_and_docstrings_do_not() -> None:
    text = _texts(envelope_schema(request_schema(Request)))
    for wanted in ("Text to look for.", "What to return.", "First moment.", "Host name."):
        assert wanted in text
    for unwanted in ("Python readers", "maintainers", "Not for the model"):
        assert unwanted not in text


def test_a_description_that_a_model_sets_for_its_schema_stays() -> None:
    class Described(BaseModel):
        """For Python readers."""

        model_config = ConfigDict(title="Time", json_schema_extra={"description": "A time span."})
        start: str = Field(description="First moment.")

    schema = request_schema(Described)
    assert schema["description"] == "A time span."
    assert schema["title"] == "Time"


def test_titles_made_of_names_are_left_out_but_a_field_named_title_stays() -> None:
    schema = request_schema(Request)
    assert "title" not in schema
    assert "title" not in schema["properties"]["query"]
    assert set(schema["$defs"]["Window"]["properties"]) == {"start", "title"}


def test_every_object_is_closed_but_a_mapping_keeps_its_value_type() -> None:
    schema = request_schema(Request)
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Window"]["additionalProperties"] is False
    assert schema["properties"]["labels"]["additionalProperties"] == {"type": "string"}


def test_undocumented_fields_are_found_wherever_they_are() -> None:
    class Inner(BaseModel):
        depth: int

    class Outer(BaseModel):
        inner: list[Inner] = Field(description="Documented.")
        label: Label = Field(description="Documented.")
        blank: str = Field(description="  ")
        bare: int = 3

    found = undocumented_fields(request_schema(Outer))
    assert set(found) == {"Inner.depth", "Label.description", "blank", "bare"}
    assert undocumented_fields(request_schema(Request)) == ()


def test_the_envelope_asks_for_both_keys_puts_null_first_and_takes_nothing_else() -> None:
    schema = envelope_schema(request_schema(Request))
    assert schema["required"] == ["previous_observation", "input"]
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == ["previous_observation", "input"]
    null, judgement = schema["properties"]["previous_observation"]["anyOf"]
    assert null == {"type": "null"}
    assert set(judgement["properties"]) == set(PreviousObservation.model_fields)
    assert judgement["properties"]["information_gain"]["enum"] == ["GAINED", "NO_GAIN"]


VALID = {
    "previous_observation": {"tool_call_id": "c1", "information_gain": "GAINED"},
    "input": {"query": "timeout", "window": {"start": "now"}, "others": [{"start": "then"}]},
}


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({}, True),
        ({"previous_observation": None}, True),
        ({"previous_observation": {"tool_call_id": "c1", "information_gain": "MAYBE"}}, False),
        ({"previous_observation": {"tool_call_id": "c1"}}, False),
        ({"input": {}}, False),
        ({"input": {"query": "x", "window": {"start": "now", "extra": 1}}}, False),
        ({"input": {"query": "x", "others": [{"begin": "now"}]}}, False),
        ({"input": {"query": "x", "labels": {"any": "thing"}}}, True),
        ({"surplus": 1}, False),
    ],
)
def test_the_schema_accepts_what_the_contract_does(change: dict[str, Any], valid: bool) -> None:
    validator = jsonschema.Draft202012Validator(envelope_schema(request_schema(Request)))
    validator.check_schema(validator.schema)
    assert validator.is_valid({**VALID, **change}) is valid


def test_a_request_that_refers_to_itself_keeps_its_definition() -> None:
    schema = envelope_schema(request_schema(Tree))
    validator = jsonschema.Draft202012Validator(schema)
    deep = {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}
    assert validator.is_valid({"previous_observation": None, "input": deep})
    deep["children"] = [{"title": "b"}]
    assert not validator.is_valid({"previous_observation": None, "input": deep})


def _tool(schema: dict[str, Any], seen: list[Any]) -> Tool[None]:
    async def run(**arguments: Any) -> str:
        seen.append(arguments)
        return "done"

    return Tool.from_schema(run, name="look", description="Looks.", json_schema=schema)


@pytest.mark.parametrize("request_model", [Request, Tree])
async def test_the_framework_test_model_makes_a_valid_first_call_of_it(
    request_model: type[BaseModel],
) -> None:
    seen: list[Any] = []
    schema = envelope_schema(request_schema(request_model))
    model: Model = TestModel(custom_output_text="done")
    await Agent(model, tools=[_tool(schema, seen)]).run("look")
    (call,) = seen
    assert call["previous_observation"] is None
    request_model.model_validate(call["input"])


def test_openai_and_anthropic_get_the_schema_with_null_still_first() -> None:
    schema = envelope_schema(request_schema(Request))
    anthropic = anthropic_model_profile("claude-sonnet-4-5")
    assert anthropic is not None
    transformers = [OpenAIJsonSchemaTransformer, anthropic.get("json_schema_transformer")]
    for transformer in filter(None, transformers):
        sent = transformer(json.loads(json.dumps(schema)), strict=None).walk()
        assert sent["properties"]["previous_observation"]["anyOf"][0] == {"type": "null"}
        assert sent["required"] == ["previous_observation", "input"]
        assert "Window" in sent["$defs"]
        jsonschema.Draft202012Validator(sent).validate(VALID)
