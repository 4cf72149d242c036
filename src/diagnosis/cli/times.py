"""What `--at` means: an instant, a time of day, or just after the last time in the given logs."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from diagnosis.errors import ConfigurationError

if TYPE_CHECKING:
    from diagnosis.settings import Settings

LAST = "last"
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_MEND = (
    "Write a time like 2026-03-01T14:30:00+01:00, a time of day like 02:50, or `--at last` with "
    "`--logs PATH` for the last time in those logs."
)


async def reference_time(
    at: str | None, zone_flag: str | None, settings: Settings
) -> tuple[datetime | None, tzinfo | None]:
    """The run's reference time and zone; None for what is left to the application.

    The zone is the one of the flag, else the offset of the time itself (for `last` the one that
    the last line shows), else the configured one. A time of day is the latest one that has passed.

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
    if _TIME_OF_DAY.fullmatch(at.strip()):
        return _latest_at(at, zone, settings), zone
    try:
        moment = datetime.fromisoformat(at.strip())
    except ValueError:
        raise ConfigurationError(f"--at {at!r} is not a time.", _MEND) from None
    return moment, zone


def _latest_at(at: str, zone: tzinfo | None, settings: Settings) -> datetime:
    """The time of day, today or where that has not come yet yesterday."""
    from diagnosis.bootstrap import configured_zone

    try:
        clock = time.fromisoformat(at.strip().zfill(5))
    except ValueError:
        raise ConfigurationError(f"--at {at!r} is not a time.", _MEND) from None
    here = zone or configured_zone(settings)
    now = datetime.now(here)
    moment = datetime.combine(now.date(), clock, here)
    if moment <= now:
        return moment
    return datetime.combine(now.date() - timedelta(days=1), clock, here)


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
    if zone is not None:
        last = last.astimezone(zone)
    # a window ends before the time it ends at, and the last line belongs to what is looked at
    return (last + timedelta(seconds=1)).replace(microsecond=0)
