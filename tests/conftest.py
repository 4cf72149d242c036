"""What every test runs under: no developer's settings or keys, no model requests, real servers.

A test that needs a server is marked `@pytest.mark.service("mysql")` and reads its address from the
fixture `mysql_url`. Where no server answers it is skipped with the reason; with
DIAGNOSIS_REQUIRE_SERVICES=1, which continuous integration sets, it fails. `compose.yaml` starts the
servers. A server with data of the tests' own is started by them: its mark then asks for its
programs, which are looked for on PATH and where `.ci/run` unpacks them.
"""

from __future__ import annotations

import functools
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
REQUIRE_SERVICES = "DIAGNOSIS_REQUIRE_SERVICES"
# Settings and keys of the developer's shell, and what makes a child process colour its output.
FOREIGN_PREFIXES = ("DIAGNOSIS_", "OPENAI_", "ANTHROPIC_", "LOGFIRE_", "OTEL_")
FOREIGN_NAMES = ("FORCE_COLOR",)
KEPT_PREFIXES = ("DIAGNOSIS_TEST_", REQUIRE_SERVICES)


@dataclass(frozen=True)
class Service:
    """A server that tests talk to; its URL stands in `variable` or is the default."""

    variable: str
    default: str

    @property
    def url(self) -> str:
        return os.environ.get(self.variable, self.default)


SERVICES = {
    "mysql": Service("DIAGNOSIS_TEST_MYSQL_URL", "mysql://root@127.0.0.1:3306/test"),
    "postgresql": Service(
        "DIAGNOSIS_TEST_POSTGRESQL_URL", "postgresql://postgres@127.0.0.1:5432/test"
    ),
}
UNPACKED = ROOT / ".cache/prometheus/usr/bin"
# Each program with the names it goes by; Debian calls the second one by the first name.
PROGRAMS = {
    "prometheus": (("prometheus",), ("promtool",)),
    "alertmanager": (("prometheus-alertmanager", "alertmanager"),),
}


def pytest_configure() -> None:
    for name in list(os.environ):
        foreign = name.startswith(FOREIGN_PREFIXES) and not name.startswith(KEPT_PREFIXES)
        if foreign or name in FOREIGN_NAMES:
            del os.environ[name]
    os.environ["XDG_DATA_HOME"] = str(Path(tempfile.gettempdir()) / "no-data" / str(os.getpid()))


def pytest_collection_finish() -> None:
    # Looked up, not imported: the import costs a second that most runs need not spend.
    models: Any = sys.modules.get("pydantic_ai.models")
    if models:
        models.ALLOW_MODEL_REQUESTS = False


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("service"):
        (name,) = mark.args
        if reason := missing_program(name) if name in PROGRAMS else missing_server(name):
            (pytest.fail if os.environ.get(REQUIRE_SERVICES) == "1" else pytest.skip)(reason)


def missing_server(name: str) -> str | None:
    """Return why a server of compose.yaml cannot be used, or None if it can."""
    if problem := unanswered(SERVICES[name].url):
        return f"{name}: {problem}; set {SERVICES[name].variable} or start compose.yaml"
    return None


def missing_program(name: str) -> str | None:
    """Return what is missing of a server that the tests start, or None if nothing is."""
    for names in PROGRAMS[name]:
        if program(*names) is None:
            return f"{name}: no program {names[0]} on PATH or in {UNPACKED}; .ci/run fetches it"
    return None


def program(*names: str) -> str | None:
    """Return the path of the first of these programs that there is."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), str(UNPACKED)))
    return next(filter(None, (shutil.which(name, path=path) for name in names)), None)


@functools.cache
def unanswered(url: str) -> str | None:
    """Return why nothing answers at a URL's host and port, or None if something does."""
    address = urlsplit(url)
    try:
        socket.create_connection((address.hostname, address.port), timeout=2).close()
    except OSError as error:
        # Never the URL: it may hold a password.
        return f"nothing answers at {address.hostname}:{address.port} ({error})"
    return None


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Knowledge and records in the default place are the test's own, and gone with it."""
    folder = tmp_path_factory.getbasetemp() / "data-home"
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    yield
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def mysql_url() -> str:
    """URL of a MySQL or MariaDB server on which the tests may create databases and users."""
    return SERVICES["mysql"].url


@pytest.fixture(scope="session")
def postgresql_url() -> str:
    """URL of a PostgreSQL server on which the tests may create databases and roles."""
    return SERVICES["postgresql"].url


@pytest.fixture(scope="session")
def find_program() -> Callable[..., str]:
    """Finds a program by its names; the mark has looked for it already."""

    def find(*names: str) -> str:
        found = program(*names)
        if found is None:
            pytest.fail(f"no program {names[0]}: mark the test with the service that needs it")
        return found

    return find


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real logs and runbooks beside some checkouts; elsewhere the test is skipped."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real logs and runbooks are not beside this checkout")
    return SHARED_DATA
