"""The plugin: cheap to load, no tool without a server, and clear about what is wrong."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pluggy
import pytest
from pydantic import SecretStr, ValidationError

import diagnosis_postgresql
from diagnosis.errors import SourceError
from diagnosis.plugin import EvidenceTool, PluginServices, hookspecs
from diagnosis_postgresql import PostgresqlSettings
from diagnosis_postgresql.tool import PostgresqlTool
from diagnosis_postgresql.url import server_address


@pytest.fixture
def manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(diagnosis_postgresql)
    manager.check_pending()
    return manager


def test_without_a_url_there_is_no_tool(manager: pluggy.PluginManager) -> None:
    assert manager.hook.diagnosis_settings_model() is PostgresqlSettings
    settings = PostgresqlSettings()
    registered = manager.hook.diagnosis_register_evidence_tools(
        settings=settings, services=PluginServices()
    )
    assert registered == [[]]
    assert manager.hook.diagnosis_describe_health(settings=settings, services=PluginServices()) == [
        []
    ]


def test_with_a_url_there_is_one_tool(manager: pluggy.PluginManager) -> None:
    settings = PostgresqlSettings(url=SecretStr("postgresql://someone:s3cr3t@h/shop"))
    [[tool]] = manager.hook.diagnosis_register_evidence_tools(
        settings=settings, services=PluginServices()
    )
    assert isinstance(tool, EvidenceTool)
    assert tool.name == "query_postgresql"
    assert tool.describe() == (
        "Default database: shop. Readable schemas: public, pg_catalog, information_schema."
    )
    for field in tool.request.model_json_schema()["properties"].values():
        assert field["description"]


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_loading_it_imports_neither_driver_nor_parser() -> None:
    code = """
        import sys, diagnosis_postgresql
        from diagnosis.plugin import PluginServices
        settings = diagnosis_postgresql.PostgresqlSettings()
        diagnosis_postgresql.diagnosis_register_evidence_tools(settings, PluginServices())
        print([name for name in ("asyncpg", "sqlglot") if name in sys.modules])
        """
    assert run(code) == "[]"


@pytest.mark.parametrize("missing", ["asyncpg", "sqlglot"])
def test_a_missing_extra_is_named(missing: str) -> None:
    code = f"""
        import importlib.machinery, sys
        class Hidden:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == {missing!r}:
                    return None
                return importlib.machinery.PathFinder.find_spec(name, path, target)
        sys.meta_path[:] = [
            finder for finder in sys.meta_path
            if finder is not importlib.machinery.PathFinder
        ] + [Hidden()]
        import diagnosis_postgresql
        from diagnosis.plugin import PluginServices
        settings = diagnosis_postgresql.PostgresqlSettings(url="postgresql://root@h/d")
        try:
            diagnosis_postgresql.diagnosis_register_evidence_tools(settings, PluginServices())
        except ModuleNotFoundError as error:
            print(error.name)
        """
    assert run(code) == missing


@pytest.mark.service("postgresql")
async def test_health_tells_the_servers_version(postgresql_url: str) -> None:
    settings = PostgresqlSettings(url=SecretStr(postgresql_url))
    [check] = diagnosis_postgresql.diagnosis_describe_health(settings)
    health = await check.check()
    assert health.ok
    assert health.detail.split(" at ")[0][0].isdigit()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://u:s3cr3t@h/d",
        "postgresql://u:s3cr3t@/d",
        "postgresql://:s3cr3t@h/d",
        "postgresql://u:s3cr3t@h:port/d",
        "postgresql://u:s3/cr3t@h/d",
        "postgresql://u:s3#cr3t@h/d",
        "postgresql://u:s3cr3t@h/d/e",
        "postgresql://u:s3cr3t@h/d?sslmode=sometimes",
        "postgresql://u:s3cr3t@h/d?options=-c%20x",
    ],
)
def test_a_malformed_url_is_told_without_quoting_it(url: str) -> None:
    with pytest.raises(SourceError) as error:
        PostgresqlTool(PostgresqlSettings(url=SecretStr(url)))
    assert error.value.problem.startswith("The PostgreSQL URL cannot be read: ")
    assert error.value.mend.startswith("Write postgresql://")
    assert "cr3t" not in str(error.value)
    assert "\n" not in error.value.problem + error.value.mend


def test_the_options_of_a_url() -> None:
    def address(url: str):
        return server_address(PostgresqlSettings(url=SecretStr(url)))

    assert address("postgres://u@h:6000/d?sslmode=disable").tls is None
    assert address("postgresql://u@h/d?sslmode=require").tls is not None
    socket = address("postgresql://u@localhost/d?host=/run/postgresql")
    assert (socket.unix_socket, socket.label, socket.port) == (
        "/run/postgresql",
        "/run/postgresql",
        5432,
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"schemas": ["pg_toast"]},
        {"schemas": ["PG_TEMP"]},
        {"schemas": [""]},
        {"databases": ["x" * 64]},
        {"timeout_s": float("inf")},
        {"urls": "x"},
    ],
)
def test_wrong_settings_are_refused_and_their_values_not_printed(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as error:
        PostgresqlSettings.model_validate({"url": "postgresql://u:s3cr3t@h/d"} | wrong)
    assert "s3cr3t" not in str(error.value)
