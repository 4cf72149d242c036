"""Ways that must stay closed: to evidence beside the boundary, and to the network unasked."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "diagnosis"

# Who may run a tool: the harness behind the boundary, the registered tool it runs, and the
# conformance kit, with which an author tests a tool outside every run.
COLLECTORS = {"harness/collecting.py", "plugin/registered_tool.py", "plugin/evidence_tool.py"}


def collects(tree: ast.AST) -> bool:
    """Whether a module calls `collect` of anything, or hands it on."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "collect" for node in ast.walk(tree)
    )


def test_a_tool_is_run_by_the_boundary_and_by_nothing_else():
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] != "testing"
        and collects(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found <= COLLECTORS
    assert "harness/collecting.py" in found


def test_the_rule_sees_a_call_and_a_handed_on_method():
    assert collects(ast.parse("await tool.collect(request, context)"))
    assert collects(ast.parse("run(tool.collect)"))
    assert not collects(ast.parse("collect_within(tool)"))


WATCHED_RUN = """
import json, sys
seen = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        seen.append([event, repr(arguments[1:])])
sys.addaudithook(watch)
sys.argv = ["diagnosis", *json.loads(sys.argv[1])]
from diagnosis.cli.main import run
try:
    run()
except SystemExit as ended:
    status = ended.code
print(json.dumps({"status": status, "seen": seen}), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["demo", "--json", "--quiet"], 3),
        (["plugins"], 0),
        (["config", "show"], 0),
    ],
)
def test_nothing_is_contacted_that_nobody_configured(arguments, status, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    # A native library is not seen by the watch: what it keeps for its reports is. Some keep still
    # where continuous integration names itself, so nothing of that is handed on.
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    report = watched(arguments, tmp_path, env=environment)
    assert report == {"status": status, "seen": []}
    assert list(home.rglob("*")) == []


def watched(arguments, folder, **options):
    ended = subprocess.run(
        [sys.executable, "-c", WATCHED_RUN, json.dumps(arguments)],
        check=False,
        capture_output=True,
        cwd=folder,
        encoding="utf-8",
        timeout=110,
        **options,
    )
    return json.loads(ended.stderr.splitlines()[-1])


def test_the_watch_sees_a_connection(tmp_path):
    arguments = ["tool", "query_mysql", "--mysql", "mysql://nobody@127.0.0.1:9/none"]
    report = watched(arguments, tmp_path)
    assert report["status"] == 2
    assert any("127.0.0.1" in where for _, where in report["seen"])
