"""One process per folder: Chroma corrupts a folder that two processes use at a time.

The operating system lets go of the lock when its process dies, however it dies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diagnosis.errors import SourceError


class FolderInUse(SourceError):
    """Another process holds the folder."""


@contextmanager
def folder_lock(folder: Path, lock_name: str) -> Iterator[None]:
    """Hold the folder for this process; the folder is made where there is none.

    Raises:
        FolderInUse: another process holds it.
        SourceError: it cannot be written.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / lock_name, blocking=False, thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise FolderInUse(
            f"The knowledge folder {folder} is in use by another process.",
            "Wait until that process has ended, or give each process a folder of its own.",
        ) from None
    except OSError as error:
        raise SourceError(
            f"The knowledge folder {folder} cannot be used: {error.strerror}.",
            "Make it a folder that this user may write to, or set another one.",
        ) from error
    try:
        yield
    finally:
        lock.release()
