"""`diagnosis demo`: the packaged sample incident, from question to report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from diagnosis.cli import options
from diagnosis.cli.ask import diagnose, question_of
from diagnosis.cli.output import CANCELLED
from diagnosis.cli.running import run_command

if TYPE_CHECKING:
    from diagnosis.harness.cancellation import Cancellation


def demo(
    model: options.Model = "offline",
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Diagnose the packaged sample incident, end to end.

    Exit status as for `ask`.
    """
    from diagnosis import sample
    from diagnosis.settings import ToolSettings

    incident = options.SourceFlags(list(sample.LOG_PATHS), [sample.RUNBOOK_FOLDER], model=model)
    # the user's model may be used, but nothing is looked at beside the sample
    settings = options.settings_from(None, options.SourceFlags(model=model)).model_copy(
        update={"plugins": incident.overrides()["plugins"], "tools": ToolSettings(), "zone": None}
    )

    async def main(cancellation: Cancellation) -> int:
        return await diagnose(
            settings,
            question_of(sample.QUESTION),
            cancellation,
            reference_time=sample.REFERENCE_TIME,
            as_json=as_json,
            quiet=quiet,
        )

    raise typer.Exit(run_command(main, if_cancelled=CANCELLED))
