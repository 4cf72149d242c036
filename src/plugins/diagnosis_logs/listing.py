"""What a folder or a glob brings: regular files beneath it, in bounded time."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from diagnosis_logs.logfile import Listed

# Entries that are looked at for one configured path.
LISTED_ENTRIES = 50_000
_ATTEMPTS = 3
_MOST_NAMED = 100
_WILD = frozenset("*?[")
# Files that stand in folders of logs and certainly are none.
_OTHER_SUFFIXES = frozenset({".pid", ".lock", ".sock", ".jar", ".db", ".sqlite", ".png", ".pdf"})


@dataclass(frozen=True, slots=True)
class Glob:
    """A path with wildcards: `*`, `?`, `[...]` within a name, `**` for any folders.

    Attributes:
        base: the folder before the first wildcard.
        names: what comes after it.
    """

    base: Path
    names: tuple[str, ...]

    def may_hold(self, folders: tuple[str, ...]) -> bool:
        """Whether something in a folder beneath the base may match."""
        for name, wanted in zip(folders, self.names, strict=False):
            if wanted == "**":
                return True
            if not fnmatchcase(name, wanted):
                return False
        return True

    def matches(self, names: tuple[str, ...]) -> bool:
        """Whether a file beneath the base matches, or a folder that it is in."""
        return _matches(self.names, names)


def glob_of(path: Path) -> Glob | None:
    """The glob that a path means; None for one without wildcards, or that exists as it is written.

    Args:
        path: absolute.
    """
    parts = path.parts
    first = next((at for at, part in enumerate(parts) if _WILD & set(part)), None)
    if first is None or os.path.lexists(path):
        return None
    return Glob(Path(*parts[:first]), parts[first:])


def _matches(wanted: tuple[str, ...], names: tuple[str, ...]) -> bool:
    if not wanted:
        return True
    if wanted[0] == "**":
        return any(_matches(wanted[1:], names[skipped:]) for skipped in range(len(names)))
    return bool(names) and fnmatchcase(names[0], wanted[0]) and _matches(wanted[1:], names[1:])


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that was found.

    Attributes:
        names: the folders between the top and the file, and the file's name.
        target: the file, without links.
        beneath: the folder among the allowed ones that holds it.
        listed: what it is now.
    """

    names: tuple[str, ...]
    target: Path
    beneath: Path
    listed: Listed


@dataclass(slots=True)
class Listing:
    """What a folder brings.

    Attributes:
        entries: the files.
        complete: whether all of the folder was looked at.
        left_out: what is no regular file beneath an allowed folder, and why; by name.
    """

    entries: list[Entry] = field(default_factory=list)
    complete: bool = True
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def leave_out(self, names: tuple[str, ...], why: str) -> None:
        """Note what is passed over, as long as few are."""
        if len(self.left_out) < _MOST_NAMED:
            self.left_out.append(("/".join(names), why))


def list_folder(top: Path, allowed: tuple[Path, ...], limit: int, glob: Glob | None) -> Listing:
    """List the files of a folder and of those beneath it, in order of their names.

    Hidden names are passed over. Links to files are followed where they lead beneath an allowed
    folder; links to folders never are.

    Args:
        top: the folder, without links.
        allowed: `top`, and the other folders that links may lead to; without links.
        limit: most files.
        glob: which files; its base is `top`.
    """
    listing = Listing()
    links: list[tuple[str, ...]] = []
    for names, status in _walk(top, listing, glob):
        if Path(names[-1]).suffix.lower() in _OTHER_SUFFIXES:
            continue
        if glob is not None and not glob.matches(names):
            continue
        if len(listing.entries) >= limit:
            listing.complete = False
            return listing
        if stat.S_ISLNK(status.st_mode):
            links.append(names)
        elif stat.S_ISREG(status.st_mode):
            path = top.joinpath(*names)
            listing.entries.append(Entry(names, path, top, _listed(status)))
        else:
            listing.leave_out(names, "not a regular file")
    known = {entry.target for entry in listing.entries}
    for names in links:
        _follow(names, top, allowed, known, listing)
    return listing


def _walk(
    top: Path, listing: Listing, glob: Glob | None
) -> Iterator[tuple[tuple[str, ...], os.stat_result]]:
    left = LISTED_ENTRIES
    folders: list[tuple[str, ...]] = [()]
    while folders:
        folder = folders.pop()
        try:
            entries = _entries(top.joinpath(*folder), left)
        except OSError as error:
            if folder:
                listing.leave_out(folder, f"cannot be read: {error.strerror}")
            continue
        if len(entries) > left:
            listing.complete = False
            listing.leave_out(folder, f"more than {LISTED_ENTRIES:,} entries")
        inner = []
        for entry in entries[:left]:
            if entry.name.startswith("."):
                continue
            names = (*folder, entry.name)
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:  # it is gone
                continue
            if not stat.S_ISDIR(status.st_mode):
                yield names, status
            elif glob is None or glob.may_hold(names):
                inner.append(names)
        left -= len(entries)
        if left <= 0:
            listing.complete = listing.complete and not (inner or folders)
            return
        folders += reversed(inner)


def _entries(folder: Path, most: int) -> list[os.DirEntry[str]]:
    """The entries of a folder, one more than `most` where there are more, in order.

    A listing in which a file was renamed meanwhile may miss it: it is made again.
    """
    entries: list[os.DirEntry[str]] = []
    for _ in range(_ATTEMPTS):
        before = folder.stat().st_mtime_ns
        with os.scandir(folder) as found:
            entries = sorted(islice(found, most + 1), key=lambda entry: entry.name)
        if folder.stat().st_mtime_ns == before:
            break
    return entries


def _follow(
    names: tuple[str, ...],
    top: Path,
    allowed: tuple[Path, ...],
    known: set[Path],
    listing: Listing,
) -> None:
    try:
        target = top.joinpath(*names).resolve(strict=True)
        status = target.lstat()
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        listing.leave_out(names, "a link that leads nowhere")
        return
    beneath = next((folder for folder in allowed if target.is_relative_to(folder)), None)
    if beneath is None:
        listing.leave_out(names, "a link that leads out of the folder")
    elif stat.S_ISREG(status.st_mode) and target not in known:
        known.add(target)
        listing.entries.append(Entry(names, target, beneath, _listed(status)))


def _listed(status: os.stat_result) -> Listed:
    return Listed((status.st_dev, status.st_ino), status.st_size)
