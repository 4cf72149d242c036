"""`diagnosis knowledge`: what the knowledge base holds, and what it would find."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from diagnosis.cli import options
from diagnosis.cli.output import counted, write_json
from diagnosis.cli.running import run_command
from diagnosis.errors import ConfigurationError, InvalidInput
from diagnosis.release.visible_text import visible

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from diagnosis.harness.cancellation import Cancellation
    from diagnosis.plugin import PluginServices
    from diagnosis_knowledge.base import KnowledgeBase
    from diagnosis_knowledge.settings import KnowledgeSettings

app = typer.Typer(help="Runbooks and documents to look up.", no_args_is_help=True)


@app.command("add")
def add(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", parser=options.path, help="Documents, or folders of them."),
    ],
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Index documents; a changed file replaces what was indexed of it.

    Exit status 1 when a file of a folder could not be indexed.
    """
    from diagnosis.cli.knowledge_add import AddDisplay, refuse_unreadable, sum_up
    from diagnosis_knowledge.documents import DocumentReader

    reader = DocumentReader()

    async def work(base: KnowledgeBase) -> int:
        with AddDisplay(lines=not quiet, bar=not quiet) as display:
            tell = None if as_json else display.tell
            files = await base.add(paths, tell, display.watch, reader)
        if as_json:
            write_json([_fields(file) for file in files])
        else:
            typer.echo(sum_up(files))
        return 1 if any(file.status == "FAILED" for file in files) else 0

    with reader:
        _run_with_base(config, work, before=lambda: refuse_unreadable(paths, reader))


@app.command("list")
def list_documents(as_json: options.Json = False, config: options.Config = None) -> None:
    """List every document with its status."""
    from diagnosis.cli.knowledge_list import write_documents

    async def work(base: KnowledgeBase | None) -> int:
        documents = await base.list() if base else ()
        if as_json:
            write_json([_fields(document) for document in documents])
            return 0
        write_documents(documents)
        if not documents:
            typer.echo("The knowledge base is empty; fill it with `diagnosis knowledge add PATH`.")
        return 0

    _run_with_base_if_any(config, work)


@app.command("search")
def search(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", parser=options.text, help="What to look up.")
    ],
    top_k: Annotated[int, typer.Option("--top-k", min=1, max=10, help="At most so many.")] = 5,
    category: Annotated[str | None, typer.Option("--category", help="Only this category.")] = None,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Search as `lookup_knowledge` does; nothing relevant enough is nothing."""
    if not query.strip():
        raise InvalidInput("The query is blank.", "Say what to look up.")

    async def work(base: KnowledgeBase | None) -> int:
        found = await base.search(query, top_k, category) if base else None
        chunks = found.chunks if found else ()
        if found is not None and not found.by_meaning:
            typer.echo("Meanings could not be compared: this goes by words alone.", err=True)
        if as_json:
            write_json([_fields(chunk) for chunk in chunks])
            return 0
        for chunk in chunks:
            typer.echo(visible(f"{chunk.source} · {chunk.section}\n{chunk.text}\n"))
        if not chunks:
            typer.echo("Nothing relevant enough.")
        return 0

    _run_with_base_if_any(config, work)


@app.command("remove")
def remove(
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT", parser=options.text, help="Its ID or source name, as `list` shows."
        ),
    ],
    config: options.Config = None,
) -> None:
    """Take a document out of the knowledge base."""
    from diagnosis.cli.knowledge_list import named

    async def work(base: KnowledgeBase | None) -> int:
        found = named(document, await base.list() if base else ())
        if base is not None:
            await base.remove(found.document_id)
        typer.echo(visible(f"Removed {found.document_id}  {found.source}"))
        return 0

    _run_with_base_if_any(config, work)


@app.command("reindex")
def reindex(as_json: options.Json = False, config: options.Config = None) -> None:
    """Embed everything anew with the embedding model that settings name.

    The old vectors serve until all new ones are there.
    """

    async def main(_: Cancellation) -> int:
        from diagnosis_knowledge.reindexing import reindex

        async with _services(config) as services:
            count = await reindex(settings, services.embedder, None if as_json else _tell_reindexed)
        if as_json:
            write_json({"passages": count})
        else:
            typer.echo(f"Embedded {counted(count, 'passage')} anew.")
        return 0

    settings = _knowledge_settings(config)
    if not settings.has_index:
        raise ConfigurationError(
            "The knowledge base is empty.", "Fill it with `diagnosis knowledge add PATH`."
        )
    raise typer.Exit(run_command(main))


def _tell_reindexed(done: int, total: int) -> None:
    typer.echo(f"{done} of {counted(total, 'passage')}", err=True)


@asynccontextmanager
async def _services(config: Path | None) -> AsyncIterator[PluginServices]:
    """What the application lends to the knowledge plugin, here as in every run."""
    from diagnosis.bootstrap import open_services

    async with open_services(options.settings_from(config, options.SourceFlags())) as services:
        yield services


def _knowledge_settings(config: Path | None) -> KnowledgeSettings:
    """The settings of the index; paths that are for one use only play no part here."""
    from diagnosis.plugin.settings import validated_settings
    from diagnosis_knowledge.settings import KnowledgeSettings

    given = options.settings_from(config, options.SourceFlags()).plugins.get("knowledge", {})
    settings = validated_settings(KnowledgeSettings, "knowledge", given)
    assert isinstance(settings, KnowledgeSettings), "it was validated as one"  # noqa: S101 - narrows the type
    return settings.model_copy(update={"paths": ()})


def _run_with_base_if_any(
    config: Path | None, work: Callable[[KnowledgeBase | None], Awaitable[int]]
) -> None:
    """Work that only looks: where there is no index, none is made for it."""
    if _knowledge_settings(config).has_index:
        _run_with_base(config, work)

    async def main(_: Cancellation) -> int:
        return await work(None)

    raise typer.Exit(run_command(main))


def _run_with_base(
    config: Path | None,
    work: Callable[[KnowledgeBase], Awaitable[int]],
    before: Callable[[], Awaitable[None]] | None = None,
) -> NoReturn:
    """Open the knowledge base for some work; `before` comes before its folder is made."""
    settings = _knowledge_settings(config)

    async def main(_: Cancellation) -> int:
        from diagnosis_knowledge.base import KnowledgeBase

        if before is not None:
            await before()
        async with _services(config) as services:
            base = await KnowledgeBase.open(settings, services.embedder, services.documents)
            try:
                return await work(base)
            finally:
                await base.close()

    raise typer.Exit(run_command(main))


def _fields(value: DataclassInstance) -> dict[str, Any]:
    return dataclasses.asdict(value)
