"""What a run is doing, told on stderr while it does it: one observer among others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Self

from rich.console import Console
from rich.markup import escape

from diagnosis.cli.output import counted
from diagnosis.contracts.events import (
    CollectionStopped,
    DraftReceived,
    DraftRefused,
    ModelCallFinished,
    ModelCallStarted,
    RunEvent,
    RunStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from diagnosis.contracts.evidence import EvidenceStatus
from diagnosis.release.visible_text import visible

_OUTCOMES = {
    EvidenceStatus.EVIDENCE_FOUND: "[green]found[/]",
    EvidenceStatus.NO_EVIDENCE: "[yellow]nothing in this scope[/]",
    EvidenceStatus.ERROR: "[red]failed[/]",
}


@contextmanager
def waiting(text: str, console: Console) -> Iterator[None]:
    """On a terminal a spinner for what is done before a run."""
    with console.status(text) if console.is_terminal else nullcontext():
        yield


class ProgressDisplay:
    """A line for each finished step, and on a terminal a spinner for the current one."""

    required = False

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("opening the sources")

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    async def on_event(self, event: RunEvent) -> None:
        """Show one event."""
        if isinstance(event, ModelCallStarted):
            self._status.update(f"asking the model (call {event.step})")
        elif isinstance(event, ToolCallStarted):
            self._status.update(f"running {escape(visible(event.tool_name))}")
        elif (line := _line(event)) is not None:
            self._console.print(line, highlight=False, soft_wrap=True)


def _line(event: RunEvent) -> str | None:
    if isinstance(event, RunStarted):
        tools = ", ".join(event.tools) or "no tools"
        # two lines: one would not fit 80 columns
        return f"[dim]run {event.run_id}\n  {escape(event.model)} · {escape(tools)}[/]"
    if isinstance(event, ToolCallFinished):
        code = f" ({event.error_code})" if event.error_code else ""
        shown = "" if event.shown is None or not event.shown else f", {event.shown} shown"
        matched = "" if event.matched is None or not event.matched else f" of {event.matched}"
        tool = escape(visible(event.tool_name))
        return (
            f"  {tool}: {_OUTCOMES[event.evidence_status]}{code}{shown}{matched}"
            f" [dim]{event.seconds:.1f} s[/]"
        )
    if isinstance(event, ModelCallFinished) and not event.tool_calls:
        return f"  draft written [dim]{event.seconds:.1f} s[/]"
    if isinstance(event, CollectionStopped):
        return f"  [yellow]collecting stopped: {event.reason}[/]"
    if isinstance(event, DraftRefused):
        return f"  [red]draft refused: {event.failure}[/]"
    if isinstance(event, DraftReceived):
        return f"  [dim]{counted(event.statements, 'statement')}[/]"
    return None
