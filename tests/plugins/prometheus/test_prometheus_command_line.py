"""Both tools from the command line: what a model would be shown, and what a user is told."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

PASSWORD = "s3cr3t-p4ssword"


def diagnosis(*arguments: str, folder: Any) -> subprocess.CompletedProcess[str]:
    script = "import sys; from diagnosis.cli.main import run; sys.argv[0] = 'diagnosis'; run()"
    command = [sys.executable, "-X", "utf8", "-c", script, *arguments]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", check=False, cwd=folder, timeout=60
    )


@pytest.mark.service("prometheus")
@pytest.mark.service("alertmanager")
def test_the_flags_bring_the_tools(monitoring, tmp_path) -> None:
    url = monitoring.prometheus.replace("://", f"://me:{PASSWORD}@")
    flags = ("--prometheus", url, "--at", "2026-03-01T12:00:00+08:00", "--json")
    request = {"expr": 'queue_depth{queue="订单"}', "start": "2026-03-01T11:00:00"}
    done = diagnosis("tool", "query_metrics", json.dumps(request), *flags, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["evidence_status"] == "EVIDENCE_FOUND"
    assert answer["scope"]["start"] == "2026-03-01T11:00:00+08:00"
    assert answer["items"][0]["last"] == {"value": 505, "time": "2026-03-01T12:00:00+08:00"}
    done = diagnosis("tool", "list_alerts", "{}", *flags, folder=tmp_path)
    answer = json.loads(done.stdout)
    assert [each["alert"] for each in answer["items"]] == ["QueueGrows", "Restarted"]
    assert PASSWORD not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("flag", "tool"), [("--prometheus", "query_metrics"), ("--alertmanager", "list_alerts")]
)
def test_a_server_that_is_gone_is_told_in_two_lines(tmp_path, flag: str, tool: str) -> None:
    url = f"http://me:{PASSWORD}@127.0.0.1:9/prefix"
    done = diagnosis("tool", tool, "{}", flag, url, folder=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 2
    assert "at 127.0.0.1:9/prefix does not answer" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr
