"""An evidence tool whose definition was checked, bound to the plugin that brought it."""

from __future__ import annotations

import json
import logging
import math
import re
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticCustomError

from diagnosis.contracts.evidence import EvidenceResult
from diagnosis.errors import PluginError
from diagnosis.plugin.envelope_schema import (
    JsonSchema,
    envelope_schema,
    request_schema,
    undocumented_fields,
)
from diagnosis.plugin.evidence_tool import EvidenceContext, EvidenceTool

DESCRIBE_BYTES = 1_024
"""UTF-8 bytes of `describe()` that are added to a description."""

LEAST_RESULT_BYTES = 1_024
"""The least a tool may ask for as its `agent_result_bytes`; `RunLimits` has the same bound."""

# the providers' limit is 64 characters; snake_case is ours
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_NAME_LENGTH = 64

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    """An evidence tool whose definition was checked, and the plugin that brought it.

    Attributes:
        tool: the plugin's object.
        plugin: name of the plugin.
        name: the tool's name, snake_case.
        reference: True for knowledge, which alone never carries a conclusion.
        timeout_s: the tool's own limit in seconds, or None.
        agent_result_bytes: the tool's own limit of what the model is shown, or None.
        request_json_schema: of the request alone; do not change it.
        parameters_json_schema: of the envelope, as the model sees it; do not change it.

    Raises:
        PluginError: the definition cannot be used.
    """

    tool: EvidenceTool
    plugin: str
    name: str = field(init=False)
    reference: bool = field(init=False)
    timeout_s: float | None = field(init=False)
    agent_result_bytes: int | None = field(init=False)
    request_json_schema: JsonSchema = field(init=False, repr=False, compare=False)
    parameters_json_schema: JsonSchema = field(init=False, repr=False, compare=False)
    _described: list[str] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        missing = [
            attribute
            for attribute in ("name", "description", "request", "collect")
            if not hasattr(self.tool, attribute)
        ]
        if missing:
            raise PluginError(
                f"Plugin {self.plugin!r} registers a {type(self.tool).__name__}, which is no "
                f"evidence tool: it has no {', no '.join(missing)}.",
                "Give it what diagnosis.plugin.EvidenceTool names, or use @evidence_tool.",
            )
        self._set("name", self._checked_name())
        self._set("reference", bool(getattr(self.tool, "reference", False)))
        self._set("timeout_s", self._checked_limit("timeout_s", (int, float), least=0))
        self._set(
            "agent_result_bytes",
            self._checked_limit("agent_result_bytes", (int,), least=LEAST_RESULT_BYTES - 1),
        )
        if not isinstance(self.tool.description, str) or not self.tool.description.strip():
            raise self._refusal("has no description", "Say what it answers and when to use it.")
        if not callable(self.tool.collect):
            raise self._refusal("has no collect method", "Give it `async def collect`.")
        schema = self._checked_request_schema()
        self._set("request_json_schema", schema)
        self._set("parameters_json_schema", envelope_schema(schema))

    @property
    def description(self) -> str:
        """The tool's description with what `describe()` adds, asked for once and bounded."""
        if not self._described:
            addition = self._addition()
            text = self.tool.description.strip()
            self._described.append(f"{text}\n\n{addition}" if addition else text)
        return self._described[0]

    def validate(self, input: dict[str, Any]) -> BaseModel:  # noqa: A002 - the envelope's own key
        """Validate the `input` of a call; fields the request does not have are refused.

        Raises:
            pydantic.ValidationError: it is no valid request.
        """
        request = self.tool.request
        try:
            # as JSON text: strict models take JSON's arrays for tuples only there
            text = json.dumps(input)
        except RecursionError:
            raise ValidationError.from_exception_data(
                request.__name__,
                [
                    {
                        "type": PydanticCustomError("json_too_deep", "nested too deeply"),
                        "loc": (),
                        "input": None,
                    }
                ],
                hide_input=True,
            ) from None
        return request.model_validate_json(text, extra="forbid")

    def normalise(self, request: BaseModel) -> dict[str, JsonValue]:
        """The scope that a call's fingerprint is made of; by default the request itself.

        Raises:
            TypeError: the tool's own `normalise` returns no dict.
        """
        own = getattr(self.tool, "normalise", None)
        if own is None:
            return request.model_dump(mode="json", exclude_none=True)
        scope = own(request)
        if not isinstance(scope, dict):
            raise TypeError(f"normalise of {self.name!r} returned no dict")
        return scope

    async def collect(self, request: BaseModel, context: EvidenceContext) -> EvidenceResult:
        """Let the tool collect; whatever it raises or returns is the caller's to judge."""
        return await self.tool.collect(request, context)

    def _set(self, attribute: str, value: object) -> None:
        object.__setattr__(self, attribute, value)  # the dataclass is frozen to everyone else

    def _refusal(self, problem: str, mend: str) -> PluginError:
        return PluginError(f"Tool {self.tool.name!r} of plugin {self.plugin!r} {problem}.", mend)

    def _checked_name(self) -> str:
        name = self.tool.name
        if not isinstance(name, str) or len(name) > _NAME_LENGTH or not _NAME.fullmatch(name):
            raise self._refusal(
                "has an invalid name",
                f"Use snake_case of at most {_NAME_LENGTH} characters, for example query_logs.",
            )
        return name

    def _checked_limit(self, attribute: str, types: tuple[type, ...], *, least: int) -> Any:
        limit: Any = getattr(self.tool, attribute, None)
        if limit is None:
            return None
        right_type = isinstance(limit, types) and not isinstance(limit, bool)
        if not (right_type and least < limit < math.inf):
            raise self._refusal(
                f"has an invalid {attribute}", f"Use a number above {least}, or None."
            )
        return limit

    def _checked_request_schema(self) -> JsonSchema:
        request = self.tool.request
        if not (isinstance(request, type) and issubclass(request, BaseModel)):
            raise self._refusal(
                "has a request that is no pydantic model", "Make it a subclass of BaseModel."
            )
        try:
            schema = request_schema(request)
        except PydanticUserError as error:
            raise self._refusal(
                f"has a request without a JSON schema ({type(error).__name__})",
                "Use field types that JSON has.",
            ) from error
        if undocumented := undocumented_fields(schema):
            raise self._refusal(
                f"has undocumented request fields: {', '.join(undocumented)}",
                "Give each one Field(description=...): the model reads it.",
            )
        return schema

    def _addition(self) -> str:
        describe = getattr(self.tool, "describe", None)
        if describe is None:
            return ""
        try:
            text = describe()
            return _cut(text.strip(), DESCRIBE_BYTES)
        except Exception as error:  # noqa: BLE001 - a plugin's code; the tool works without it
            logger.warning(
                "describe() of tool %r of plugin %r failed: %s",
                self.name,
                self.plugin,
                type(error).__name__,
            )
            return ""


def _cut(text: str, limit: int) -> str:
    """At most `limit` UTF-8 bytes, never inside a character; a cut text ends with an ellipsis."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    mark = "…"
    return encoded[: limit - len(mark.encode())].decode(errors="ignore") + mark
