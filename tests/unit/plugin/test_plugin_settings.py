from typing import ClassVar, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from diagnosis.errors import ConfigurationError, SourceError
from diagnosis.plugin.settings import NotConfigured, validated_settings


class Server(BaseModel):
    url: str
    password: SecretStr = SecretStr("")

    @field_validator("url")
    @classmethod
    def _has_host(cls, url: str) -> str:
        if "@" in url:
            raise ValueError(f"no database in {url}")
        if url == "gone":
            raise SourceError("the server is gone", "start it")
        return url


class Settings(BaseModel):
    server: Server
    mode: Literal["fast", "slow"] = "fast"
    limit: int = Field(default=10, ge=1)


def test_valid_settings_become_the_model() -> None:
    settings = validated_settings(Settings, "shop", {"server": {"url": "x"}, "limit": "3"})
    assert settings == Settings(server=Server(url="x"), limit=3)


def test_nothing_given_where_something_is_needed_is_not_configured() -> None:
    with pytest.raises(NotConfigured) as refused:
        validated_settings(Settings, "shop", None)
    assert refused.value.mend == "To use it, set server in [plugins.shop]."


def test_the_settings_model_may_say_itself_how_to_configure_it() -> None:
    class Own(Settings):
        mend_unconfigured: ClassVar[str] = "Give\n  --shop URL."

    with pytest.raises(NotConfigured) as refused:
        validated_settings(Own, "shop", None)
    assert refused.value.mend == "Give --shop URL."
    assert validated_settings(Own, "shop", {"server": {"url": "x"}}) is not None


def test_what_should_be_a_list_is_said_to_be_one() -> None:
    class Lists(BaseModel):
        paths: tuple[str, ...] = ()
        names: list[str] = []
        kinds: frozenset[str] = frozenset()

    given = {"paths": "/var/hunter2", "names": "x", "kinds": 3}
    with pytest.raises(ConfigurationError) as refused:
        validated_settings(Lists, "shop", given)
    for name in given:
        assert f'{name}: must be a list, in the environment a JSON list: ["...", "..."]' in str(
            refused.value
        )
    assert "hunter2" not in str(refused.value)


def test_an_empty_table_where_something_is_needed_is_a_mistake() -> None:
    with pytest.raises(ConfigurationError, match="server: is missing") as refused:
        validated_settings(Settings, "shop", {})
    assert not isinstance(refused.value, NotConfigured)


def test_every_mistake_is_named_up_to_five() -> None:
    given = {"server": {"url": 1}, "mode": "medium", "limit": 0}
    with pytest.raises(ConfigurationError) as refused:
        validated_settings(Settings, "shop", given)
    problem = refused.value.problem
    assert "server.url: Input should be a valid string" in problem
    assert "mode: Input should be 'fast' or 'slow'" in problem
    assert "limit: Input should be greater than or equal to 1" in problem
    many = {"server": {"url": "x"}, **{f"option{number}": 1 for number in range(7)}}
    with pytest.raises(ConfigurationError, match="; and 2 more"):
        validated_settings(Settings, "shop", many)


def test_a_misspelled_setting_is_refused_and_the_right_one_named() -> None:
    with pytest.raises(ConfigurationError, match="limits: is no setting of this") as refused:
        validated_settings(Settings, "shop", {"server": {"url": "x"}, "limits": 3})
    assert refused.value.mend == "Correct [plugins.shop]. Did you mean 'limit'?"


def test_a_model_may_take_free_keys() -> None:
    class Free(BaseModel):
        model_config = ConfigDict(extra="allow")

    settings = validated_settings(Free, "shop", {"anything": 1})
    assert settings is not None
    assert settings.model_extra == {"anything": 1}


def test_words_of_the_given_value_are_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as refused:
        validated_settings(
            Settings, "shop", {"server": {"url": "mysql://root:hunt%65r2@db.internal/"}}
        )
    assert "server.url: no database in" in refused.value.problem
    for word in ("root", "hunt", "hunter2", "internal"):
        assert word not in str(refused.value)
    assert refused.value.__cause__ is None


def test_words_of_a_whole_table_are_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as refused:
        validated_settings(Settings, "shop", {"server": ["hunter2", ("other",), {"a": "third"}]})
    assert "server: Input should be a valid" in refused.value.problem
    assert "hunter2" not in str(refused.value)


def test_our_own_error_of_a_validator_is_raised_itself() -> None:
    with pytest.raises(SourceError, match="the server is gone"):
        validated_settings(Settings, "shop", {"server": {"url": "gone"}})


def test_a_plugin_without_settings_takes_none() -> None:
    assert validated_settings(None, "shop", None) is None
    assert validated_settings(None, "shop", {}) is None
    with pytest.raises(ConfigurationError, match="takes no settings"):
        validated_settings(None, "shop", {"limit": 3})
