"""Health checks of the log plugin: one for each configured path."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from diagnosis.plugin import Health, SourceError
from diagnosis_logs.checking import check_root
from diagnosis_logs.sources import LogRoot


@dataclass(frozen=True, slots=True)
class SourceCheck:
    """Whether one configured path can be read."""

    name: str
    root: LogRoot

    async def check(self) -> Health:
        """Look at it now."""
        try:
            await asyncio.to_thread(check_root, self.root)
        except SourceError as error:
            return Health(ok=False, detail=error.problem, mend=error.mend)
        return Health(ok=True, detail="can be read")
