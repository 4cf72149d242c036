"""What every test runs under: no developer's settings or keys, no model requests, real servers.

A test that needs a server is marked `@pytest.mark.service("mysql")` and reads its address from the
fixture `mysql_url`. Where no server answers it is skipped with the reason; with
DIAGNOSIS_REQUIRE_SERVICES=1, which continuous integration sets, it fails. `compose.yaml` starts the
servers.
"""

from __future__ import annotations

import functools
import os
import socket
import sys
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


def pytest_configure() -> None:
    for name in list(os.environ):
        foreign = name.startswith(FOREIGN_PREFIXES) and not name.startswith(KEPT_PREFIXES)
        if foreign or name in FOREIGN_NAMES:
            del os.environ[name]


def pytest_collection_finish() -> None:
    # Looked up, not imported: the import costs a second that most runs need not spend.
    models: Any = sys.modules.get("pydantic_ai.models")
    if models:
        models.ALLOW_MODEL_REQUESTS = False


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("service"):
        (name,) = mark.args
        if problem := unanswered(SERVICES[name].url):
            reason = f"{name}: {problem}; set {SERVICES[name].variable} or start compose.yaml"
            (pytest.fail if os.environ.get(REQUIRE_SERVICES) == "1" else pytest.skip)(reason)


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


@pytest.fixture(scope="session")
def mysql_url() -> str:
    """URL of a MySQL or MariaDB server on which the tests may create databases and users."""
    return SERVICES["mysql"].url


@pytest.fixture(scope="session")
def postgresql_url() -> str:
    """URL of a PostgreSQL server on which the tests may create databases and roles."""
    return SERVICES["postgresql"].url


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real logs and runbooks beside some checkouts; elsewhere the test is skipped."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real logs and runbooks are not beside this checkout")
    return SHARED_DATA
