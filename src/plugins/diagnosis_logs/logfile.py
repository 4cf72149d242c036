"""One file to search, as the configured sources mean it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from diagnosis_logs.keys import NO_NAMES, KeyNames


class Spool(Protocol):
    """What was read from a pipe, kept in a file without a name."""

    def reopened(self) -> BinaryIO:
        """The file, to be closed by the caller."""
        ...


class Listed(NamedTuple):
    """What a file was when it was listed.

    Attributes:
        identity: device and inode.
        size: in bytes.
    """

    identity: tuple[int, int]
    size: int


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file to search.

    Attributes:
        source: the name of the log it belongs to, as a request may give it; never a machine path.
        path: resolved, without links.
        service: of lines that name none.
        in_folder: whether a folder was configured, and not this very file.
        name: its own name, likewise; the same where the log is one file.
        keys: of its structured lines, to try before what their values tell.
        zone: of its times that carry none; None for the run's.
        encoding: of its text, where it is configured.
        beneath: the folder that it must not lead out of; None where it was configured itself.
        listed: what it was when it was listed, None where it was not.
        spool: what holds it, where it has no path.
    """

    source: str
    path: Path
    service: str
    in_folder: bool
    name: str = ""
    keys: KeyNames = NO_NAMES
    zone: tzinfo | None = None
    encoding: str | None = None
    beneath: Path | None = None
    listed: Listed | None = None
    spool: Spool | None = None

    def __post_init__(self) -> None:
        """A log of one file has its name."""
        if not self.name:
            object.__setattr__(self, "name", self.source)
