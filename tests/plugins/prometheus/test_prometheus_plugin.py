"""The plugin: cheap to load, no tool without a server, and clear about what is missing."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap

import pluggy
import pytest
from pydantic import SecretStr

import diagnosis_prometheus
from diagnosis.cli.options import SourceFlags
from diagnosis.errors import SourceError
from diagnosis.plugin import EvidenceTool, PluginServices, hookspecs
from diagnosis_prometheus import PrometheusSettings
from diagnosis_prometheus.address import alertmanager_address, prometheus_address

SECRET = "s3cr3t"


@pytest.fixture
def manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(diagnosis_prometheus)
    manager.check_pending()
    return manager


def test_its_hooks_are_the_applications_hooks(manager: pluggy.PluginManager) -> None:
    assert manager.hook.diagnosis_settings_model() is PrometheusSettings


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, []),
        ({"url": "http://h:9090"}, ["query_metrics", "list_alerts"]),
        ({"alertmanager_url": "http://h:9093"}, ["list_alerts"]),
        (
            {"url": "http://h:9090", "alertmanager_url": "http://h:9093"},
            ["query_metrics", "list_alerts"],
        ),
    ],
)
def test_each_server_brings_its_tools(
    manager: pluggy.PluginManager, given: dict[str, str], names: list[str]
) -> None:
    settings = PrometheusSettings.model_validate(given)
    [tools] = manager.hook.diagnosis_register_evidence_tools(
        settings=settings, services=PluginServices()
    )
    assert [tool.name for tool in tools] == names
    for tool in tools:
        assert isinstance(tool, EvidenceTool)
        for field in tool.request.model_json_schema()["properties"].values():
            assert field["description"]
    [checks] = manager.hook.diagnosis_describe_health(settings=settings, services=PluginServices())
    assert len(checks) == len(given)


def test_the_flags_are_its_settings() -> None:
    flags = SourceFlags(prometheus="http://h:9090", alertmanager="http://h:9093")
    [given] = flags.overrides()["plugins"].values()
    settings = PrometheusSettings.model_validate(given)
    assert settings.url == SecretStr("http://h:9090")
    assert settings.alertmanager_url == SecretStr("http://h:9093")
    # the other server of the file stays
    assert SourceFlags(alertmanager="x").overrides()["plugins"] == {
        "prometheus": {"alertmanager_url": "x"}
    }


# --- addresses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "base", "user", "password"),
    [
        ("http://h", "http://h", None, None),
        ("http://h:9090/", "http://h:9090", None, None),
        ("https://h/prometheus/", "https://h/prometheus", None, None),
        ("http://[::1]:9090/a/b", "http://[::1]:9090/a/b", None, None),
        (f"http://me:{SECRET}@h:9090/p", "http://h:9090/p", "me", SECRET),
        ("http://a%40b:p%2Fw%20d@h", "http://h", "a@b", "p/w d"),
        ("http://me@h", "http://h", "me", ""),
        (" http://h \n", "http://h", None, None),
    ],
)
def test_a_url_is_taken_apart(url: str, base: str, user: str | None, password: str | None) -> None:
    address = prometheus_address(PrometheusSettings(url=SecretStr(url)))
    assert address is not None
    assert (address.base, address.user) == (base, user)
    assert (address.password and address.password.get_secret_value()) == (password or None) or (
        address.password == SecretStr(password or "")
    )
    assert SECRET not in repr(address) + address.label + address.base


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h:9090",
        "ftp://h",
        "http://",
        f"http://me:{SECRET}@",
        f"http://me:{SECRET}@h:port",
        f"http://me:{SECRET}@h:0",
        f"http://me:{SECRET}@h/?token=1",
        f"http://me:{SECRET}@h/#x",
        f"http://me:{SECRET}@h ost",
        f"http://me:{SECRET}@h\\x",
        f"http://[{SECRET}",
    ],
)
@pytest.mark.parametrize("setting", ["url", "alertmanager_url"])
def test_a_malformed_url_is_refused_without_a_word_of_it(url: str, setting: str) -> None:
    settings = PrometheusSettings.model_validate({setting: url})
    address = prometheus_address if setting == "url" else alertmanager_address
    with pytest.raises(SourceError) as caught:
        address(settings)
    assert setting in caught.value.mend
    assert SECRET not in str(caught.value)


def test_a_user_and_a_token_exclude_each_other() -> None:
    settings = PrometheusSettings(url=SecretStr("http://me:x@h"), bearer_token=SecretStr("t0ken"))
    with pytest.raises(SourceError, match="bearer_token"):
        prometheus_address(settings)


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "tökén"])
def test_a_token_that_no_header_can_hold_is_refused(token: str) -> None:
    settings = PrometheusSettings(
        alertmanager_url=SecretStr("http://h"), alertmanager_bearer_token=SecretStr(token)
    )
    with pytest.raises(SourceError, match="alertmanager_bearer_token") as caught:
        alertmanager_address(settings)
    assert not token or token not in str(caught.value)


def test_a_file_that_holds_no_certificates_is_named(tmp_path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    settings = PrometheusSettings(url=SecretStr("https://h"), tls_ca=tmp_path / "ca.pem")
    with pytest.raises(SourceError, match="tls_ca"):
        prometheus_address(settings)


def test_no_secret_stands_in_the_settings_text() -> None:
    settings = PrometheusSettings(
        url=SecretStr(f"http://me:{SECRET}@h"),
        alertmanager_url=SecretStr(f"http://me:{SECRET}@h"),
        bearer_token=SecretStr(SECRET),
    )
    assert SECRET not in repr(settings) + settings.model_dump_json()


# --- loading ---------------------------------------------------------------------------------


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_loading_it_does_not_import_the_http_client() -> None:
    assert (
        run(
            """
            import sys, diagnosis_prometheus
            from diagnosis.plugin import PluginServices
            settings = diagnosis_prometheus.PrometheusSettings()
            diagnosis_prometheus.diagnosis_register_evidence_tools(settings, PluginServices())
            diagnosis_prometheus.diagnosis_describe_health(settings)
            print("httpx" in sys.modules)
            """
        )
        == "False"
    )


def test_a_missing_extra_is_named() -> None:
    code = """
        import importlib.machinery, sys
        class Hidden:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "httpx":
                    return None
                return importlib.machinery.PathFinder.find_spec(name, path, target)
        sys.meta_path[:] = [
            finder for finder in sys.meta_path
            if finder is not importlib.machinery.PathFinder
        ] + [Hidden()]
        import diagnosis_prometheus
        from diagnosis.plugin import PluginServices
        settings = diagnosis_prometheus.PrometheusSettings(url="http://h")
        try:
            diagnosis_prometheus.diagnosis_register_evidence_tools(settings, PluginServices())
        except ModuleNotFoundError as error:
            print(error.name)
        """
    assert run(code) == "httpx"


# --- health ----------------------------------------------------------------------------------


@pytest.mark.service("prometheus")
@pytest.mark.service("alertmanager")
async def test_health_tells_the_servers_versions(monitoring) -> None:
    settings = PrometheusSettings(
        url=SecretStr(monitoring.prometheus), alertmanager_url=SecretStr(monitoring.alertmanager)
    )
    for check in diagnosis_prometheus.diagnosis_describe_health(settings):
        health = await check.check()
        assert health.ok
        assert health.detail.split(" at ")[0].split(".")[0].isdigit()


async def test_health_tells_what_is_wrong_instead_of_raising() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    settings = PrometheusSettings(url=SecretStr(f"http://me:{SECRET}@127.0.0.1:{port}/p"))
    [check] = diagnosis_prometheus.diagnosis_describe_health(settings)
    health = await check.check()
    assert not health.ok
    assert health.detail == f"Prometheus at 127.0.0.1:{port}/p does not answer."
    assert health.mend == "Start it, or correct url of [plugins.prometheus]."
