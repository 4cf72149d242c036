"""What `--at` means: an instant, or just after the last time found in the given logs."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from diagnosis.errors import ConfigurationError

if TYPE_CHECKING:
    from diagnosis.settings import Settings

LAST = "last"
_MEND = (
    "Write a time like 2026-03-01T14:30:00+01:00, or `--at last` with `--logs PATH` for the last "
    "time in those logs."
)


async def reference_time(
    at: str | None, zone_flag: str | None, settings: Settings
) -> tuple[datetime | None, tzinfo | None]:
    """The run's reference time and zone; None for what is left to the application.

    The zone is the one of the flag, else the offset of the time itself, else the configured one.

    Args:
        zone_flag: an existing zone; `settings_from` has seen to that.

    Raises:
        ConfigurationError: no time, or `last` without logs.
    """
    zone: tzinfo | None = ZoneInfo(zone_flag) if zone_flag else None
    if at is None:
        return None, zone
    if at.strip().lower() == LAST:
        return await _last_time(settings, zone), zone
    try:
        time = datetime.fromisoformat(at.strip())
    except ValueError:
        raise ConfigurationError(f"--at {at!r} is not a time.", _MEND) from None
    return time, zone


async def _last_time(settings: Settings, zone: tzinfo | None) -> datetime:
    from diagnosis.bootstrap import configured_zone
    from diagnosis.plugin.settings import validated_settings
    from diagnosis_logs import LogsSettings, latest_time

    logs = validated_settings(LogsSettings, "logs", settings.plugins.get("logs"))
    assert isinstance(logs, LogsSettings), "it was validated as one"  # noqa: S101 - narrows the type
    if not logs.paths and not logs.sources:
        raise ConfigurationError("--at last needs logs, and none are given.", _MEND)
    last = await asyncio.to_thread(latest_time, logs, zone or configured_zone(settings))
    if last is None:
        raise ConfigurationError("--at last finds no time in the logs.", _MEND)
    # a window ends before the time it ends at, and the last line belongs to what is looked at
    return (last + timedelta(seconds=1)).replace(microsecond=0)
