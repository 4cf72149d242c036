"""A model's name, as settings and flags give it, to a PydanticAI model."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args
from urllib.parse import urlsplit

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import KnownModelName, Model, infer_model
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from diagnosis.errors import ConfigurationError
from diagnosis.plugin.spelling import did_you_mean

if TYPE_CHECKING:
    from pydantic_ai.embeddings import EmbeddingModel

T = TypeVar("T")

_FORMS = (
    "Use `offline` (rules, no key), or PROVIDER:MODEL as PydanticAI names it, for example "
    "openai:gpt-5 or anthropic:claude-sonnet-4-5."
)
_EMBEDDING_FORMS = (
    "Use `offline` (runs here, no key), or PROVIDER:MODEL as PydanticAI names it, for example "
    "openai:text-embedding-3-small."
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
        from pydantic_ai.models.openai import OpenAIChatModel

        return OpenAIChatModel(model_name, provider=_openai_provider("model", base_url, api_key))
    provider_for = infer_provider if api_key is None else _with_key("model", api_key)
    return _made(name, lambda: infer_model(name, provider_for), "use `--model offline`")


def embedding_model(
    name: str, *, base_url: str | None = None, api_key: str | None = None
) -> tuple[EmbeddingModel, Provider[Any]]:
    """The embedding model of that name, and the provider that holds its client. Contacts nothing.

    Args and errors are those of `chat_model`.
    """
    provider_name, _, model_name = name.partition(":")
    if not provider_name.strip() or not model_name.strip():
        raise ConfigurationError(f"There is no embedding called {name!r}.", _EMBEDDING_FORMS)
    if base_url is not None:
        from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel

        provider = _openai_provider("embedding", base_url, api_key)
        return OpenAIEmbeddingModel(model_name, provider=provider), provider
    from pydantic_ai.embeddings import infer_embedding_model

    provider_for = infer_provider if api_key is None else _with_key("embedding", api_key)
    used: list[Provider[Any]] = []

    def remembered(provider: str) -> Provider[Any]:
        used.append(provider_for(provider))
        return used[-1]

    model = _made(
        name,
        lambda: infer_embedding_model(name, provider_factory=remembered),
        'set embedding.name to "offline"',
    )
    return model, used[-1]


def _made(name: str, make: Callable[[], T], without: str) -> T:
    """What PydanticAI makes of a name; its errors as sentences."""
    provider = name.partition(":")[0]
    try:
        infer_provider_class(provider)
    except ValueError:
        raise ConfigurationError(
            f"There is no provider called {provider!r}.", _nearest_provider(provider)
        ) from None
    except ImportError:
        raise _missing_client(provider) from None
    try:
        return make()
    except UserError as error:
        raise _unusable(name, str(error), without) from None
    except ImportError:
        raise _missing_client(provider) from None
    except Exception as error:  # noqa: BLE001 - each provider's client refuses in its own way
        raise ConfigurationError(
            f"The model {name!r} cannot be used: its client refused ({type(error).__name__}).",
            "Check that the provider's API key is set and not blank.",
        ) from None


def _with_key(table: str, api_key: str) -> Callable[[str], Provider[Any]]:
    def provider_with_key(provider: str) -> Provider[Any]:
        if provider.startswith("gateway/"):
            raise UserError(f"`{table}.api_key` is for a provider itself, not for a gateway.")
        make: Any = infer_provider_class(provider)  # each takes arguments of its own
        try:
            return cast("Provider[Any]", make(api_key=api_key))
        except TypeError:
            raise UserError("its provider takes no API key.") from None

    return provider_with_key


def _openai_provider(table: str, base_url: str, api_key: str | None) -> Provider[Any]:
    """A server that speaks OpenAI's protocol; a host alone gets `/v1`."""
    from pydantic_ai.providers.openai import OpenAIProvider

    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            f"The setting {table}.base_url is not an http or https address.",
            "Write it like https://models.example.com or https://models.example.com/v1.",
        )
    url = base_url if urlsplit(base_url).path.strip("/") else f"{base_url.rstrip('/')}/v1"
    # the client insists on a key; servers that need none ignore it
    return OpenAIProvider(base_url=url, api_key=api_key or "none")


# --- what is wrong, and how to mend it -------------------------------------------------------


def _unusable(name: str, reason: str, without: str) -> ConfigurationError:
    """PydanticAI's own words name the environment variable to set, beside advice for programs."""
    if variable := _VARIABLE.search(reason):
        return ConfigurationError(
            f"The model {name!r} needs the environment variable {variable[1]}, which is not set.",
            f"Set it (export {variable[1]}=...), or {without}, which needs none.",
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
