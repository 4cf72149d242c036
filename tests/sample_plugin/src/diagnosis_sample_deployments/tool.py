"""The tool `list_deployments`: what was deployed in a window of time."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from diagnosis.plugin import (
    EvidenceContext,
    EvidenceItem,
    EvidenceResult,
    QueryRejected,
    QueryRejection,
    SourceUnavailable,
    Truncation,
)

FILE_BYTES = 1_048_576
WINDOW = timedelta(hours=24)


class Deployment(BaseModel):
    """One entry of the file."""

    id: str
    service: str
    version: str
    at: datetime


class ListDeploymentsRequest(BaseModel):
    """What the model asks for."""

    service: str | None = Field(default=None, description="Only this service; null for all.")
    start: datetime | None = Field(
        default=None,
        description="First moment, inclusive, ISO 8601; by default 24 hours before the end.",
    )
    end: datetime | None = Field(
        default=None, description="Last moment, exclusive; by default the reference time."
    )
    limit: int = Field(default=20, ge=1, le=100, description="How many at most, the latest first.")


class ListDeployments:
    """Lists the deployments of a JSON file, read anew in every call."""

    name = "list_deployments"
    description = (
        "Lists deployments (service, version, time) in a window, the latest first. Use it to see "
        "what changed before an incident. An empty result means that nothing was deployed in the "
        "window, as far as the file knows."
    )
    request = ListDeploymentsRequest

    def __init__(self, path: Path) -> None:
        self._path = path

    def describe(self) -> str:
        """Names the source."""
        return f"Source: {self._path.name}"

    async def collect(
        self, request: ListDeploymentsRequest, context: EvidenceContext
    ) -> EvidenceResult:
        """Read the file and choose from it."""
        end = _aware(request.end or context.reference_time, context.zone)
        start = _aware(request.start, context.zone) if request.start else end - WINDOW
        if start >= end:
            raise QueryRejected(QueryRejection.WINDOW_INVALID)
        # in a thread: the file is small (bounded), so a cancelled call leaves no lasting work
        deployments = await asyncio.to_thread(self._read, context.zone)
        matching = sorted(
            (
                each
                for each in deployments
                if start <= each.at < end and request.service in {None, each.service}
            ),
            key=lambda each: (each.at, each.id),
            reverse=True,
        )
        shown = matching[: request.limit]
        return EvidenceResult(
            items=tuple(
                EvidenceItem(identity=each.id, fields=each.model_dump(mode="json", exclude={"id"}))
                for each in shown
            ),
            scope=_scope(request.service, start, end, request.limit),
            matched=len(matching),
            truncated=Truncation.ITEMS if len(shown) < len(matching) else None,
        )

    def _read(self, zone: tzinfo) -> list[Deployment]:
        try:
            with self._path.open("rb") as file:
                content = file.read(FILE_BYTES + 1)
            if len(content) > FILE_BYTES:
                raise SourceUnavailable("the file is too large")
            deployments = TypeAdapter(list[Deployment]).validate_json(content)
        except (OSError, ValidationError) as error:
            raise SourceUnavailable(type(error).__name__) from error
        return [each.model_copy(update={"at": _aware(each.at, zone)}) for each in deployments]


def _scope(service: str | None, start: datetime, end: datetime, limit: int) -> dict[str, Any]:
    return {
        "service": service,
        "start": start.isoformat(),
        "end": end.isoformat(),
        "limit": limit,
    }


def _aware(moment: datetime, zone: tzinfo) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
