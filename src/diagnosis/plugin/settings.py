"""A plugin's settings: validated with its own model, and refused in words for the user.

What pydantic says is told with every word of the given value masked: it may be, or hold, a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import unquote

from pydantic import BaseModel, ValidationError

from diagnosis.errors import ConfigurationError
from diagnosis.plugin.spelling import did_you_mean

_SHOWN_ERRORS = 5


class NotConfigured(ConfigurationError):
    """The user gave a plugin no settings, and it does not work without."""


def validated_settings(
    model: type[BaseModel] | None, name: str, given: Mapping[str, Any] | None
) -> BaseModel | None:
    """The settings that are handed to a plugin's hooks.

    Args:
        model: the plugin's settings model; None for a plugin without settings.
        name: the plugin's name.
        given: what the user wrote, or None where that is nothing.

    Raises:
        NotConfigured: nothing is given, and the model requires something.
        ConfigurationError: the given settings do not fit the model.
    """
    if model is None:
        if given:
            raise ConfigurationError(
                f"Plugin {name!r} takes no settings.", f"Remove [plugins.{name}]."
            )
        return None
    extra: Literal["forbid"] | None = "forbid"  # a misspelled setting must not pass in silence
    if model.model_config.get("extra") == "allow":
        extra = None
    try:
        return model.model_validate(dict(given or {}), extra=extra)
    except ValidationError as error:
        raise _refusal(error, model, name, given=given is not None) from None


def how_to_configure(model: object, name: str, needed: str = "its source") -> str:
    """How to give a plugin what it lacks: its settings model's `mend_unconfigured`, if it has one.

    Args:
        model: the plugin's settings model, or None.
        name: the plugin's name.
        needed: the settings to set, in words.
    """
    own = getattr(model, "mend_unconfigured", None)
    if isinstance(own, str) and own.strip():
        return " ".join(own.split())
    return f"To use it, set {needed} in [plugins.{name}]."


def _refusal(
    error: ValidationError, model: type[BaseModel], name: str, *, given: bool
) -> ConfigurationError:
    errors = error.errors(include_url=False)
    if not given and all(each["type"] == "missing" for each in errors):
        needed = ", ".join(_path(each["loc"]) for each in errors)
        return NotConfigured(
            f"Plugin {name!r} is not configured.", how_to_configure(model, name, needed)
        )
    told = [_told(each) for each in errors[:_SHOWN_ERRORS]]
    if len(errors) > _SHOWN_ERRORS:
        told.append(f"and {len(errors) - _SHOWN_ERRORS} more")
    unknown = [str(each["loc"][-1]) for each in errors if each["type"] == "extra_forbidden"]
    suggestion = did_you_mean(unknown, model.model_fields)
    mend = f"Correct [plugins.{name}]."
    return ConfigurationError(
        f"The settings of plugin {name!r} are invalid: {'; '.join(told)}.",
        f"{mend} {suggestion}" if suggestion else mend,
    )


def _told(error: Mapping[str, Any]) -> str:
    match error["type"]:
        case "missing":
            message = "is missing"
        case "extra_forbidden":
            message = "is no setting of this plugin"
        case "tuple_type" | "list_type" | "set_type" | "frozen_set_type":
            message = 'must be a list, in the environment a JSON list: ["...", "..."]'
        case _:
            message = _masked(error["msg"].removeprefix("Value error, "), error["input"])
    path = _path(error["loc"])
    return " ".join((f"{path}: {message}" if path else message).split())


def _path(loc: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in loc)


def _masked(message: str, given: object) -> str:
    """The message without any word of what the user gave; it may be, or hold, a secret."""
    words = {
        word for text in _texts(given) for word in re.findall(r"\w{3,}", f"{text} {unquote(text)}")
    }
    for word in sorted(words, key=len, reverse=True):
        message = message.replace(word, "…")
    return message


def _texts(value: object) -> Iterable[str]:
    match value:
        case Mapping():
            for part in value.values():
                yield from _texts(part)
        case list() | tuple() | set() | frozenset():
            for part in value:
                yield from _texts(part)
        case _:
            yield str(value)
