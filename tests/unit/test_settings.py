"""Settings: which place wins, what is read from the environment, and what errors tell."""

from __future__ import annotations

import re
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from diagnosis.contracts.run import RunLimits
from diagnosis.errors import ConfigurationError
from diagnosis.settings import Settings, ignored_variables, load_settings, zone_named

ROOT = Path(__file__).parents[2]
SECRET = "hunter2hunter2"
FILE = """
zone = "Europe/Berlin"

[model]
name = "openai:file"
base_url = "http://file.example"

[limits]
tool_calls = 5
model_calls = 7

[plugins.logs]
paths = ["file.log"]
window_minutes = 15

[plugins.mysql]
url = "mysql://file@db.example/shop"
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- which place wins ------------------------------------------------------------------------


def test_without_anything_the_defaults_hold() -> None:
    settings = load_settings()
    assert settings.model.name == "offline"
    assert settings.limits == RunLimits()
    assert (settings.plugins, settings.prompts, settings.zone) == ({}, None, None)
    assert settings.logfire is False


def test_flags_win_over_the_environment_and_that_over_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("diagnosis.toml").write_text(FILE)
    monkeypatch.setenv("DIAGNOSIS_MODEL__NAME", "openai:environment")
    monkeypatch.setenv("DIAGNOSIS_LIMITS__TOOL_CALLS", "6")
    monkeypatch.setenv("DIAGNOSIS_PLUGINS__MYSQL__URL", "mysql://environment@db.example/shop")
    flags = {"model": {"name": "openai:flag"}, "plugins": {"logs": {"paths": ["flag.log"]}}}

    settings = load_settings(None, flags)

    assert settings.model.name == "openai:flag"
    assert settings.model.base_url == "http://file.example"
    assert settings.plugins == {
        "logs": {"paths": ["flag.log"], "window_minutes": 15},
        "mysql": {"url": "mysql://environment@db.example/shop"},
    }
    assert (settings.limits.tool_calls, settings.limits.model_calls) == (6, 7)
    assert settings.zone == "Europe/Berlin"


def test_some_limits_leave_the_others_at_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSIS_LIMITS__DEADLINE_S", "90")
    limits = load_settings(None, {"limits": {"tool_calls": 3}}).limits
    assert limits == RunLimits(deadline_s=90, tool_calls=3)


def test_limits_that_fit_only_together_may_stand_in_different_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("diagnosis.toml").write_text("[limits]\nmodel_calls = 2\n")
    monkeypatch.setenv("DIAGNOSIS_LIMITS__RESERVED_MODEL_CALLS", "1")
    assert load_settings().limits == RunLimits(model_calls=2, reserved_model_calls=1)


def test_named_file_is_read_instead_of_the_default_one(place: Path) -> None:
    Path("diagnosis.toml").write_text("colour = 1")
    (place / "other.toml").write_text('zone = "Asia/Shanghai"')
    assert load_settings(place / "other.toml").zone == "Asia/Shanghai"


# --- the environment -------------------------------------------------------------------------


def test_settings_of_plugins_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSIS_PLUGINS__MYSQL__URL", "mysql://app@db.example/shop")
    monkeypatch.setenv("DIAGNOSIS_PLUGINS__LOGS__PATHS", '["a.log", "b.log"]')
    monkeypatch.setenv("DIAGNOSIS_PLUGINS__LOGS__SOURCES__WEB", "web.log")
    monkeypatch.setenv("DIAGNOSIS_PLUGINS__LOGS__ZONE", "[no JSON")
    assert load_settings().plugins == {
        "mysql": {"url": "mysql://app@db.example/shop"},
        "logs": {"paths": ["a.log", "b.log"], "sources": {"web": "web.log"}, "zone": "[no JSON"},
    }


def test_variables_that_are_no_settings_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSIS_REQUIRE_SERVICES", "1")
    monkeypatch.setenv("DIAGNOSIS_TEST_MYSQL_URL", "mysql://root@127.0.0.1/test")
    monkeypatch.setenv("DIAGNOSIS_DEBUG", "1")
    assert load_settings() == Settings()


def test_variables_like_no_setting_are_ignored_and_can_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ignored_variables() == ()
    names = ["DIAGNOSIS_NOPE", "DIAGNOSIS_PORT_80_TCP_ADDR", "DIAGNOSIS_SERVICE_HOST"]
    for name in [*names, "DIAGNOSIS_DEBUG", "DIAGNOSIS_TEST_X", "DIAGNOSIS_ZONE"]:
        monkeypatch.setenv(name, "UTC")
    assert load_settings() == Settings(zone="UTC")
    assert ignored_variables() == tuple(names)


def test_empty_variables_count_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ZONE", "PROMPTS", "MODEL__NAME", "MODEL"):
        monkeypatch.setenv(f"DIAGNOSIS_{name}", "")
    assert load_settings() == Settings()


@pytest.mark.parametrize(
    ("variable", "mend"),
    [
        ("DIAGNOSIS_MODLE__NAME", "Did you mean DIAGNOSIS_MODEL__NAME?"),
        ("DIAGNOSIS_ZZZZ__X", "Unset it"),
        ("DIAGNOSIS_MODEL_NAME", "Did you mean DIAGNOSIS_MODEL__NAME?"),
        ("DIAGNOSIS_LIMIT_TOOL_CALLS", "Did you mean DIAGNOSIS_LIMITS__TOOL_CALLS?"),
        ("DIAGNOSIS_PLUGINS_LOGS_PATHS", "Did you mean DIAGNOSIS_PLUGINS__LOGS__PATHS?"),
        ("DIAGNOSIS_PLUGINS_MYSQL__URL", "Did you mean DIAGNOSIS_PLUGINS__MYSQL__URL?"),
        ("DIAGNOSIS_ZONES", "Did you mean DIAGNOSIS_ZONE?"),
        ("DIAGNOSIS_PROMTPS", "Did you mean DIAGNOSIS_PROMPTS?"),
    ],
)
def test_variable_that_is_a_misspelled_setting_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, mend: str
) -> None:
    monkeypatch.setenv(variable, SECRET)
    with pytest.raises(ConfigurationError) as refusal:
        load_settings()
    assert variable in refusal.value.problem
    assert mend in refusal.value.mend


@pytest.mark.parametrize(
    ("variable", "problem"),
    [
        ("DIAGNOSIS_PLUGINS", "The environment variable DIAGNOSIS_PLUGINS is not valid JSON."),
        ("DIAGNOSIS_TOOLS__REQUIRED", "tools.required in the environment: it must be a list."),
    ],
)
def test_variable_that_should_be_json(
    monkeypatch: pytest.MonkeyPatch, variable: str, problem: str
) -> None:
    monkeypatch.setenv(variable, f"{SECRET}:")
    with pytest.raises(ConfigurationError) as refusal:
        load_settings()
    assert refusal.value.problem.endswith(problem)
    assert SECRET not in str(refusal.value)


def test_whole_table_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSIS_PLUGINS", '{"logs": {"paths": ["a.log"]}}')
    monkeypatch.setenv("DIAGNOSIS_TOOLS__REQUIRED", '["query_logs"]')
    settings = load_settings()
    assert settings.plugins == {"logs": {"paths": ["a.log"]}}
    assert settings.tools.required == ("query_logs",)
    monkeypatch.setenv("DIAGNOSIS_PLUGINS", "[1]")
    with pytest.raises(ConfigurationError, match="plugins in the environment: it must be a table"):
        load_settings()


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [[SECRET], {"x": SECRET}, 5])
def test_values_are_never_told(value: object) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load_settings(None, {"model": {"api_key": value}, "limits": {"tool_calls": SECRET}})
    assert "model.api_key in a flag or the code" in refusal.value.problem
    assert SECRET not in str(refusal.value)


def test_secrets_are_masked_in_what_is_printed() -> None:
    settings = load_settings(None, {"model": {"api_key": SECRET}})
    assert SECRET not in repr(settings) + settings.model_dump_json()
    assert settings.model.api_key is not None
    assert settings.model.api_key.get_secret_value() == SECRET


def test_many_problems_are_told_in_one_line() -> None:
    wrong = {f"no_such_{number}": 1 for number in range(5)}
    with pytest.raises(ConfigurationError) as refusal:
        load_settings(None, wrong)
    assert refusal.value.problem.count("there is no such setting") == 3
    assert refusal.value.problem.endswith("and 2 more.")
    assert "\n" not in refusal.value.problem


def test_place_of_a_wrong_value_is_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("diagnosis.toml").write_text("[limits]\ntool_calls = 0\nmodel_calls = 0\n")
    monkeypatch.setenv("DIAGNOSIS_LIMITS__TOOL_CALLS", "-1")
    with pytest.raises(ConfigurationError) as refusal:
        load_settings()
    assert "limits.tool_calls in the environment" in refusal.value.problem
    assert "limits.model_calls in diagnosis.toml" in refusal.value.problem


@pytest.mark.parametrize("toml", ["plugins = 3", "[plugins]\nlogs = 3"])
def test_flags_do_not_hide_that_a_table_is_none(toml: str) -> None:
    Path("diagnosis.toml").write_text(toml)
    with pytest.raises(ConfigurationError, match=r"in diagnosis\.toml: it must be a table"):
        load_settings(None, {"plugins": {"logs": {"paths": ["a.log"]}}})


# --- zones, documentation --------------------------------------------------------------------


def test_zones() -> None:
    assert zone_named("Europe/Berlin") == ZoneInfo("Europe/Berlin")
    for name in ("", "Mars", "Europe", "../etc/passwd", "a\0b"):
        with pytest.raises(ValueError, match="is no IANA time zone"):
            zone_named(name)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().zone = "UTC"


def test_examples_of_the_documentation_load(place: Path) -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    examples = [
        example
        for page in pages
        for example in re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
        if "[project" not in example and "[build-system" not in example
    ]
    assert examples
    for example in examples:
        (place / "example.toml").write_text(example)
        load_settings(place / "example.toml")
