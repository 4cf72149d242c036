"""The log tool keeps the contract of evidence tools, by the kit that plugin authors run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from diagnosis.testing.conformance import check_evidence_tool
from diagnosis_logs.levels import LEVEL_OF_NAME, level_of_text
from diagnosis_logs.settings import LogsSettings
from diagnosis_logs.tool import QueryLogs

Write = Callable[..., Path]


async def test_the_tool_conforms(
    write: Write, tool_of: Callable[..., QueryLogs], tmp_path: Path
) -> None:
    lines = [
        f"2024-05-01 12:{n // 60:02}:{n % 60:02} {'INFO' if n % 50 else 'ERROR'} step {n}"
        for n in range(1_800)
    ]
    large = "".join(f"2024-04-30 12:00:00 INFO line {n}\n" for n in range(100_000))
    tool = tool_of(write("app.log", "\n".join(lines)), write("large.log", large))
    gone = tool_of(write("gone.log", lines[0]))  # it was there when the tool was made
    (tmp_path / "gone.log").unlink()
    report = await check_evidence_tool(
        tool,
        requests=[
            {},
            {"min_level": "ERROR", "context_lines": 3},
            {"mode": "templates"},
            {"mode": "histogram"},
        ],
        empty_request={"contains": "no such text", "source": "app.log"},
        rejected_requests=[
            {"regex": "("},
            {"start": "yesterday"},
            {"source": "/etc/passwd"},
            {"cursor": "x"},
            {"limit": 0},
        ],
        large_request={"start": "2024-04-30T00:00:00Z", "limit": 200, "context_lines": 10},
        slow_request={"start": "2024-04-30T00:00:00Z", "mode": "templates"},
        unavailable_tool=gone,
        settings=LogsSettings(paths=(tmp_path,)),
        reference_time=datetime(2024, 5, 1, 12, 30, tzinfo=UTC),
    )
    assert report.not_run == ("secrets",)  # it is given none


def test_every_name_of_a_level_is_found_in_a_line() -> None:
    for name, level in LEVEL_OF_NAME.items():
        assert level_of_text(f"ts host app - id=7 [{name}] said") is level
        assert level_of_text(f"ts host app - id=7 {name.upper()} said") is level
