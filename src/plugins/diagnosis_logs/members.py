"""The files of one source, opened together: each part of a rotated set once, the oldest first."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import tzinfo

from diagnosis_logs.logfile import LogFile
from diagnosis_logs.opening import LogText
from diagnosis_logs.parts import Part, open_text, part_of
from diagnosis_logs.question import Coverage
from diagnosis_logs.reading import Binary, Halt, Unreadable
from diagnosis_logs.rotation import unpacked_name
from diagnosis_logs.snapshot import Snapshot

# Lists the files of a source anew.
Relist = Callable[[str], list[LogFile]]

_ATTEMPTS = 3
_MOST_OPEN = 512
_COMPARED_BYTES = 4_096
# A file of fewer lines is learned from together with the others of its set.
_FEW_LINES = 200


class _Moved(Exception):
    """A file is not the one that was listed: the set was rotated in between."""


def open_members(
    members: list[LogFile],
    zone: tzinfo,
    coverage: Coverage,
    opened: ExitStack,
    halt: Halt,
    relist: Relist | None = None,
) -> list[Part]:
    """Open all files of a source before any is read: a rotation must not hide one.

    Args:
        members: its files, the oldest first, as far as their names tell.
        zone: of times that carry none.
        coverage: is told what cannot be read.
        opened: closes them.
        halt: checked between files.
        relist: where files were rotated since they were listed.

    Returns:
        The parts with something in them, the oldest first; one where all are empty.

    Raises:
        ScanStopped: `halt` says so.
    """
    most = _most_open()
    texts: list[tuple[LogFile, LogText]] | None = None
    for attempt in range(_ATTEMPTS):
        last = attempt == _ATTEMPTS - 1 or relist is None
        try:
            texts = _texts(members[-most:], coverage, opened, halt, strict=not last)
            break
        except _Moved:
            members = (relist(members[0].source) if relist else []) or members
    if len(members) > most:
        coverage.failed = True
        coverage.leave_out(members[0].source, f"{len(members) - most:,} older files of it")
    if not texts:
        in_folder = all(file.in_folder for file in members)
        coverage.log = coverage.failed or not in_folder
        coverage.failed = True
        return []
    return _in_order(_once(_parts(texts, zone)))


def _texts(
    members: list[LogFile], coverage: Coverage, opened: ExitStack, halt: Halt, *, strict: bool
) -> list[tuple[LogFile, LogText]]:
    """The files that can be read, open.

    Raises:
        _Moved: one is not as it was listed; only if `strict`, else it is told as failed.
    """
    seen = replace(coverage, left_out=[])
    with ExitStack() as attempted:
        texts = [
            (file, text)
            for file in members
            if (text := _opened(file, seen, attempted, halt, strict=strict)) is not None
        ]
        opened.enter_context(attempted.pop_all())
    coverage.failed = seen.failed
    coverage.left_out += seen.left_out
    return texts


def _most_open() -> int:
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_OPEN if soft == resource.RLIM_INFINITY else max(8, min(_MOST_OPEN, soft // 2))


def _opened(
    file: LogFile, coverage: Coverage, opened: ExitStack, halt: Halt, *, strict: bool
) -> LogText | None:
    """The file, or None where it is left out."""
    halt.check()
    try:
        text = open_text(file, opened)
    except Binary as error:
        coverage.failed = coverage.failed or not file.in_folder
        coverage.leave_out(file.name, str(error))
        return None
    except Unreadable as error:
        if file.listed is not None and strict and not file.path.exists():
            raise _Moved from error
        coverage.failed = True
        coverage.leave_out(file.name, f"cannot be read: {error}")
        return None
    listed = file.listed
    if listed is not None and (text.identity != listed.identity or text.size < listed.size):
        if strict:
            raise _Moved
        coverage.failed = True
    return text


def _parts(texts: list[tuple[LogFile, LogText]], zone: tzinfo) -> list[Part]:
    filled = [(file, text) for file, text in texts if not text.empty] or texts[-1:]
    shared: list[str] = []
    if len(filled) > 1 and any(len(text.head) < _FEW_LINES for _, text in filled):
        shared = [line for _, text in filled[-8:] for line in text.head[:_FEW_LINES]]
    return [
        part_of(file, text, 0, zone, others=shared if len(text.head) < _FEW_LINES else ())
        for file, text in filled
    ]


def _once(parts: list[Part]) -> list[Part]:
    """Without those that are links to, or copies of, the beginning of another one.

    There are such while a set is rotated: a file that is packed, or copied before it is emptied.
    """
    # the longest of equal beginnings is kept, and of a packed file and its original the latter
    ranked = sorted(parts, key=lambda part: (part.snapshot is None, -part.text.size))
    copies = {
        id(part)
        for number, part in enumerate(ranked)
        if any(_is_copy(part, other) for other in ranked[:number])
    }
    return [part for part in parts if id(part) not in copies]


def _is_copy(part: Part, other: Part) -> bool:
    if part.text.identity == other.text.identity:
        return True
    if part.first is None or part.first != other.first or other.snapshot is None:
        return False
    if part.snapshot is not None:
        return _begins_with(other.snapshot, part.snapshot)
    if unpacked_name(part.file.name) != unpacked_name(other.file.name):
        return False
    shown = part.text.head[:-1] or part.text.head
    return other.text.head[: len(shown)] == shown


def _begins_with(longer: Snapshot, shorter: Snapshot) -> bool:
    size = shorter.size
    return all(
        longer.read(at, min(size, at + _COMPARED_BYTES))
        == shorter.read(at, min(size, at + _COMPARED_BYTES))
        for at in (0, size // 2, max(0, size - _COMPARED_BYTES))
    )


def _in_order(parts: list[Part]) -> list[Part]:
    """By their first times, where all have one; else as their names tell.

    A part's place in the order is its first time, which stays the same however often the set is
    rotated, so that cursors and identities hold.
    """
    if all(part.first is not None for part in parts):
        parts = sorted(parts, key=lambda part: part.first or 0)
    order = -1
    for part in parts:
        order = max(order + 1, part.first or 0)
        part.origin = replace(part.origin, order=order)
    return parts
