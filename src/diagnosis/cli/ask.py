"""`diagnosis ask`: one question, one diagnosis or an honest fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from diagnosis.cli import options
from diagnosis.cli.output import CANCELLED, time_hint, write_outcome
from diagnosis.cli.running import run_command

if TYPE_CHECKING:
    from datetime import datetime

    from diagnosis.contracts.run import DiagnosisInput
    from diagnosis.harness.cancellation import Cancellation
    from diagnosis.settings import Settings


def ask(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", parser=options.text, help="What is wrong, in your words."),
    ],
    model: options.Model = None,
    logs: options.Logs = None,
    knowledge: options.Knowledge = None,
    mysql: options.Mysql = None,
    postgresql: options.Postgresql = None,
    prometheus: options.Prometheus = None,
    alertmanager: options.Alertmanager = None,
    at: options.At = None,
    zone: options.Zone = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="The conversation it belongs to.")
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Ask what is wrong, and why.

    Exit status: 0 diagnosis, 3 fallback, 1 failed, 2 wrong use, 130 cancelled.
    """
    from diagnosis.cli.times import reference_time

    question = question_of(query)
    flags = options.SourceFlags(
        logs, knowledge, mysql, postgresql, prometheus, alertmanager, zone, model
    )
    settings = options.settings_from(config, flags)

    async def main(cancellation: Cancellation) -> int:
        from rich.console import Console

        from diagnosis.cli.progress import waiting

        with waiting("looking for the time asked about", Console(stderr=True, quiet=quiet)):
            now, run_zone = await reference_time(at, zone, settings)
        return await diagnose(
            settings,
            question,
            cancellation,
            session_id=session,
            reference_time=now,
            zone=run_zone,
            as_json=as_json,
            quiet=quiet,
        )

    raise typer.Exit(run_command(main, if_cancelled=CANCELLED))


def question_of(query: str) -> DiagnosisInput:
    """The question.

    Raises:
        InvalidInput: it is blank, or not text.
    """
    from pydantic import ValidationError

    from diagnosis.contracts.run import DiagnosisInput
    from diagnosis.errors import InvalidInput

    try:
        return DiagnosisInput(query=query)
    except ValidationError:
        if not query.strip():
            raise InvalidInput(
                "The question is blank.", 'Say what is wrong: diagnosis ask "why do orders fail?"'
            ) from None
        raise InvalidInput(
            "The question is not valid UTF-8 text.",
            "Use a UTF-8 terminal (see `locale`), or convert the text with iconv.",
        ) from None


async def diagnose(
    settings: Settings,
    question: DiagnosisInput,
    cancellation: Cancellation,
    *,
    as_json: bool,
    quiet: bool,
    reference_time: datetime | None,
    **run_options: object,
) -> int:
    """Open the application, run once, write the outcome; the exit status."""
    from rich.console import Console

    from diagnosis.bootstrap import open_diagnosis
    from diagnosis.cli.progress import ProgressDisplay
    from diagnosis.errors import ConfigurationError

    console = Console(stderr=True, quiet=quiet)
    with ProgressDisplay(console) as display:
        async with open_diagnosis(settings) as diagnosis:
            if not diagnosis.boundary.registry.names:
                raise ConfigurationError(
                    "There is nothing to look at: no source of evidence is configured.",
                    "Give one with --logs PATH, --knowledge PATH, --mysql URL, --postgresql URL, "
                    "--prometheus URL or --alertmanager URL.",
                )
            outcome = await diagnosis.run(
                question,
                observers=[display],
                cancellation=cancellation,
                reference_time=reference_time,
                **run_options,  # type: ignore[arg-type] # both callers pass run's own parameters
            )
    status = write_outcome(outcome, as_json=as_json)
    if reference_time is None and (hint := time_hint(outcome)) is not None:
        console.print(hint, highlight=False, soft_wrap=True)
    return status
