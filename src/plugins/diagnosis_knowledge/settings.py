"""Settings of the plugin: `[plugins.knowledge]`, and what `--knowledge PATH` gives."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from diagnosis_knowledge.relevance import FLOOR


class KnowledgeSettings(BaseModel):
    """Where the knowledge is.

    Attributes:
        folder: where the index lives; by default the user's data directory.
        paths: documents for this use only. They are indexed in memory, nothing is written, and
            they are searched instead of `folder`.
        timeout_s: seconds a lookup may take, the indexing of `paths` included.
        relevance_floor: what a passage must reach to be shown; 1 is as similar as unrelated texts
            ever come. Raise it to see fewer strangers, lower it to miss less.
        chroma_url: a Chroma server for the vectors, instead of the folder. Several processes then
            use one folder at a time.
        collection: the name of the vectors on that server; each folder has one of its own.
        mend_unconfigured: how to give it documents, told where it has none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mend_unconfigured: ClassVar[str] = (
        "Fill the knowledge base with `diagnosis knowledge add PATH`, or give --knowledge PATH."
    )

    folder: Path | None = None
    paths: tuple[Path, ...] = ()
    timeout_s: float = Field(default=30, gt=0, allow_inf_nan=False)
    relevance_floor: float = Field(default=FLOOR, ge=0, le=10)

    chroma_url: str | None = None
    collection: str = Field(
        default="diagnosis-knowledge", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{1,60}[A-Za-z0-9]$"
    )

    @field_validator("chroma_url")
    @classmethod
    def _http(cls, url: str | None) -> str | None:
        if url is not None and not re.match(r"https?://[^/\s]+", url):
            raise ValueError("chroma_url is no http or https address, like http://127.0.0.1:8000")
        return url

    @property
    def index_folder(self) -> Path:
        """The folder of the index, whether or not it exists yet."""
        if self.folder is not None:
            return self.folder.expanduser()
        data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
        return Path(data).expanduser() / "diagnosis" / "knowledge"

    @property
    def has_index(self) -> bool:
        """Whether something was ever added to the folder."""
        return (self.index_folder / REGISTRY_NAME).is_file()


REGISTRY_NAME = "registry.sqlite3"
VECTORS_NAME = "chroma"
LOCK_NAME = "lock"
