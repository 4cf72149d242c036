"""Outcomes on stdout: Markdown for people, one JSON document for programs; and exit statuses."""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from diagnosis.release.visible_text import INVISIBLE, visible

if TYPE_CHECKING:
    from diagnosis.contracts.release import DiagnosisOutcome

SCHEMA_VERSION = 1
CANCELLED = "Cancelled; nothing was released."


def write_json(value: Any, *, indent: int | None = 2) -> None:
    """One JSON document on stdout."""
    write_json_text(json.dumps(value, ensure_ascii=False, indent=indent))


def write_json_text(text: str) -> None:
    """One JSON document as it is; in UTF-8 whatever the terminal's encoding (RFC 8259, 8.1)."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    if sys.stdout.isatty():  # the same document, in other words
        text = INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    typer.echo(text)


def counted(number: int, noun: str) -> str:
    """`1 passage`, `2 passages`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def write_markdown(text: str) -> None:
    """Rendered on a terminal, as it is in a file or a pipe."""
    text = visible(text)
    if not sys.stdout.isatty():
        typer.echo(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def write_outcome(outcome: DiagnosisOutcome, *, as_json: bool) -> int:
    """Write what a run released.

    Returns:
        0 SUCCESS, 3 FALLBACK, 1 FAILED, 130 CANCELLED.
    """
    from diagnosis.contracts.run import RunStatus

    if as_json:
        write_json(outcome_document(outcome))
    elif outcome.release is not None:
        write_markdown(outcome.release.markdown)
    elif outcome.status is RunStatus.CANCELLED:
        typer.echo(CANCELLED, err=True)
    else:
        typer.echo(f"Error: the run failed ({outcome.end_reason}).", err=True)
        typer.echo(
            visible(outcome.detail or "") or "See the progress above for what was tried.", err=True
        )
    return {
        RunStatus.SUCCESS: 0,
        RunStatus.FALLBACK: 3,
        RunStatus.FAILED: 1,
        RunStatus.CANCELLED: 130,
    }[outcome.status]


def time_hint(outcome: DiagnosisOutcome) -> str | None:
    """What to try where every source that was searched ends before the time searched."""
    ends: dict[datetime, str] = {}
    for checked in outcome.progress.checked_scopes:
        scope = checked.scope or {}
        start, sources = scope.get("start"), scope.get("sources")
        if not isinstance(start, str) or not isinstance(sources, list):
            continue
        for source in sources:
            last = source.get("last") if isinstance(source, dict) else None
            if not isinstance(last, str):
                continue
            end = datetime.fromisoformat(last)
            if end >= datetime.fromisoformat(start):
                return None
            ends[end] = last
    if not ends:
        return None
    return f"The logs end at {ends[max(ends)]}: add `--at last` to ask about that time."


def outcome_document(outcome: DiagnosisOutcome) -> dict[str, Any]:
    """The document that `--json` prints."""
    fields = outcome.model_dump(mode="json")
    order = ("run_id", "status", "end_reason", "detail", "release", "checks", "usage", "progress")
    return {"schema_version": SCHEMA_VERSION, **{name: fields[name] for name in order}}
