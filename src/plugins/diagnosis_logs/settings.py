"""The settings of the log plugin, `[plugins.logs]`, and the zone of times that carry none."""

from __future__ import annotations

import re
from datetime import tzinfo
from pathlib import Path
from typing import ClassVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator

_SOURCE_NAME = re.compile(r"[\w.@+-]{1,64}")


class KeySettings(BaseModel):
    """Keys of JSON and logfmt lines to try before what their values tell; `outer.inner` nested.

    Attributes:
        time, level, message, service: names, the first that a file has counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    time: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    message: tuple[str, ...] = ()
    service: tuple[str, ...] = ()


class LogsSettings(BaseModel):
    """Where the logs are.

    Attributes:
        paths: files and folders (searched recursively); `--logs PATH` fills it. Sources are named
            after the files.
        sources: named sources, each a file or a folder.
        keys: which keys of structured lines say what, where the files' values do not tell.
        zone: IANA name of the zone of log times that carry none; by default the run's zone.
        window_minutes: length of the window of a request that names no start.
        files_limit: most files to search; where there are more, results say so (SCAN).
        mend_unconfigured: how to give it a source, told where it has none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mend_unconfigured: ClassVar[str] = (
        'Give --logs PATH, or set paths = ["PATH"] under [plugins.logs].'
    )

    paths: tuple[Path, ...] = ()
    sources: dict[str, Path] = Field(default_factory=dict)
    keys: KeySettings = KeySettings()
    zone: str | None = None
    window_minutes: int = Field(default=30, gt=0, le=525_600)
    files_limit: int = Field(default=2_000, gt=0)

    @field_validator("sources")
    @classmethod
    def _plain_names(cls, sources: dict[str, Path]) -> dict[str, Path]:
        for name in sources:
            if not _SOURCE_NAME.fullmatch(name):
                raise ValueError(
                    f"the source name {name!r} must be 1 to 64 letters, digits or . _ @ + -"
                )
        return sources

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, zone: str | None) -> str | None:
        if zone is not None:
            _zone(zone)
        return zone

    def zone_or(self, default: tzinfo) -> tzinfo:
        """The configured zone of the logs, or `default`."""
        return default if self.zone is None else _zone(self.zone)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is not an IANA time zone such as Europe/Berlin") from error
