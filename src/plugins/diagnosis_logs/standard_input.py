"""What a pipe hands over, kept in a file without a name: it is gone with the process."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from typing import BinaryIO

from diagnosis.plugin import SourceError
from diagnosis_logs.opening import LogText
from diagnosis_logs.reading import Unreadable

SPOOLED_BYTES = 1 << 30
_BLOCK_BYTES = 1 << 20


class PipeSpool:
    """A log that was read from a pipe.

    Args:
        pipe: read until its end, or SPOOLED_BYTES.

    Attributes:
        cut: whether more came.
    """

    def __init__(self, pipe: BinaryIO) -> None:
        # without a name from the beginning: however the process ends, nothing stays
        self._file = tempfile.TemporaryFile(prefix="diagnosis-")  # noqa: SIM115 - kept
        self.cut = False
        size = 0
        while block := pipe.read(_BLOCK_BYTES):
            kept = block[: SPOOLED_BYTES - size]
            self._file.write(kept)
            size += len(kept)
            if len(kept) < len(block):
                self.cut = True
                break
        self._file.flush()
        self.size = size

    def reopened(self) -> BinaryIO:
        """The file once more, to be closed by the caller."""
        return os.fdopen(os.dup(self._file.fileno()), "rb", buffering=0)


@cache
def standard_input() -> PipeSpool:
    """Read standard input to its end, once in a process.

    Raises:
        SourceError: it is a terminal, empty, or no text.
    """
    pipe = sys.stdin
    if pipe is None or pipe.closed or pipe.isatty():
        raise SourceError(
            "--logs - reads standard input, and nothing is piped into it.",
            "Pipe a log into the command, or give the path of a file.",
        )
    try:
        spool = PipeSpool(pipe.buffer)
    except OSError as error:
        raise SourceError(
            f"Standard input cannot be kept in {tempfile.gettempdir()}: {error.strerror}.",
            "Make room there, or set TMPDIR to a folder with room.",
        ) from error
    if not spool.size:
        raise SourceError(
            "The log on standard input is empty.",
            "See that the command before the pipe writes the log to its standard output.",
        )
    try:
        with spool.reopened() as file:
            LogText(file)
    except Unreadable as error:
        raise SourceError(
            f"The log on standard input is no text: {error}.",
            "Pipe a text log, plain or packed with gzip, zstd, bzip2 or xz.",
        ) from error
    return spool
