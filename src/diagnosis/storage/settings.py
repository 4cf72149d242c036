"""The table `[storage]` of the settings. Imports no database library."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator


class StorageSettings(BaseModel):
    """Where the application keeps what outlives a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Path | None = Field(
        default=None,
        description="The embedded database; by default diagnosis.sqlite3 in the data folder.",
    )

    @field_validator("file")
    @classmethod
    def _a_path(cls, file: Path | None) -> Path | None:
        if file is not None and ":/" in str(file):
            raise ValueError("it is the path of a file, not a URL")
        return file

    @property
    def database_file(self) -> Path:
        """The file of the embedded database, whether or not it exists yet."""
        if self.file is not None:
            return self.file.expanduser()
        data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
        return Path(data).expanduser() / "diagnosis" / "diagnosis.sqlite3"
