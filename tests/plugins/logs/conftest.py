"""Shared by the tests of the log plugin: write real files, ask the real tool."""

from __future__ import annotations

import gzip
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import diagnosis_logs
from diagnosis.plugin import EvidenceContext, EvidenceResult, PluginServices
from diagnosis_logs.settings import LogsSettings
from diagnosis_logs.tool import QueryLogs

Write = Callable[..., Path]
Ask = Callable[..., Awaitable[EvidenceResult]]

REFERENCE = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a log: `write("app.log", text_or_bytes, modified=datetime)`; .gz names are packed."""

    def write_log(name: str, content: str | bytes, modified: datetime | None = None) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
        if modified is not None:
            os.utime(path, (modified.timestamp(), modified.timestamp()))
        return path

    return write_log


def context(
    reference: datetime = REFERENCE,
    *,
    hours: float = 0,
    byte_budget: int = 16_384,
    remaining_s: float = 30.0,
) -> EvidenceContext:
    return EvidenceContext(
        run_id="run",
        tool_call_id="call",
        reference_time=reference,
        zone=timezone(timedelta(hours=hours)) if hours else UTC,
        remaining_s=remaining_s,
        byte_budget=byte_budget,
    )


def tool_for(*paths: Path, **settings: Any) -> QueryLogs:
    [tool] = diagnosis_logs.diagnosis_register_evidence_tools(
        LogsSettings(paths=paths, **settings), PluginServices()
    )
    assert isinstance(tool, QueryLogs)
    return tool


@pytest.fixture
def tool_of() -> Callable[..., QueryLogs]:
    """The registered tool over some paths and settings."""
    return tool_for


@pytest.fixture
def make_context() -> Callable[..., EvidenceContext]:
    """A context: reference 2024-05-01T12:30Z, zone UTC plus `hours`."""
    return context


@pytest.fixture
def ask() -> Ask:
    """Ask the registered tool: `await ask(path, ..., settings={...}, context={...}, **request)`."""

    async def ask_tool(*paths: Path, **request: Any) -> EvidenceResult:
        settings = request.pop("settings", {})
        in_context = context(**request.pop("context", {}))
        tool = tool_for(*paths, **settings)
        return await tool.collect(tool.request.model_validate(request), in_context)

    return ask_tool
