"""The `diagnosis` command: its subcommands, and errors as lines instead of tracebacks."""

from __future__ import annotations

import os
import sys

import typer

from diagnosis.cli import ask, config, demo, knowledge, plugins, tool
from diagnosis.errors import ConfigurationError

EXIT_WRONG_USE = 2
EXIT_FAILED = 1

app = typer.Typer(
    name="diagnosis",
    help="Diagnose incidents with statements bound to evidence collected in the run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("ask")(ask.ask)
app.command("tool")(tool.tool)
app.command("plugins")(plugins.plugins)
app.add_typer(knowledge.app, name="knowledge")
app.add_typer(config.app, name="config")


def run() -> None:
    """Entry point of the console script; `DIAGNOSIS_DEBUG=1` lets tracebacks through."""
    try:
        app()
    except ConfigurationError as error:
        _fail(f"Error: {error.problem}\n{error.mend}", EXIT_WRONG_USE)
    except KeyboardInterrupt:
        _fail("Cancelled.", 130)
    except BrokenPipeError:
        # the reader of a pipe has gone; the interpreter must not complain about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)
    except Exception as error:
        if os.environ.get("DIAGNOSIS_DEBUG"):
            raise
        _fail(
            f"Error: something unexpected went wrong ({type(error).__name__}).\n"
            "Set DIAGNOSIS_DEBUG=1 to see the traceback, and report it.",
            EXIT_FAILED,
        )


def _fail(text: str, status: int) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - the command line speaks to people
    sys.exit(status)
