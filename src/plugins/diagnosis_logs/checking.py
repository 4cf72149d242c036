"""Whether a configured path can be used, told to a person before anything is searched."""

from __future__ import annotations

import os
from contextlib import ExitStack

from diagnosis.plugin import SourceError
from diagnosis_logs.logfile import LogFile
from diagnosis_logs.parts import open_text
from diagnosis_logs.reading import Binary, Unreadable
from diagnosis_logs.sources import LogRoot, LogSources, files_of

# Files of a folder that are tried until one is a log.
_TRIED = 50


def check_sources(sources: LogSources) -> None:
    """See that every configured path can be used.

    Raises:
        SourceError: one is missing, unreadable, binary, or a folder without any log.
    """
    for root in sources.roots:
        check_root(root)


def check_root(root: LogRoot) -> None:
    """See that a configured path can be used.

    Raises:
        SourceError: it is missing, unreadable, binary, or a folder without any log.
    """
    if root.glob is not None:
        _check_files(root, f"The log path {root.path} matches no log file")
        return
    if not root.piped and not root.path.exists():
        raise SourceError(
            f"The log path {root.path} does not exist.",
            "Give the path of a log file, of a folder with log files, or a glob in quotes.",
        )
    if root.path.is_dir() and not root.piped:
        if not os.access(root.path, os.R_OK | os.X_OK):
            raise SourceError(
                f"The log folder {root.path} cannot be read.",
                "Give this user permission to read it, or name another folder.",
            )
        _check_files(root, f"The log folder {root.path} holds no log file")
        return
    [file], _ = files_of(root, 1)
    try:
        _try(file)
    except Binary as error:
        raise SourceError(
            f"The log file {root.path} is binary: {error}.",
            "Give a text log, plain or packed with gzip, zstd, bzip2 or xz; name its encoding "
            "where it is an unusual one.",
        ) from error
    except Unreadable as error:
        raise SourceError(
            f"The log file {root.path} cannot be read: {error}.",
            "Give a regular file that this user may read.",
        ) from error


def _check_files(root: LogRoot, problem: str) -> None:
    files, listing = files_of(root, _TRIED)
    why = [f"{name} is {reason}" for name, reason in listing.left_out]
    for file in files:
        try:
            _try(file)
        except Binary as error:
            why.append(f"{file.name}: {error}")
        except Unreadable as error:
            why.append(f"{file.name} cannot be read: {error}")
        else:
            return
    raise SourceError(
        f"{problem}{f' ({why[0]})' if why else ''}.",
        "Name a folder or a glob with text logs, plain or packed (hidden files, and links that "
        "lead out of the configured folders, do not count).",
    )


def _try(file: LogFile) -> None:
    with ExitStack() as opened:
        open_text(file, opened)
