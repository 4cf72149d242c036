"""The configured sources: which files they mean now, and under which names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from diagnosis.plugin import SourceError
from diagnosis_logs.keys import NO_NAMES, KeyNames
from diagnosis_logs.listing import Entry, Glob, Listing, glob_of, list_folder
from diagnosis_logs.logfile import LogFile
from diagnosis_logs.rotation import rotated, unpacked_name
from diagnosis_logs.services import service_of_path
from diagnosis_logs.settings import KeySettings, LogsSettings, SourceSettings
from diagnosis_logs.standard_input import standard_input

_STANDARD_INPUT = Path("-")


@dataclass(frozen=True, slots=True)
class LogRoot:
    """One configured path under its name.

    Attributes:
        name: of its source, or of the folder that its sources are beneath.
        path: as it was configured, absolute; `-` for standard input.
        glob: what it means where it has wildcards.
        service: of lines that name none; None for what the path tells.
        keys, zone, encoding: of its files, where configured.
    """

    name: str
    path: Path
    glob: Glob | None = None
    service: str | None = None
    keys: KeyNames = NO_NAMES
    zone: tzinfo | None = None
    encoding: str | None = None

    @property
    def piped(self) -> bool:
        """Whether it is standard input."""
        return self.path == _STANDARD_INPUT

    def top(self) -> Path:
        """The file or folder it means, without links.

        Raises:
            OSError, RuntimeError: there is none; links lead in a circle.
        """
        path = self.path if self.glob is None else self.glob.base
        return path.resolve(strict=True)


class Files(NamedTuple):
    """The files that exist now.

    Attributes:
        files: in order of their sources; those of one source the oldest first.
        complete: whether these are all.
        left_out: what else there is, and why it is not searched.
    """

    files: list[LogFile]
    complete: bool
    left_out: list[tuple[str, str]]


class LogSources:
    """All configured paths. Folders are listed anew for each request.

    Args:
        settings: with paths and named sources.

    Raises:
        SourceError: a path leads nowhere.
    """

    def __init__(self, settings: LogsSettings) -> None:
        self._limit = settings.files_limit
        shared = _names(settings.keys)
        taken = set(settings.sources)
        roots = [
            _root(name, source, shared if source.keys == KeySettings() else _names(source.keys))
            for name, source in settings.sources.items()
        ]
        for path in dict.fromkeys(map(_absolute, settings.paths)):
            glob = glob_of(path)
            name = _unique_name(path if glob is None else glob.base, taken)
            taken.add(name)
            roots.append(LogRoot(name, path, _checked(glob, path), keys=shared))
        self.roots = tuple(sorted(roots, key=lambda root: root.name))

    def files(self) -> Files:
        """The files that exist now."""
        complete = True
        found: list[LogFile] = []
        left_out: list[tuple[str, str]] = []
        seen: set[Path] = set()
        allowed = tuple(_folders(self.roots))
        for root in self.roots:
            files, listing = files_of(root, self._limit, allowed)
            left_out += ((f"{root.name}/{name}".rstrip("/"), why) for name, why in listing.left_out)
            complete = complete and listing.complete
            found += (file for file in files if file.path not in seen)
            seen.update(file.path for file in files)
            if len(found) > self._limit:
                complete = False
                break
        if not complete:
            left_out.append((f"files beyond {self._limit:,}", "files_limit"))
        return Files(found[: self._limit], complete, left_out)

    def members(self, source: str) -> list[LogFile]:
        """The files of one source, as they are now."""
        return [file for file in self.files().files if file.source == source]


def named(files: list[LogFile], source: str) -> list[LogFile]:
    """The files a request's `source` names: one, all beneath a folder, or by the last part."""
    wanted = source.strip().strip("/")
    exact = [
        file
        for file in files
        if wanted in (file.source, file.name) or file.source.startswith(f"{wanted}/")
    ]
    return exact or [
        file
        for file in files
        if wanted in (file.source.rsplit("/", 1)[-1], file.name.rsplit("/", 1)[-1])
    ]


def files_of(
    root: LogRoot, limit: int, allowed: tuple[Path, ...] = ()
) -> tuple[list[LogFile], Listing]:
    """The files of one configured path, and what else is in it.

    Args:
        root: the path.
        limit: most files.
        allowed: further folders that links in it may lead to.
    """
    of_all = LogFile(
        root.name,
        root.path,
        root.service or root.name,
        in_folder=False,
        keys=root.keys,
        zone=root.zone,
        encoding=root.encoding,
    )
    if root.piped:
        return [replace(of_all, spool=standard_input())], Listing()
    try:
        top = root.top()
    except (OSError, RuntimeError):
        # kept, so that the search says it could not read it
        return [of_all], Listing()
    if root.glob is None and not top.is_dir():
        service = root.service or service_of_path(root.path)
        return [replace(of_all, path=top, service=service)], Listing()
    listing = list_folder(top, (top, *allowed), limit, root.glob)
    files: list[LogFile] = []
    for _, group in groupby(
        sorted(listing.entries, key=lambda entry: entry.names[:-1]),
        key=lambda entry: entry.names[:-1],
    ):
        files += _sets(root, top, of_all, list(group))
    return sorted(files, key=lambda file: file.source), listing


def _sets(root: LogRoot, top: Path, of_all: LogFile, entries: list[Entry]) -> list[LogFile]:
    """The files of one folder; those of a rotated set have one source, the oldest come first."""
    others = {unpacked_name(entry.names[-1]) for entry in entries}
    known = [(rotated(entry.names[-1], others), entry) for entry in entries]
    known.sort(key=lambda each: (each[0].order, each[1].names))
    files = []
    for name, entry in known:
        folder = entry.names[:-1]
        path = top.joinpath(*folder, name.base)
        files.append(
            replace(
                of_all,
                source=_shown((root.name, *folder, name.base)),
                name=_shown((root.name, *entry.names)),
                path=entry.target,
                service=root.service or service_of_path(path),
                in_folder=True,
                beneath=entry.beneath,
                listed=entry.listed,
            )
        )
    return files


def _shown(names: Iterable[str]) -> str:
    # a name that is not UTF-8 must not break the JSON it is shown in
    return "/".join(names).encode("utf-8", "replace").decode()


def _folders(roots: Iterable[LogRoot]) -> Iterable[Path]:
    for root in roots:
        try:
            if not root.piped and (top := root.top()).is_dir():
                yield top
        except (OSError, RuntimeError):
            continue


def _root(name: str, source: SourceSettings, keys: KeyNames) -> LogRoot:
    path = _absolute(source.path)
    zone = None if source.zone is None else ZoneInfo(source.zone)
    glob = _checked(glob_of(path), path)
    return LogRoot(name, path, glob, source.service, keys, zone, source.encoding)


def _names(keys: KeySettings) -> KeyNames:
    return KeyNames(keys.time, keys.level, keys.message, keys.service)


def _checked(glob: Glob | None, path: Path) -> Glob | None:
    if glob is not None and ".." in glob.names:
        raise SourceError(
            f"The log path {path} goes up behind a wildcard.",
            "Write the folder without `..`.",
        )
    return glob


def _absolute(path: Path) -> Path:
    if path == _STANDARD_INPUT:
        return path
    try:
        # `..` by its name only: what is above a link is told when it is resolved
        return path.expanduser().absolute()
    except (OSError, RuntimeError):  # no current folder any more; no such user
        raise SourceError(
            f"The log path {path} leads nowhere: its home or the current folder does not exist.",
            "Give an absolute path.",
        ) from None


def _unique_name(path: Path, taken: set[str]) -> str:
    name = "stdin" if path == _STANDARD_INPUT else path.name or "root"
    if name in taken and path.parent.name:
        name = f"{path.parent.name}/{name}"
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}~{number}", number + 1
    return os.fsencode(candidate).decode("utf-8", "replace")
