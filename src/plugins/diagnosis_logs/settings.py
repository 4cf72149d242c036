"""The settings of the log plugin, `[plugins.logs]`, and the zone of times that carry none."""

from __future__ import annotations

import re
from datetime import tzinfo
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from diagnosis_logs.encodings import EncodingName

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


class SourceSettings(BaseModel):
    """A named source; a path alone may stand for it.

    Attributes:
        path: a file, a folder (searched recursively) or a glob.
        service: of lines that name none; by default what the path tells.
        zone: IANA name of the zone of its times that carry none; by default that of all logs.
        encoding: of its text; by default what the bytes tell.
        keys: of its structured lines, in place of those of all logs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    service: str | None = Field(default=None, min_length=1, max_length=128)
    zone: str | None = None
    encoding: EncodingName | None = None
    keys: KeySettings = KeySettings()

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, given: Any) -> Any:
        return {"path": given} if isinstance(given, str | Path) else given

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, zone: str | None) -> str | None:
        return _checked_zone(zone)


class LogsSettings(BaseModel):
    """Where the logs are.

    Attributes:
        paths: files, folders (searched recursively) and globs; `--logs PATH` fills it, `-` is
            standard input. Sources are named after the files.
        sources: named sources, each a file, a folder or a glob, or a table with it.
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
    sources: dict[str, SourceSettings] = Field(default_factory=dict)
    keys: KeySettings = KeySettings()
    zone: str | None = None
    window_minutes: int = Field(default=30, gt=0, le=525_600)
    files_limit: int = Field(default=2_000, gt=0)

    @field_validator("sources")
    @classmethod
    def _plain_names(cls, sources: dict[str, SourceSettings]) -> dict[str, SourceSettings]:
        for name in sources:
            if not _SOURCE_NAME.fullmatch(name):
                raise ValueError(
                    f"the source name {name!r} must be 1 to 64 letters, digits or . _ @ + -"
                )
        return sources

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, zone: str | None) -> str | None:
        return _checked_zone(zone)

    def zone_or(self, default: tzinfo) -> tzinfo:
        """The configured zone of the logs, or `default`."""
        return default if self.zone is None else _zone(self.zone)


def _checked_zone(zone: str | None) -> str | None:
    if zone is not None:
        _zone(zone)
    return zone


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is not an IANA time zone such as Europe/Berlin") from error
