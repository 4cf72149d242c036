"""The `diagnosis` command: its subcommands, and errors as lines instead of tracebacks."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer

from diagnosis.cli import ask, config, demo, knowledge, plugin_new, plugins, tool
from diagnosis.cli.output import CANCELLED
from diagnosis.errors import ConfigurationError

EXIT_FAILED = 1
EXIT_WRONG_USE = 2
_NOWHERE_TO_WRITE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"diagnosis-harness {version('diagnosis-harness')}")
        raise typer.Exit


app = typer.Typer(
    name="diagnosis",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain text: quick, the same in a pipe, and errors stay lines
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("ask")(ask.ask)
app.command("tool")(tool.tool)
app.command("plugins")(plugins.plugins)
app.add_typer(plugin_new.app, name="plugin")
app.add_typer(knowledge.app, name="knowledge")
app.add_typer(config.app, name="config")


@app.callback()
def _diagnosis(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version."),
    ] = False,
) -> None:
    """Diagnose incidents with statements bound to evidence collected in the run."""


def run() -> None:
    """Entry point of the console script; `DIAGNOSIS_DEBUG=1` lets tracebacks through.

    Usage errors and closed pipes are typer's: it exits with 2 and 1.
    """
    # Logfire would hook itself into every model that pydantic validates: half a second, for nothing
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "logfire-plugin")
    # what the framework advertises on a terminal would stand amid the progress
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: never crash on a character
    try:
        with _cancellable():
            app(prog_name="diagnosis")
    except ConfigurationError as error:
        _fail(EXIT_WRONG_USE, f"Error: {error.problem}", error.mend)
    except Exception as error:
        if os.environ.get("DIAGNOSIS_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno in _NOWHERE_TO_WRITE:
            _fail(
                EXIT_FAILED,
                f"Error: the answer or the data cannot be written ({error.strerror}).",
                "Make room there, or write somewhere else.",
            )
        _fail(
            EXIT_FAILED,
            f"Error: something unexpected went wrong ({type(error).__name__}).",
            "Set DIAGNOSIS_DEBUG=1 to see the traceback, and report it.",
        )


@contextmanager
def _cancellable() -> Iterator[None]:
    """Ctrl-C before a command's own loop takes it over ends with a line."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    signal.signal(signal.SIGINT, _cancelled)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _cancelled(*_: object) -> NoReturn:
    _fail(128 + signal.SIGINT, CANCELLED)


def _fail(status: int, *lines: str) -> NoReturn:
    for line in lines:
        print(_one_line(line), file=sys.stderr)  # noqa: T201 - the command line speaks to people
    sys.exit(status)


def _one_line(text: str) -> str:
    """What a path or a file's text brings along must not break the line or drive the terminal."""
    return "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split())
    )
