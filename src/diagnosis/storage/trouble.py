"""What the database library raises, told in two sentences."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from diagnosis.errors import SourceError

_ELSEWHERE = "or set storage.file to another place"
_WRITABLE = f"Make it a file that this user may write to, {_ELSEWHERE}."
_SPACE = f"Free space there, {_ELSEWHERE}."
_MOVE = (
    f"Restore it, move it away so that a new one is made, {_ELSEWHERE}; documents that are "
    "indexed are entered anew from their folder."
)
# by the beginning of SQLite's name for the error; the first that fits
_KNOWN = (
    ("SQLITE_FULL", "there is no space left", _SPACE),
    ("SQLITE_IOERR", "its disk cannot be written or read", _SPACE),
    ("SQLITE_READONLY", "it is read-only", _WRITABLE),
    ("SQLITE_CANTOPEN", "it cannot be opened", _WRITABLE),
    ("SQLITE_PERM", "it cannot be opened", _WRITABLE),
    ("SQLITE_BUSY", "another process keeps it locked", "Try again when that process has ended."),
    ("SQLITE_NOTADB", "it is no SQLite database", _MOVE),
    ("SQLITE_CORRUPT", "it is damaged", _MOVE),
)


def database_trouble(file: Path, error: BaseException) -> SourceError:
    """The error for people; what the library wrote about statements and values stays out."""
    while not isinstance(error, sqlite3.Error | OSError):
        inner = getattr(error, "orig", None) or error.__cause__
        if inner is None or inner is error:
            break
        error = inner
    if isinstance(error, OSError):
        return SourceError(f"The database {file} cannot be used: {error.strerror}.", _WRITABLE)
    name = getattr(error, "sqlite_errorname", None) or ""
    for beginning, problem, mend in _KNOWN:
        if name.startswith(beginning):
            return SourceError(f"The database {file} cannot be used: {problem}.", mend)
    told = str(error) if isinstance(error, sqlite3.Error) else "it holds a value that is not known"
    return SourceError(f"The database {file} cannot be used: {told}.", _MOVE)
