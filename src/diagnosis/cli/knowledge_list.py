"""The documents of the knowledge base, as `list` shows and `remove` names them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from diagnosis.cli.output import counted
from diagnosis.errors import ConfigurationError
from diagnosis.release.visible_text import visible

if TYPE_CHECKING:
    from diagnosis_knowledge.statuses import KnownDocument

_SHOWN = 5


def write_documents(documents: Sequence[KnownDocument]) -> None:
    """A table within the width of a terminal; in a pipe a whole line for each document."""
    if not sys.stdout.isatty():
        for document in documents:
            typer.echo(_line(document))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("ID", no_wrap=True)
    table.add_column("STATUS", no_wrap=True)
    table.add_column("PASSAGES", no_wrap=True, justify="right")
    table.add_column("SOURCE", overflow="fold", ratio=1)
    table.add_column("TITLE", overflow="fold", ratio=1)
    for each in documents:
        reason = f"\n{each.reason}" if each.reason else ""
        cells = (
            each.document_id,
            str(each.status),
            str(each.chunks),
            f"{each.source}{reason}",
            each.title or "",
        )
        table.add_row(*(Text(visible(cell)) for cell in cells))
    Console().print(table)


def named(given: str, documents: Sequence[KnownDocument]) -> KnownDocument:
    """The document that has this id, this source name, or a source name that ends so.

    Raises:
        ConfigurationError: there is none, or more than one.
    """
    exact = [each for each in documents if given in (each.document_id, each.source)]
    found = exact or [each for each in documents if each.source.endswith(f"/{given}")]
    if not found:
        raise ConfigurationError(
            f"There is no document {given!r}.", "See `diagnosis knowledge list`."
        )
    if len(found) > 1:
        names = [f"{each.document_id} {each.source}" for each in found[:_SHOWN]]
        more = ", ..." if len(found) > _SHOWN else ""
        raise ConfigurationError(
            f"{given!r} names {len(found)} documents: {', '.join(names)}{more}.",
            "Name one of them by its ID.",
        )
    return found[0]


def _line(document: KnownDocument) -> str:
    reason = f" ({document.reason})" if document.reason else ""
    passages = counted(document.chunks, "passage")
    return visible(
        f"{document.document_id}  {document.status}  {passages}  {document.source}{reason}"
    )
