"""`diagnosis plugins`: every plugin, whether it works, and how to mend it where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from diagnosis.cli import options
from diagnosis.cli.output import write_json
from diagnosis.cli.running import run_command

if TYPE_CHECKING:
    from diagnosis.harness.cancellation import Cancellation
    from diagnosis.plugin.health import HealthCheck
    from diagnosis.plugin.manager import LoadedPlugins

_CHECK_TIMEOUT_S = 10.0


def plugins(as_json: options.Json = False, config: options.Config = None) -> None:
    """List every plugin: loaded, or why not, its tools, and whether what it needs works.

    Exit status 1 when one that is configured cannot be used.
    """
    settings = options.settings_from(config, options.SourceFlags())

    async def main(_: Cancellation) -> int:
        from diagnosis.bootstrap import load_configured_plugins, open_services

        async with open_services(settings) as services:
            loaded = load_configured_plugins(settings, services, stop_on_failure=False)
            rows = [
                {**report.model_dump(mode="json"), "health": await _health(loaded, report.name)}
                for report in loaded.reports
            ]
        if as_json:
            write_json({"plugins": rows})
        else:
            for row in rows:
                _write(row)
        return 1 if any(_unusable(row) for row in rows if row["name"] in settings.plugins) else 0

    raise typer.Exit(run_command(main))


def _unusable(row: dict[str, Any]) -> bool:
    from diagnosis.plugin.reports import PluginStatus

    working = {PluginStatus.LOADED, PluginStatus.NOT_CONFIGURED}
    return row["status"] not in working or not all(check["ok"] for check in row["health"])


async def _health(loaded: LoadedPlugins, name: str) -> list[dict[str, Any]]:
    return [await _checked(check) for check in loaded.health_checks.get(name, ())]


async def _checked(check: HealthCheck) -> dict[str, Any]:
    import asyncio

    try:
        async with asyncio.timeout(_CHECK_TIMEOUT_S):
            health = await check.check()
    except TimeoutError:
        return {"name": check.name, "ok": False, "detail": "no answer in time", "mend": None}
    except Exception as error:  # noqa: BLE001 - a plugin's check may raise anything
        detail = f"the check itself failed ({type(error).__name__})"
        return {"name": check.name, "ok": False, "detail": detail, "mend": None}
    return {"name": check.name, "ok": health.ok, "detail": health.detail, "mend": health.mend}


def _write(row: dict[str, Any]) -> None:
    origin = f" ({row['distribution']} {row['version']})" if row["distribution"] else ""
    typer.echo(f"{row['name']}{origin}: {row['status']}")
    if row["tools"]:
        typer.echo(f"  tools: {', '.join(row['tools'])}")
    for key in ("reason", "mend"):
        if row[key]:
            typer.echo(f"  {key}: {row[key]}")
    for health in row["health"]:
        typer.echo(f"  {health['name']}: {'ok' if health['ok'] else 'NOT OK'}, {health['detail']}")
        if health["mend"]:
            typer.echo(f"    mend: {health['mend']}")
