"""Flags that several commands share, and the settings they stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from diagnosis.settings import Settings

Logs = Annotated[
    list[Path] | None,
    typer.Option("--logs", metavar="PATH", help="A log file or folder; may be repeated."),
]
Knowledge = Annotated[
    list[Path] | None,
    typer.Option("--knowledge", metavar="PATH", help="Runbooks (file or folder); may be repeated."),
]
Mysql = Annotated[
    str | None,
    typer.Option(
        "--mysql", metavar="URL", help="mysql://user:password@host:3306/database; read only."
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="`offline` (rules) or PROVIDER:MODEL."),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIME", help="What `now` means: ISO 8601, or `last` time of the logs."
    ),
]
Zone = Annotated[
    str | None,
    typer.Option("--zone", metavar="ZONE", help="IANA zone of times that carry none."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings; by default ./diagnosis.toml."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@dataclass(frozen=True, slots=True)
class SourceFlags:
    """Where evidence comes from, as flags say it."""

    logs: list[Path] = field(default_factory=list)
    knowledge: list[Path] = field(default_factory=list)
    mysql: str | None = None
    zone: str | None = None
    model: str | None = None

    def overrides(self) -> dict[str, Any]:
        """The flags as settings that win over file and environment."""
        plugins: dict[str, Any] = {}
        if self.logs:
            plugins["logs"] = {"paths": [str(path) for path in self.logs]}
        if self.knowledge:
            plugins["knowledge"] = {"paths": [str(path) for path in self.knowledge]}
        if self.mysql:
            plugins["mysql"] = {"url": self.mysql}
        given: dict[str, Any] = {"plugins": plugins} if plugins else {}
        if self.zone:
            given["zone"] = self.zone
        if self.model:
            given["model"] = {"name": self.model}
        return given


def settings_from(config: Path | None, flags: SourceFlags) -> Settings:
    """File, environment and flags together.

    Raises:
        ConfigurationError: one of them is invalid.
    """
    from diagnosis.settings import load_settings

    return load_settings(config, flags.overrides())
