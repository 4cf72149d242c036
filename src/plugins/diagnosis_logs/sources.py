"""The configured sources: which files they mean now, and under which names."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from diagnosis.plugin import SourceError
from diagnosis_logs.fields import service_of_file_name
from diagnosis_logs.keys import NO_NAMES, KeyNames
from diagnosis_logs.reading import Binary, Unreadable, sample_of
from diagnosis_logs.settings import LogsSettings

# Files of a folder that are certainly no log this version can read.
_OTHER_SUFFIXES = frozenset(
    {".zst", ".bz2", ".xz", ".lz4", ".zip", ".tar", ".tgz", ".7z"}
    | {".jar", ".db", ".sqlite", ".pid", ".lock", ".sock", ".png", ".pdf"}
)


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file to search.

    Attributes:
        source: its name, as a request may give it; never a machine path.
        path: resolved, without links.
        service: of lines that name none.
        in_folder: whether a folder was configured, and not this very file.
        keys: of its structured lines, to try before what their values tell.
    """

    source: str
    path: Path
    service: str
    in_folder: bool
    keys: KeyNames = NO_NAMES


@dataclass(frozen=True, slots=True)
class LogRoot:
    """One configured path under its name."""

    name: str
    path: Path


class LogSources:
    """All configured paths. Folders are listed anew for each request.

    Args:
        settings: with paths and named sources.
    """

    def __init__(self, settings: LogsSettings) -> None:
        self._limit = settings.files_limit
        keys = settings.keys
        self._keys = KeyNames(keys.time, keys.level, keys.message, keys.service)
        taken = set(settings.sources)
        roots = [LogRoot(name, path) for name, path in settings.sources.items()]
        for path in dict.fromkeys(map(_absolute, settings.paths)):
            name = _unique_name(path, taken)
            taken.add(name)
            roots.append(LogRoot(name, path))
        self.roots = tuple(sorted(roots, key=lambda root: root.name))

    def check(self) -> None:
        """See that every configured path can be used.

        Raises:
            SourceError: one is missing, unreadable, binary, or a folder without any file.
        """
        for root in self.roots:
            check_root(root)

    def files(self) -> tuple[list[LogFile], bool]:
        """The files that exist now, in order of their names, and whether these are all."""
        complete = True
        found: list[LogFile] = []
        seen: set[Path] = set()
        for root in self.roots:
            for file in _files_of(root, self._limit + 1):
                if file.path in seen:
                    continue
                seen.add(file.path)
                found.append(replace(file, keys=self._keys))
            if len(found) > self._limit:
                found, complete = found[: self._limit], False
                break
        return sorted(found, key=lambda file: file.source), complete


def named(files: list[LogFile], source: str) -> list[LogFile]:
    """The files a request's `source` names: one, all beneath a folder, or by the last part."""
    wanted = source.strip().strip("/")
    exact = [
        file for file in files if file.source == wanted or file.source.startswith(f"{wanted}/")
    ]
    return exact or [file for file in files if file.source.rsplit("/", 1)[-1] == wanted]


def _absolute(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except (OSError, RuntimeError):  # no current folder any more; no such user
        raise SourceError(
            f"The log path {path} leads nowhere: its home or the current folder does not exist.",
            "Give an absolute path.",
        ) from None


def _unique_name(path: Path, taken: set[str]) -> str:
    name = path.name or "root"
    if name in taken and path.parent.name:
        name = f"{path.parent.name}/{name}"
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}~{number}", number + 1
    return candidate


def _files_of(root: LogRoot, limit: int) -> Iterator[LogFile]:
    try:
        top = root.path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        # kept, so that the search says it could not read it
        yield LogFile(root.name, root.path, root.name, in_folder=False)
        return
    if not top.is_dir():
        yield LogFile(root.name, top, service_of_file_name(root.path.name), in_folder=False)
        return
    links: list[tuple[Path, Path]] = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() in _OTHER_SUFFIXES:
                continue
            if path.is_symlink():
                links.append((path, top))
            elif _is_regular(path):
                yield _file_in(root, top, path, path)
                limit -= 1
            if limit <= 0:
                return
    for path, _ in links:  # after the files, which are named by themselves where both exist
        try:
            target = path.resolve(strict=True)
        except (OSError, RuntimeError):
            continue
        if target.is_relative_to(top) and _is_regular(target):
            yield _file_in(root, top, path, target)


def _file_in(root: LogRoot, top: Path, path: Path, target: Path) -> LogFile:
    name = f"{root.name}/{path.relative_to(top).as_posix()}"
    # a name that is not UTF-8 must not break the JSON it is shown in
    return LogFile(
        name.encode("utf-8", "replace").decode(),
        target,
        service_of_file_name(path.name),
        in_folder=True,
    )


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def check_root(root: LogRoot) -> None:
    """See that a configured path can be used.

    Raises:
        SourceError: it is missing, unreadable, binary, or a folder without any file.
    """
    path = root.path.expanduser()
    if not path.exists():
        raise SourceError(
            f"The log path {root.path} does not exist.",
            "Give the path of a log file or of a folder with log files.",
        )
    if path.is_dir():
        if not os.access(path, os.R_OK | os.X_OK):
            raise SourceError(
                f"The log folder {root.path} cannot be read.",
                "Give this user permission to read it, or name another folder.",
            )
        if next(_files_of(root, 1), None) is None:
            raise SourceError(
                f"The log folder {root.path} holds no log file.",
                "Name a folder with plain or .gz log files (links that lead out of it and hidden "
                "files do not count).",
            )
        return
    try:
        sample_of(path.resolve())
    except Binary as error:
        raise SourceError(
            f"The log file {root.path} is binary: {error}.",
            "Give a text log in UTF-8, plain or .gz; unpack or convert it first.",
        ) from error
    except (Unreadable, OSError, RuntimeError) as error:
        raise SourceError(
            f"The log file {root.path} cannot be read: {error}.",
            "Give a regular plain or .gz file that this user may read.",
        ) from error
