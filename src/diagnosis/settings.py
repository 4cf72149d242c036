"""Settings: `diagnosis.toml`, then the environment (`DIAGNOSIS_*`), then code and flags."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from diagnosis.contracts.run import RunLimits
from diagnosis.errors import ConfigurationError

DEFAULT_FILE = "diagnosis.toml"
_MAX_SHOWN_ERRORS = 3


class ChatModelSettings(BaseModel):
    """The model that diagnoses."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(
        default="offline", description="`offline` (rules, no language model) or PROVIDER:MODEL."
    )
    base_url: str | None = Field(
        default=None, description="A server that speaks OpenAI's chat protocol; a host suffices."
    )
    api_key: SecretStr | None = Field(default=None, description="For base_url.")


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
        env_prefix="DIAGNOSIS_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    model: ChatModelSettings = ChatModelSettings()
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
            try:
                ZoneInfo(zone)
            except (ZoneInfoNotFoundError, ValueError):
                raise ValueError(f"{zone!r} is no IANA time zone, like Europe/Berlin") from None
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


def load_settings(file: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read settings.

    Args:
        file: a TOML file; by default `diagnosis.toml` in the working directory, if there is one.
        overrides: values that win over everything, nested like the file.

    Raises:
        ConfigurationError: the file is missing or no TOML, or a value is invalid.
    """
    try:
        environment = Settings()
    except ValidationError as error:
        raise _invalid("the environment (DIAGNOSIS_*)", error) from None
    from_environment = environment.model_dump(exclude_unset=True)
    merged = _merge(_merge(_read(file), from_environment), overrides or {})
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise _invalid(str(file or DEFAULT_FILE), error) from None


def _read(file: Path | None) -> dict[str, Any]:
    path = file or Path(DEFAULT_FILE)
    if file is None and not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"The settings file {path} cannot be read ({error.strerror}).",
            "Give the path of a TOML file with --config.",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The settings file {path} is not valid TOML: {error}.", "Correct that line."
        ) from None


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        beneath = merged.get(key)
        merged[key] = (
            _merge(beneath, value)
            if isinstance(beneath, Mapping) and isinstance(value, Mapping)
            else value
        )
    return merged


def _invalid(where: str, error: ValidationError) -> ConfigurationError:
    """The settings that are wrong, by name; never their values, which may be secrets."""
    details = error.errors(include_url=False, include_input=False, include_context=False)
    problems = [
        ".".join(map(str, detail["loc"])) + ": " + detail["msg"].removeprefix("Value error, ")
        for detail in details[:_MAX_SHOWN_ERRORS]
    ]
    return ConfigurationError(
        f"Settings are invalid ({where}): {'; '.join(problems)}.",
        "See the settings reference for each name and its values.",
    )
