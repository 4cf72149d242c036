"""A model's name, as settings and flags give it, to a PydanticAI model."""

from __future__ import annotations

import re
from typing import Any, cast, get_args
from urllib.parse import urlsplit

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import KnownModelName, Model, infer_model
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from diagnosis.errors import ConfigurationError
from diagnosis.plugin.spelling import did_you_mean

_FORMS = (
    "Use `offline` (rules, no key), or PROVIDER:MODEL as PydanticAI names it, for example "
    "openai:gpt-5 or anthropic:claude-sonnet-4-5."
)
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`")


def chat_model(name: str, *, base_url: str | None = None, api_key: str | None = None) -> Model:
    """The model of that name. Contacts nothing.

    Args:
        name: PROVIDER:MODEL.
        base_url: of a server that speaks OpenAI's chat protocol; a host alone gets `/v1`.
        api_key: by default the environment variable of the provider; for `base_url` none, as a
            key in the environment is not meant for that server.

    Raises:
        ConfigurationError: no such provider, its API key or its package is missing.
    """
    provider, _, model_name = name.partition(":")
    if not provider.strip() or not model_name.strip():
        raise ConfigurationError(f"There is no model called {name!r}.", _nearest_model(name))
    if base_url is not None:
        return _openai_compatible(model_name, base_url, api_key)
    try:
        infer_provider_class(provider)
    except ValueError:
        raise ConfigurationError(
            f"There is no provider called {provider!r}.", _nearest_provider(provider)
        ) from None
    except ImportError:
        raise _missing_client(provider) from None
    try:
        return infer_model(name, infer_provider if api_key is None else _with_key(api_key))
    except UserError as error:
        raise _unusable(name, str(error)) from None
    except ImportError:
        raise _missing_client(provider) from None
    except Exception as error:  # noqa: BLE001 - each provider's client refuses in its own way
        raise ConfigurationError(
            f"The model {name!r} cannot be used: its client refused ({type(error).__name__}).",
            "Check that the provider's API key is set and not blank.",
        ) from None


def _with_key(api_key: str) -> Any:
    def provider_with_key(provider: str) -> Provider[Any]:
        if provider.startswith("gateway/"):
            raise UserError("`model.api_key` is for a provider itself, not for a gateway.")
        make: Any = infer_provider_class(provider)  # each takes arguments of its own
        try:
            return cast("Provider[Any]", make(api_key=api_key))
        except TypeError:
            raise UserError("its provider takes no API key.") from None

    return provider_with_key


def _openai_compatible(model_name: str, base_url: str, api_key: str | None) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            "The setting model.base_url is not an http or https address.",
            "Write it like https://models.example.com or https://models.example.com/v1.",
        )
    url = base_url if urlsplit(base_url).path.strip("/") else f"{base_url.rstrip('/')}/v1"
    # the client insists on a key; servers that need none ignore it
    provider = OpenAIProvider(base_url=url, api_key=api_key or "none")
    return OpenAIChatModel(model_name, provider=provider)


# --- what is wrong, and how to mend it -------------------------------------------------------


def _unusable(name: str, reason: str) -> ConfigurationError:
    """PydanticAI's own words name the environment variable to set, beside advice for programs."""
    if variable := _VARIABLE.search(reason):
        return ConfigurationError(
            f"The model {name!r} needs the environment variable {variable[1]}, which is not set.",
            f"Set it (export {variable[1]}=...), or use `--model offline`, which needs none.",
        )
    first = " ".join(reason.split()).split(". ")[0].rstrip(".")
    return ConfigurationError(f"The model {name!r} cannot be used: {first}.", _FORMS)


def _missing_client(provider: str) -> ConfigurationError:
    return ConfigurationError(
        f"The client library of the provider {provider!r} is not installed.",
        f'Install it: pip install "pydantic-ai-slim[{provider}]".',
    )


def _known_names() -> list[str]:
    return [name for name in get_args(KnownModelName.__value__) if ":" in name]


def _nearest_model(name: str) -> str:
    """For the bare name of a model that exists: the same with its provider."""
    full = [known for known in _known_names() if known.partition(":")[2] == name]
    return f"Did you mean {min(full, key=len)}?" if full else _FORMS


def _nearest_provider(provider: str) -> str:
    known = {name.partition(":")[0] for name in _known_names()}
    question = did_you_mean([provider.lower()], known)
    return f"{question.capitalize()} {_FORMS}" if question else _FORMS
