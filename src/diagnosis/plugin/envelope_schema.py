"""The JSON schema the model sees: a tool's request in the envelope of every call."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from diagnosis.contracts.evidence import InformationGain

JsonSchema = dict[str, Any]

_PREVIOUS_OBSERVATION: JsonSchema = {
    "description": (
        "Your judgement of the latest result, found or not, that you have not judged yet; "
        "null where there is none."
    ),
    # null comes first: it is right for the first call, and small models take the first branch
    "anyOf": [
        {"type": "null"},
        {
            "type": "object",
            "properties": {
                "tool_call_id": {
                    "type": "string",
                    "description": "The tool_call_id that result carries.",
                },
                "information_gain": {
                    "type": "string",
                    "enum": [gain.value for gain in InformationGain],
                    "description": "GAINED if that result advanced the diagnosis, else NO_GAIN.",
                },
            },
            "required": ["tool_call_id", "information_gain"],
            "additionalProperties": False,
        },
    ],
}


def request_schema(request: type[BaseModel]) -> JsonSchema:
    """The schema of a tool's own request, with its `$defs`.

    Field descriptions stay. Titles made of names and docstrings of classes go: they speak to
    Python readers. Objects are closed, because `RegisteredTool.validate` refuses unknown fields.

    Raises:
        pydantic.errors.PydanticInvalidForJsonSchema: a field's type has no JSON schema.
    """
    schema = request.model_json_schema(schema_generator=_RequestSchemaGenerator)
    for _, node in _objects(schema, ""):
        if node.get("additionalProperties", True) is True:
            node["additionalProperties"] = False
    return schema


def undocumented_fields(schema: JsonSchema) -> tuple[str, ...]:
    """Fields of a request schema that have no description, as dotted paths."""
    return tuple(
        f"{path}.{name}" if path else name
        for path, node in _objects(schema, "")
        for name, field in node["properties"].items()
        if not str(field.get("description", "")).strip()
    )


def envelope_schema(schema: JsonSchema) -> JsonSchema:
    """Wrap a request schema in the envelope; its `$defs` move to the top, where `$ref`s look."""
    request = {key: value for key, value in schema.items() if key != "$defs"}
    request.setdefault("description", "The request of this tool.")
    envelope: JsonSchema = {
        "type": "object",
        "properties": {"previous_observation": _PREVIOUS_OBSERVATION, "input": request},
        "required": ["previous_observation", "input"],
        "additionalProperties": False,
    }
    if definitions := schema.get("$defs"):
        envelope["$defs"] = definitions
    return envelope


class _RequestSchemaGenerator(GenerateJsonSchema):
    """Leaves out what pydantic takes from names and docstrings of classes."""

    _classes: list[type[Any]]

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        self._classes = []
        generated = super().generate(schema, mode)
        # only now: an enum's texts are put in after `enum_schema` has returned
        for node in (generated, *generated.get("$defs", {}).values()):
            for owner in self._classes:
                if node.get("title") == owner.__name__:
                    del node["title"]
                # a description set on purpose (json_schema_extra) is no docstring, and stays
                if owner.__doc__ and node.get("description") == inspect.cleandoc(owner.__doc__):
                    del node["description"]
        return generated

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        self._classes.append(schema["cls"])
        return super().model_schema(schema)

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        self._classes.append(schema["cls"])
        return super().enum_schema(schema)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        self._classes.append(schema["cls"])
        return super().dataclass_schema(schema)

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        self._classes.extend([schema["cls"]] if "cls" in schema else [])
        return super().typed_dict_schema(schema)


def _objects(schema: JsonSchema, path: str) -> Iterator[tuple[str, JsonSchema]]:
    """Every subschema that has named properties, with its path; a property may have any name."""
    if isinstance(schema.get("properties"), dict):
        yield path, schema
    for keyword in ("$defs", "properties"):
        children = schema.get(keyword)
        if isinstance(children, Mapping):
            for name, child in children.items():
                yield from _objects(child, f"{path}.{name}" if path else str(name))
    for keyword in ("items", "additionalProperties"):
        if isinstance(child := schema.get(keyword), dict):
            yield from _objects(child, path)
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for child in schema.get(keyword, ()):
            yield from _objects(child, path)
