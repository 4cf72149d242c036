"""`diagnosis plugin new`: a working package to begin an evidence plugin with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from diagnosis.cli import options
from diagnosis.release.visible_text import visible

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _plugin() -> None:
    """Plugins of your own; `diagnosis plugins` lists the installed ones."""


@app.command("new")
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What it reads, for example my-deploys.")
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            parser=options.path,
            help="Where to write it; by default here.",
        ),
    ] = None,
) -> None:
    """Write the package of a new plugin: a tool that works, its tests, and the conformance kit.

    It is written to DIR/diagnosis-NAME, whole or not at all.
    """
    from diagnosis.scaffold.names import plugin_name
    from diagnosis.scaffold.writing import write_package

    target = write_package(plugin_name(options.text(name)), folder or Path())
    typer.echo(visible(f"Wrote {target}. To install it and run its tests:\n"))
    typer.echo(visible(f"  cd {shlex.quote(str(target))}"))
    typer.echo("  pip install --editable '.[tests]'")
    typer.echo("  pytest")
    typer.echo("\nIts README.md says what each file holds and what to change.")
