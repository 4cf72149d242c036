"""`diagnosis tool`: one evidence tool through the boundary, without a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diagnosis.cli import options
from diagnosis.cli.output import write_json, write_json_text
from diagnosis.cli.running import run_command
from diagnosis.errors import ConfigurationError

if TYPE_CHECKING:
    from diagnosis.application import Diagnosis
    from diagnosis.harness.cancellation import Cancellation

_SEE_PLUGINS = (
    "Give its source (--logs PATH, --knowledge PATH, --mysql URL, --postgresql URL, "
    "--prometheus URL, --alertmanager URL); see `diagnosis plugins`."
)


def tool(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `diagnosis plugins` shows it.")],
    request: Annotated[
        str | None,
        typer.Argument(
            metavar="REQUEST_JSON",
            parser=options.text,
            help="Its request; without it, the schema of one.",
        ),
    ] = None,
    logs: options.Logs = None,
    knowledge: options.Knowledge = None,
    mysql: options.Mysql = None,
    postgresql: options.Postgresql = None,
    prometheus: options.Prometheus = None,
    alertmanager: options.Alertmanager = None,
    at: options.At = None,
    zone: options.Zone = None,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Call one evidence tool and see exactly what a model would be shown.

    Exit status: 0 result, 1 error result, 2 wrong use.
    """
    from diagnosis.cli.times import reference_time

    parsed = None if request is None else _parsed(request)
    # no model is asked, so none needs to be there
    flags = options.SourceFlags(
        logs, knowledge, mysql, postgresql, prometheus, alertmanager, zone, model="offline"
    )
    settings = options.settings_from(config, flags)

    async def main(cancellation: Cancellation) -> int:
        from diagnosis.bootstrap import open_diagnosis

        async with open_diagnosis(settings) as diagnosis:
            registered = diagnosis.boundary.registry.get(name)
            if registered is None:
                raise _no_such_tool(name, diagnosis)
            if parsed is None:
                write_json(registered.request_json_schema)
                return 0
            now, run_zone = await reference_time(at, zone, settings)
            context = diagnosis.new_context(
                reference_time=now, zone=run_zone, cancellation=cancellation
            )
            answer = await diagnosis.call_tool(name, _unwrapped(parsed), context)
        if as_json:
            write_json_text(answer.text)
        else:
            write_json(json.loads(answer.text))
        return 1 if answer.error_code else 0

    raise typer.Exit(run_command(main))


def _no_such_tool(name: str, diagnosis: Diagnosis) -> ConfigurationError:
    """Its plugin lacks a source, or nothing brings it."""
    from diagnosis.plugin.reports import PluginStatus
    from diagnosis.plugin.spelling import did_you_mean

    for plugin in diagnosis.plugins:
        # a plugin that did not load cannot say what it would have brought; its name tells
        if plugin.name not in name or plugin.status is PluginStatus.LOADED:
            continue
        problem = plugin.reason
        if plugin.status is PluginStatus.NOT_CONFIGURED:
            problem = f"The tool {name!r} has no source: plugin {plugin.name!r} is not configured."
        return ConfigurationError(problem or plugin.status, plugin.mend or _SEE_PLUGINS)
    names = diagnosis.boundary.registry.names
    return ConfigurationError(
        f"There is no tool called {name!r}; with these sources there are: "
        f"{', '.join(names) or 'none'}.",
        did_you_mean([name], names) or _SEE_PLUGINS,
    )


def _unwrapped(request: dict[str, Any]) -> dict[str, Any]:
    """The request where a model's whole envelope is given, as a transcript shows it."""
    inner = request.get("input")
    if request.keys() == {"previous_observation", "input"} and isinstance(inner, dict):
        return inner
    return request


def _parsed(request: str) -> dict[str, Any]:
    from diagnosis.harness.strict_json import parse_strict_json

    mend = """Write it like '{"contains": "timeout"}', in single quotes for the shell."""
    try:
        request.encode()
        value = parse_strict_json(request)
    except ValueError as error:
        reason = "not UTF-8" if isinstance(error, UnicodeError) else str(error).split(";")[0]
        raise ConfigurationError(f"REQUEST_JSON is not JSON: {reason}.", mend) from None
    if not isinstance(value, dict):
        raise ConfigurationError("REQUEST_JSON is not a JSON object.", mend)
    return value
