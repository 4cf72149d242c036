"""What SQLite says of the index's file, told in two sentences."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from diagnosis.errors import SourceError

_SPACE = "Free space there, and do the same again."
_ANEW = "Delete the folder and add its documents anew, or restore it from a backup."
# by the beginning of SQLite's name for the error
_KNOWN = (
    ("SQLITE_FULL", "there is no space left", _SPACE),
    ("SQLITE_IOERR", "its disk cannot be written or read", _SPACE),
    ("SQLITE_READONLY", "it is read-only", "Let this user write to the folder."),
    ("SQLITE_CANTOPEN", "its file cannot be opened", "Let this user write to the folder."),
    ("SQLITE_BUSY", "another process keeps it locked", "Try again when that process has ended."),
    ("SQLITE_NOTADB", "its file is no SQLite database", _ANEW),
    ("SQLITE_CORRUPT", "its file is damaged", _ANEW),
)


def index_trouble(folder: Path | None, error: sqlite3.Error) -> SourceError:
    """The error for people."""
    place = "in memory" if folder is None else f"in {folder}"
    name = getattr(error, "sqlite_errorname", None) or ""
    for beginning, problem, mend in _KNOWN:
        if name.startswith(beginning):
            return SourceError(f"The index {place} cannot be used: {problem}.", mend)
    return SourceError(f"The index {place} cannot be used: {error}.", _ANEW)


def other_format(folder: Path | None) -> SourceError:
    """The error for a folder of another version, or with another application's file."""
    return SourceError(
        f"The index in {folder} has the format of another version.",
        "Use the version that it was last used with, or name another plugins.knowledge.folder "
        "and add the documents there.",
    )
