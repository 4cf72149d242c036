"""Flags that several commands share, and the settings they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diagnosis.errors import ConfigurationError

if TYPE_CHECKING:
    from diagnosis.settings import Settings


def path(given: str) -> Path:
    """An empty variable in a shell script must not mean the working directory."""
    if not given.strip():
        raise typer.BadParameter("the path is empty.")
    return Path(given)


def text(given: str) -> str:
    """UTF-8 from a shell whose locale is not (LC_ALL=C); what is none stays, to be refused."""
    try:
        return given.encode("utf-8", "surrogateescape").decode()
    except UnicodeError:
        return given


Logs = Annotated[
    list[Path] | None,
    typer.Option(
        "--logs",
        metavar="PATH",
        parser=path,
        help="A log file, a folder, a glob in quotes, or - (stdin); may be repeated.",
    ),
]
Knowledge = Annotated[
    list[Path] | None,
    typer.Option(
        "--knowledge",
        metavar="PATH",
        parser=path,
        help="Runbooks, a file or folder; may be repeated.",
    ),
]
Mysql = Annotated[
    str | None,
    typer.Option(
        "--mysql", metavar="URL", help="mysql://user:password@host:3306/database; read only."
    ),
]
Postgresql = Annotated[
    str | None,
    typer.Option(
        "--postgresql",
        metavar="URL",
        help="postgresql://user:password@host:5432/database; read only.",
    ),
]
Prometheus = Annotated[
    str | None,
    typer.Option(
        "--prometheus", metavar="URL", help="http://host:9090, with its path prefix; metrics."
    ),
]
Alertmanager = Annotated[
    str | None,
    typer.Option(
        "--alertmanager", metavar="URL", help="http://host:9093, with its path prefix; alerts."
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="`offline` (rules) or PROVIDER:MODEL."),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIME", help="What `now` means: ISO 8601, HH:MM, or `last` of the logs."
    ),
]
Zone = Annotated[
    str | None,
    typer.Option("--zone", metavar="ZONE", help="IANA zone of times that carry none."),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", parser=path, help="Settings; by default ./diagnosis.toml."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@dataclass(frozen=True, slots=True)
class SourceFlags:
    """Where evidence comes from, as flags say it."""

    logs: list[Path] | None = None
    knowledge: list[Path] | None = None
    mysql: str | None = None
    postgresql: str | None = None
    prometheus: str | None = None
    alertmanager: str | None = None
    zone: str | None = None
    model: str | None = None

    def overrides(self) -> dict[str, Any]:
        """The flags as settings that win over file and environment."""
        plugins: dict[str, Any] = {}
        if self.logs:
            plugins["logs"] = {"paths": [str(each) for each in self.logs]}
        if self.knowledge:
            plugins["knowledge"] = {"paths": [str(each) for each in self.knowledge]}
        if self.mysql is not None:
            plugins["mysql"] = {"url": self.mysql}
        if self.postgresql is not None:
            plugins["postgresql"] = {"url": self.postgresql}
        monitoring = {"url": self.prometheus, "alertmanager_url": self.alertmanager}
        if given_urls := {name: url for name, url in monitoring.items() if url is not None}:
            plugins["prometheus"] = given_urls
        given: dict[str, Any] = {"plugins": plugins} if plugins else {}
        if self.zone is not None:
            given["zone"] = self.zone
        if self.model is not None:
            given["model"] = {"name": self.model}
        return given


def settings_from(config: Path | None, flags: SourceFlags) -> Settings:
    """File, environment and flags together; variables that are ignored are told on stderr.

    Raises:
        ConfigurationError: one of them is invalid.
    """
    from diagnosis.settings import ignored_variables, load_settings, zone_named

    if flags.zone is not None:
        try:
            zone_named(flags.zone)
        except ValueError:
            raise ConfigurationError(
                f"--zone {flags.zone!r} is no IANA time zone.",
                "Write it like Europe/Berlin, Asia/Shanghai or UTC.",
            ) from None
    settings = load_settings(config, flags.overrides())
    if ignored := ignored_variables():
        typer.echo(
            f"Warning: no setting is called {' or '.join(ignored)}; it is ignored.",
            err=True,
        )
    return settings
