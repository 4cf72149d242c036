"""A model's name, as settings and flags give it, to a PydanticAI model."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from diagnosis.errors import ConfigurationError

_NAME_MEND = (
    "Use `offline`, or PROVIDER:MODEL as PydanticAI names it, for example `openai:gpt-5` or "
    "`anthropic:claude-sonnet-4-5`."
)
_TEST_DOUBLES = frozenset({"test", "function"})


def chat_model(name: str, *, base_url: str | None = None, api_key: str | None = None) -> Model:
    """The model of that name. Contacts nothing.

    Args:
        name: PROVIDER:MODEL.
        base_url: of a server that speaks OpenAI's chat protocol; a host alone gets `/v1`.
        api_key: for `base_url`; without one, a server that needs none is assumed.

    Raises:
        ConfigurationError: no such provider, its API key or its package is missing.
    """
    provider, _, model_name = name.partition(":")
    if not provider or not model_name or provider in _TEST_DOUBLES:
        raise ConfigurationError(f"There is no model called {name!r}.", _NAME_MEND)
    if base_url is not None:
        return _openai_compatible(model_name, base_url, api_key)
    try:
        return infer_model(name)
    except UserError as error:
        # PydanticAI's own words name the environment variable to set
        raise ConfigurationError(
            f"The model {name!r} cannot be used: {_first_sentence(error)}",
            "Set the API key of the provider in the environment, or choose another model.",
        ) from None
    except ImportError:
        raise ConfigurationError(
            f"The client library of the provider {provider!r} is not installed.",
            f'Install it: pip install "pydantic-ai-slim[{provider}]".',
        ) from None
    except ValueError:
        raise ConfigurationError(f"There is no provider called {provider!r}.", _NAME_MEND) from None


def _openai_compatible(model_name: str, base_url: str, api_key: str | None) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            "The model's base_url is not an http or https address.",
            "Write it like https://models.example.com or https://models.example.com/v1.",
        )
    url = base_url if parts.path.strip("/") else f"{base_url.rstrip('/')}/v1"
    # the client insists on a key; servers that need none ignore it
    provider = OpenAIProvider(base_url=url, api_key=api_key or "none")
    return OpenAIChatModel(model_name, provider=provider)


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).split(". ")[0].rstrip(".") + "."
