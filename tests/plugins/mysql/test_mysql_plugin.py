"""The plugin: cheap to load, no tool without a server, and clear about what is missing."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap

import pluggy
import pytest
from pydantic import SecretStr

import diagnosis_mysql
from diagnosis.plugin import EvidenceTool, PluginServices, hookspecs
from diagnosis_mysql import MysqlSettings


@pytest.fixture
def manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(diagnosis_mysql)
    manager.check_pending()
    return manager


def test_its_hooks_are_the_applications_hooks(manager: pluggy.PluginManager) -> None:
    assert manager.hook.diagnosis_settings_model() is MysqlSettings


def test_without_a_url_there_is_no_tool(manager: pluggy.PluginManager) -> None:
    hooks = manager.hook
    settings = MysqlSettings()
    registered = hooks.diagnosis_register_evidence_tools(
        settings=settings, services=PluginServices()
    )
    assert registered == [[]]
    assert hooks.diagnosis_describe_health(settings=settings, services=PluginServices()) == [[]]


def test_with_a_url_there_is_one_tool(manager: pluggy.PluginManager) -> None:
    settings = MysqlSettings(url=SecretStr("mysql://root@127.0.0.1/test"))
    [[tool]] = manager.hook.diagnosis_register_evidence_tools(
        settings=settings, services=PluginServices()
    )
    assert isinstance(tool, EvidenceTool)
    assert tool.name == "query_mysql"
    for field in tool.request.model_json_schema()["properties"].values():
        assert field["description"]


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_loading_it_imports_neither_driver_nor_parser() -> None:
    assert (
        run(
            """
            import sys, diagnosis_mysql
            from diagnosis.plugin import PluginServices
            settings = diagnosis_mysql.MysqlSettings()
            diagnosis_mysql.diagnosis_register_evidence_tools(settings, PluginServices())
            print([name for name in ("asyncmy", "sqlglot") if name in sys.modules])
            """
        )
        == "[]"
    )


@pytest.mark.parametrize("missing", ["asyncmy", "sqlglot"])
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
        import diagnosis_mysql
        from diagnosis.plugin import PluginServices
        settings = diagnosis_mysql.MysqlSettings(url="mysql://root@h/d")
        try:
            diagnosis_mysql.diagnosis_register_evidence_tools(settings, PluginServices())
        except ModuleNotFoundError as error:
            print(error.name)
        """
    assert run(code) == missing


@pytest.mark.service("mysql")
async def test_health_tells_the_servers_version(mysql_url: str) -> None:
    settings = MysqlSettings(url=SecretStr(mysql_url))
    [check] = diagnosis_mysql.diagnosis_describe_health(settings)
    health = await check.check()
    assert health.ok
    assert health.detail.split(" at ")[0][0].isdigit()


async def test_health_tells_what_is_wrong_instead_of_raising() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    settings = MysqlSettings(url=SecretStr(f"mysql://root:s3cr3t@127.0.0.1:{port}/x"))
    [check] = diagnosis_mysql.diagnosis_describe_health(settings)
    health = await check.check()
    assert not health.ok
    assert f"127.0.0.1:{port}" in health.detail
    assert health.mend
    assert "s3cr3t" not in health.detail + health.mend
