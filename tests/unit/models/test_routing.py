"""From a model's name to a model, without contacting anyone, and what is said where that fails."""

from __future__ import annotations

import pytest
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

from diagnosis.errors import ConfigurationError
from diagnosis.models.routing import chat_model

KEY = "sk-of-the-settings"


def refusal(name: str, **options: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as refused:
        chat_model(name, **options)
    assert "\n" not in refused.value.problem + refused.value.mend
    assert "Provider(" not in refused.value.problem + refused.value.mend
    return refused.value


def test_key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert isinstance(chat_model("openai:gpt-5"), OpenAIResponsesModel)
    assert isinstance(chat_model("openai-chat:gpt-5"), OpenAIChatModel)
    assert isinstance(chat_model("anthropic:claude-sonnet-4-5"), AnthropicModel)


def test_key_in_the_settings_goes_to_the_named_provider() -> None:
    openai, anthropic = (chat_model(name, api_key=KEY) for name in ("openai:x", "anthropic:x"))
    assert isinstance(openai, OpenAIResponsesModel)
    assert isinstance(anthropic, AnthropicModel)
    assert openai.client.api_key == KEY
    assert anthropic.client.api_key == KEY


@pytest.mark.parametrize(
    ("base_url", "used"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/"),
        ("https://models.example.com/api/v3", "https://models.example.com/api/v3/"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/"),
    ],
)
def test_server_of_your_own(base_url: str, used: str) -> None:
    model = chat_model("openai:qwen3:8b", base_url=base_url)
    assert isinstance(model, OpenAIChatModel)
    assert str(model.client.base_url) == used
    assert model.model_name == "qwen3:8b"


def test_key_in_the_environment_is_not_sent_to_a_server_of_your_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-only")
    model = chat_model("openai:x", base_url="http://127.0.0.1:1")
    with_key = chat_model("openai:x", base_url="http://127.0.0.1:1", api_key=KEY)
    assert isinstance(model, OpenAIChatModel)
    assert isinstance(with_key, OpenAIChatModel)
    assert model.client.api_key != "sk-for-openai-only"
    assert with_key.client.api_key == KEY


@pytest.mark.parametrize("base_url", ["", "models.example.com", "ftp://x", "http://", "http://["])
def test_base_url_that_is_none(base_url: str) -> None:
    refused = refusal("openai:x", base_url=base_url)
    assert "model.base_url" in refused.problem
    assert "https://" in refused.mend


@pytest.mark.parametrize("name", ["", " ", "nope", "openai:", "openai: ", ":x", " :x", "test"])
def test_name_that_is_none(name: str) -> None:
    refused = refusal(name)
    assert refused.problem == f"There is no model called {name!r}."
    assert "`offline`" in refused.mend
    assert "PROVIDER:MODEL" in refused.mend


def test_name_without_its_provider_is_completed() -> None:
    assert refusal("claude-haiku-4-5").mend == "Did you mean anthropic:claude-haiku-4-5?"


def test_unknown_provider() -> None:
    assert refusal("foo:bar").problem == "There is no provider called 'foo'."
    assert refusal("test:x").problem == "There is no provider called 'test'."
    assert refusal("OPENAI:x").mend.startswith("Did you mean 'openai'?")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:x", "OPENAI_API_KEY"),
        ("anthropic:x", "ANTHROPIC_API_KEY"),
        ("ollama:x", "OLLAMA_BASE_URL"),
        ("deepseek:x", "DEEPSEEK_API_KEY"),
    ],
)
def test_missing_key_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    monkeypatch.delenv(variable, raising=False)
    refused = refusal(name)
    assert refused.problem == (
        f"The model {name!r} needs the environment variable {variable}, which is not set."
    )
    assert f"export {variable}=" in refused.mend


def test_key_of_the_settings_is_not_handed_to_a_gateway() -> None:
    refused = refusal("gateway/openai:x", api_key=KEY)
    assert "gateway" in refused.problem
    assert KEY not in str(refused)


def test_a_blank_key_that_a_client_refuses_is_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    refused = refusal("openai:x")
    assert "OPENAI_API_KEY" in refused.problem or "API key" in refused.mend
