"""`diagnosis config show`: the settings in force, secrets masked."""

from __future__ import annotations

import typer

from diagnosis.cli import options
from diagnosis.cli.output import write_json

app = typer.Typer(help="Settings.", no_args_is_help=True)


@app.callback()
def _settings() -> None:
    """Settings: diagnosis.toml, then DIAGNOSIS_* in the environment, then flags."""


@app.command("show")
def show(config: options.Config = None) -> None:
    """Show the settings in force as JSON; secrets are masked."""
    from diagnosis.harness.redaction import redact_value

    settings = options.settings_from(config, options.SourceFlags())
    write_json(redact_value(settings.model_dump(mode="json")))
