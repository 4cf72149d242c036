"""Settings: `diagnosis.toml`, then the environment (`DIAGNOSIS_*`), then code and flags."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from diagnosis.contracts.run import RunLimits
from diagnosis.errors import ConfigurationError
from diagnosis.models.embedding_settings import EmbeddingModelSettings
from diagnosis.plugin.spelling import did_you_mean
from diagnosis.storage.settings import StorageSettings

DEFAULT_FILE = "diagnosis.toml"
_PREFIX = "DIAGNOSIS_"
_SHOWN_ERRORS = 3
_LIKENESS = 0.8
_NO_SETTINGS = tuple(f"{_PREFIX}{name}" for name in ("DEBUG", "REQUIRE_SERVICES", "TEST_"))
"""Variables of that prefix with another purpose."""


class ChatModelSettings(BaseModel):
    """The model that diagnoses."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(
        default="offline", description="`offline` (rules, no language model) or PROVIDER:MODEL."
    )
    base_url: str | None = Field(
        default=None, description="A server that speaks OpenAI's chat protocol; a host suffices."
    )
    api_key: SecretStr | None = Field(
        default=None, description="By default the provider's own variable; for base_url none."
    )


class ToolSettings(BaseModel):
    """Which evidence tools must be there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    required: tuple[str, ...] | None = Field(
        default=None,
        description="Tools without which nothing starts; by default those of configured plugins.",
    )


class Settings(BaseSettings):
    """Everything that can be configured. Nothing that is not named here is ever contacted."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
    )

    model: ChatModelSettings = ChatModelSettings()
    embedding: EmbeddingModelSettings = EmbeddingModelSettings()
    storage: StorageSettings = StorageSettings()
    limits: RunLimits = RunLimits()
    tools: ToolSettings = ToolSettings()
    plugins: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="One table a plugin: [plugins.NAME]."
    )
    prompts: Path | None = Field(
        default=None, description="A folder of prompts to use instead of the packaged ones."
    )
    zone: str | None = Field(
        default=None, description="IANA zone for times without one; by default the system's."
    )
    logfire: bool = Field(
        default=False, description="Send spans, never content, to the configured Logfire."
    )

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, zone: str | None) -> str | None:
        if zone is not None:
            zone_named(zone)
        return zone

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment wins over the file, which `load_settings` hands in."""
        return init_settings, env_settings


def zone_named(name: str) -> ZoneInfo:
    """The IANA time zone of that name.

    Raises:
        ValueError: there is none.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: `Europe` is a folder of the database
        raise ValueError(f"{name!r} is no IANA time zone, like Europe/Berlin") from None


def load_settings(file: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read settings.

    Args:
        file: a TOML file; by default `diagnosis.toml` in the working directory, if there is one.
        overrides: values that win over everything, nested like the file.

    Raises:
        ConfigurationError: the file is missing or no TOML, or a value is invalid.
    """
    layers = [
        _Layer(str(file or DEFAULT_FILE), _read(file)),
        _Layer("the environment", _environment()),
        _Layer("a flag or the code", overrides or {}),
    ]
    merged: Mapping[str, Any] = {}
    for layer in layers:
        merged = _merge(merged, layer.values)
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise _invalid(error, layers, merged) from None


@dataclass(frozen=True, slots=True)
class _Layer:
    """Where settings were written, in words, and what stands there."""

    place: str
    values: Mapping[str, Any]


def _read(file: Path | None) -> dict[str, Any]:
    path = file or Path(DEFAULT_FILE)
    if file is None and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"The settings file {path} cannot be read ({error.strerror}).",
            "Give the path of a TOML file with --config.",
        ) from None
    except UnicodeDecodeError:
        raise ConfigurationError(
            f"The settings file {path} is not UTF-8 text.", "Give the path of a TOML file."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(
            f"The settings file {path} is not valid TOML: {error}.", "Correct that place."
        ) from None


def _environment() -> dict[str, Any]:
    """What DIAGNOSIS_* sets, as it stands there.

    A variable that was probably meant as a setting (it is spelled like one, or has two underscores)
    is refused: it would pass in silence. Others with that prefix are `ignored_variables`.
    """
    for variable in _foreign_variables():
        near = _near_variable(variable)
        if near or "__" in variable:
            raise ConfigurationError(
                f"The environment variable {variable} names no setting.",
                f"Did you mean {near}?" if near else "Unset it, or correct its name.",
            )
    try:
        values: dict[str, Any] = EnvSettingsSource(Settings)()
    except SettingsError as error:
        # its text names the field and no value
        ending = "".join(re.findall(r'field "(\w+)"', str(error))).upper()
        names = [name for name in os.environ if re.fullmatch(f"{_PREFIX}.*{ending}", name.upper())]
        raise ConfigurationError(
            f"The environment variable {' or '.join(sorted(names))} is not valid JSON.",
            "Write a whole table or a list as JSON, and a single setting like "
            f"{_PREFIX}MODEL__NAME=offline.",
        ) from None
    return {**values, "plugins": _parsed(values["plugins"])} if "plugins" in values else values


def ignored_variables() -> tuple[str, ...]:
    """Variables named DIAGNOSIS_* that name no setting and resemble none, sorted.

    An orchestrator may set some (Kubernetes does for a service called `diagnosis`), so they are no
    error, and one may be a mistake all the same: the command line tells them.
    """
    return tuple(sorted(_foreign_variables()))


def _foreign_variables() -> list[str]:
    tables = {name.upper() for name in Settings.model_fields}
    return [
        variable
        for variable in os.environ
        if variable.upper().startswith(_PREFIX)
        and not variable.upper().startswith(_NO_SETTINGS)
        and variable.upper().removeprefix(_PREFIX).partition("__")[0] not in tables
    ]


def _near_variable(variable: str) -> str | None:
    """The variable that a misspelled one was probably meant as."""
    table, nested, rest = variable.upper().removeprefix(_PREFIX).partition("__")
    fields = {name.upper(): field for name, field in Settings.model_fields.items()}
    if table.startswith("PLUGINS_"):  # one underscore where two belong
        return f"{_PREFIX}{'__'.join(table.split('_', 2))}{nested}{rest}"
    if nested:
        near = difflib.get_close_matches(table, fields, 1)
        return f"{_PREFIX}{near[0]}__{rest}" if near else None
    inner = [
        f"{name}__{setting.upper()}"
        for name, field in fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        for setting in field.annotation.model_fields
    ]
    near = difflib.get_close_matches(table, [*fields, *inner], 1, _LIKENESS)
    return f"{_PREFIX}{near[0]}" if near else None


def _parsed(value: Any) -> Any:
    """Plugins' settings, whose types are not known here, with their lists and tables as JSON."""
    if isinstance(value, dict):
        return {name: _parsed(inner) for name, inner in value.items()}
    if isinstance(value, str) and value.startswith(("[", "{")):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        beneath = merged.get(key, {})
        if not isinstance(value, Mapping):
            merged[key] = value
        elif isinstance(beneath, Mapping):
            merged[key] = _merge(beneath, value)
        # else a table is hidden by something that is none: kept, to be refused
    return merged


# --- what is wrong, and how to mend it -------------------------------------------------------


def _invalid(
    error: ValidationError, layers: Sequence[_Layer], merged: Mapping[str, Any]
) -> ConfigurationError:
    """The settings that are wrong, by name; never their values, which may be secrets."""
    details = error.errors(include_url=False, include_input=False, include_context=False)
    told = [
        f"{'.'.join(map(str, detail['loc']))}{_place(detail['loc'], layers, merged)}: "
        + _rule(detail)
        for detail in details[:_SHOWN_ERRORS]
    ]
    if len(details) > _SHOWN_ERRORS:
        told.append(f"and {len(details) - _SHOWN_ERRORS} more")
    unknown = [each["loc"] for each in details if each["type"] == "extra_forbidden"]
    names = [str(path[-1]) for path in unknown]
    known = [name for path in unknown for name in _names_beside(path)]
    return ConfigurationError(
        f"Invalid settings: {'; '.join(told)}.",
        did_you_mean(names, known)
        or "Correct it there; the settings reference lists every name and its values.",
    )


def _rule(detail: ErrorDetails) -> str:
    match detail["type"]:
        case "extra_forbidden":
            return "there is no such setting"
        case "dict_type" | "model_type":
            return "it must be a table"
        case "tuple_type":
            return "it must be a list"
    message = detail["msg"].removeprefix("Value error, ")
    return f"{message[0].lower()}{message[1:]}"


def _place(path: Sequence[str | int], layers: Sequence[_Layer], merged: Mapping[str, Any]) -> str:
    """Where the value in force at a path was written: the last layer that says the same."""
    value = _value_at(path, merged)
    for layer in reversed(layers):
        if value is not None and _value_at(path, layer.values) == value:
            return f" in {layer.place}"
    return ""


def _value_at(path: Sequence[str | int], values: object) -> object:
    for key in path:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _names_beside(path: Sequence[str | int]) -> Iterable[str]:
    """The settings of the table that the last part of a path stands in."""
    table: type[BaseModel] = Settings
    for key in path[:-1]:
        inner = table.model_fields[str(key)].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return ()
        table = inner
    return table.model_fields
