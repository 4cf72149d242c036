"""What `diagnosis knowledge add` shows: a bar while it works, a line for each file, and the sum."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer

from diagnosis.cli.output import counted
from diagnosis.release.visible_text import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from diagnosis_knowledge.adding import AddedFile, AddStep
    from diagnosis_knowledge.documents import DocumentReader

_SUMMED_UP = ("ADDED", "REPLACED", "UNCHANGED", "FAILED", "MISSING", "SKIPPED")
_NEED_ATTENTION = ("FAILED", "MISSING")
_EXAMPLES = 3


async def refuse_unreadable(paths: Sequence[Path], reader: DocumentReader) -> None:
    """Look at what the user named before anything is made: a wrong path leaves nothing behind.

    Raises:
        SourceError: a path does not exist, or a file named itself cannot be read.
    """
    from diagnosis_knowledge.documents import find_files

    def look() -> None:
        find_files(paths)
        reader.read_all(path for path in paths if path.is_file())

    try:
        await asyncio.to_thread(look)
    except asyncio.CancelledError:
        reader.close()
        raise


class AddDisplay:
    """Shows an `add` while it goes on: lines on stdout, and a bar where stderr is a terminal."""

    def __init__(self, *, lines: bool, bar: bool) -> None:
        """Choose what is shown: a line for every file or only for what needs attention; a bar."""
        self._lines = lines
        self._bar = _progress_bar() if bar and sys.stderr.isatty() else None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._task = self._bar.add_task("looking", total=None)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def watch(self, step: AddStep) -> None:
        """Move the bar."""
        if self._bar is None or self._task is None:
            return
        from rich.markup import escape

        text = f"{step.stage.lower()} {visible(step.source)}"
        self._bar.update(
            self._task, description=escape(text), completed=step.done, total=step.total
        )

    def tell(self, file: AddedFile) -> None:
        """Write a file's line; what is skipped comes in the sum alone."""
        if file.status == "SKIPPED" or not (self._lines or file.status in _NEED_ATTENTION):
            return
        reason = f" ({file.reason})" if file.reason else ""
        passages = counted(file.chunks, "passage")
        typer.echo(visible(f"{file.status}  {file.source}  {passages}{reason}"))


def sum_up(files: Sequence[AddedFile]) -> str:
    """How many files became what; of those that were skipped with examples, one a reason."""
    counts = Counter(str(file.status) for file in files)
    numbers = [f"{counts[status]} {status.lower()}" for status in _SUMMED_UP if counts[status]]
    examples = _examples(file for file in files if file.status == "SKIPPED")
    return visible(", ".join(numbers) + (f" ({examples})" if examples else ""))


def _examples(skipped: Iterable[AddedFile]) -> str:
    by_reason: dict[str | None, AddedFile] = {}
    for file in skipped:
        by_reason.setdefault(file.reason, file)
    shown = [f"{file.source}: {reason}" for reason, file in by_reason.items()]
    if len(shown) > _EXAMPLES:
        shown[_EXAMPLES:] = ["..."]
    return "; ".join(shown)


def _progress_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
    from rich.table import Column

    return Progress(
        SpinnerColumn(),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn(
            "{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")
        ),
        console=Console(stderr=True),
        transient=True,
        expand=True,
        # lines go above the bar where both share a terminal; a pipe gets them as they are
        redirect_stdout=sys.stdout.isatty(),
    )
