"""What the commands answer: documents on stdout, progress on stderr, and exit statuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]

MOD_JK = "why does mod_jk keep failing"
AT = "2005-12-05T19:15:00Z"
RUNBOOK = """# Connection pool exhausted

## Symptoms

The billing service logs that its database connection pool is exhausted.

## Mending

Raise the pool's size, or find the query that holds connections.
"""


@pytest.fixture(scope="module")
def loghub(shared_data: Path) -> Path:
    return shared_data / "loghub"


# --- demo and ask ----------------------------------------------------------------------------


def test_demo_as_json(command: Command) -> None:
    done = command("demo", "--json")
    document = json.loads(done.out)
    assert list(document) == [
        "schema_version", "run_id", "status", "end_reason", "detail", "release", "checks",
        "usage", "progress",
    ]  # fmt: skip
    assert (document["schema_version"], document["status"], done.status) == (1, "FALLBACK", 3)
    report = document["release"]["report"]
    assert "2.42.0" in report["conclusion"]["root_cause"]
    assert report["statements"]
    for statement in report["statements"]:
        assert {"kind", "statement", "citations", "verdict"} <= statement.keys()
        assert statement["citations"]
    assert {"type", "checked_scopes", "facts", "missing"} == document["release"]["fallback"].keys()
    assert document["usage"]["tool_calls"] == len(document["progress"]["checked_scopes"])


def test_every_citation_of_the_demo_resolves(command: Command) -> None:
    document = json.loads(command("demo", "--json", "--quiet").out)
    calls = {call["tool_call_id"]: call for call in document["progress"]["checked_scopes"]}
    numbers: dict[int, str] = {}
    for statement in document["release"]["report"]["statements"]:
        for citation in statement["citations"]:
            call = calls[citation["tool_call_id"]]
            assert citation["tool_name"] == call["tool_name"]
            assert citation["evidence_status"] == call["evidence_status"]
            same = numbers.setdefault(citation["number"], citation["tool_call_id"])
            assert same == citation["tool_call_id"], "one number a call"
            assert f"{citation['number']}. `{call['tool_name']}`" in document["release"]["markdown"]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_demo_looks_at_nothing_but_the_sample(
    command: Command, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIAGNOSIS_PLUGINS__MYSQL__URL", "mysql://nobody@127.0.0.1:1/none")
    Path("diagnosis.toml").write_text(f'[plugins.logs]\nsources = {{ other = "{log}" }}\n')
    done = command("demo", "--json")
    assert done.status == 3, done.err
    assert "billing" not in done.out


def test_progress_and_answer_have_a_stream_each(command: Command, log: Path) -> None:
    done = command("ask", "why is billing down", "--logs", log, "--at", "last")
    assert done.out.startswith("# ")
    assert "query_logs" in done.err
    assert "\x1b[" not in done.out + done.err, "no colours where there is no terminal"
    quiet = command("ask", "why is billing down", "--logs", log, "--at", "last", "--quiet")
    assert quiet.err == ""
    assert quiet.out.startswith("# ")


def test_cause_in_real_logs(command: Command, loghub: Path) -> None:
    log = loghub / "Apache_2k.log"
    done = command("ask", MOD_JK, "--model", "offline", "--logs", log, "--at", AT, "--json")
    report = json.loads(done.out)["release"]["report"]
    quotes = [cited["quote"] for each in report["statements"] for cited in each["citations"]]
    assert done.status == 3
    assert "workerEnv in error state" in report["conclusion"]["root_cause"]
    for quote in quotes:
        assert quote is None or quote in log.read_text()
    assert any("workerEnv in error state" in (quote or "") for quote in quotes)


@pytest.mark.parametrize("at", [AT, "last"])
def test_no_cause_in_logs_of_something_else(command: Command, loghub: Path, at: str) -> None:
    done = command("ask", MOD_JK, "--logs", loghub / "HDFS_2k.log", "--at", at, "--json")
    release = json.loads(done.out)["release"]
    assert done.status == 3
    assert release["report"] is None
    assert release["fallback"]["checked_scopes"]


def test_old_logs_are_pointed_out(command: Command, log: Path) -> None:
    old = command("ask", "why", "--logs", log)
    assert "The logs end at 2026-03-01T14:00:00+00:00: add `--at last`" in old.err
    for others in (["--at", "last"], ["--at", "2030-01-01T00:00:00Z"], ["--quiet"]):
        assert "The logs end" not in command("ask", "why", "--logs", log, *others).err


def test_hint_names_the_latest_of_logs_that_all_end_before(command: Command, place: Path) -> None:
    later = place / "later.log"
    later.write_text("2026-03-02T00:30:00+02:00 INFO billing up\n")
    (place / "earlier.log").write_text("2026-03-01T21:00:00Z ERROR billing down\n")
    flags = ["--logs", later, "--logs", place / "earlier.log", "--zone", "UTC"]
    assert "The logs end at 2026-03-01T22:30:00+00:00: add" in command("ask", "why", *flags).err


def test_progress_fits_80_columns(command: Command, log: Path, place: Path) -> None:
    (place / "pool.md").write_text(RUNBOOK)
    flags = ["--logs", log, "--knowledge", place / "pool.md", "--at", "last"]
    progress = command("ask", "why is billing down", *flags).err
    assert "offline-rules · lookup_knowledge, query_logs" in progress
    assert max(map(len, progress.splitlines())) <= 80


def test_version(command: Command) -> None:
    from importlib.metadata import version

    done = command("--version")
    assert (done.status, done.out) == (0, f"diagnosis-harness {version('diagnosis-harness')}\n")


def test_chinese_question_gets_chinese_words(command: Command, log: Path) -> None:
    done = command("ask", "计费服务为什么失败？", "--logs", log, "--at", "last")
    assert done.out.startswith(("# 诊断", "# 没有诊断结论"))
    assert "计费服务为什么失败？" in done.out


def test_zone_of_times_without_one(command: Command, place: Path) -> None:
    log = place / "naive.log"
    log.write_text("2026-03-01 14:00:00 ERROR billing connection pool exhausted\n")
    for flags, start in (
        (["--at", "2026-03-01T14:10:00+08:00"], "2026-03-01T13:40:00+08:00"),
        (["--at", "2026-03-01T14:10:00", "--zone", "Asia/Shanghai"], "2026-03-01T13:40:00+08:00"),
        (["--at", "last", "--zone", "Asia/Shanghai"], "+08:00"),
    ):
        done = command("ask", "why is billing down", "--logs", log, "--json", *flags)
        first = json.loads(done.out)["progress"]["checked_scopes"][0]
        assert first["evidence_status"] == "EVIDENCE_FOUND", flags
        assert first["scope"]["start"].endswith(start)


def test_last_time_brings_the_offset_of_its_line(command: Command, place: Path) -> None:
    log = place / "zoned.log"
    log.write_text("2026-03-01T14:30:00+01:00 ERROR billing connection pool exhausted\n")
    for flags, end in (
        ([], "2026-03-01T14:30:01+01:00"),
        (["--zone", "UTC"], "2026-03-01T13:30:01+00:00"),
    ):
        done = command("tool", "query_logs", "{}", "--logs", log, "--at", "last", *flags)
        shown = json.loads(done.out)
        assert shown["scope"]["end"] == end
        assert shown["items"][0]["timestamp"][-6:] == end[-6:]
    question = "why did billing fail at 14:30?"
    done = command("ask", question, "--logs", log, "--at", "last", "--json")
    scopes = [call["scope"] for call in json.loads(done.out)["progress"]["checked_scopes"]]
    assert any(scope["start"] <= "2026-03-01T14:30" < scope["end"] for scope in scopes)
    assert all(scope["start"].endswith("+01:00") for scope in scopes)


def test_time_of_day_is_the_latest_one_that_has_passed(command: Command, log: Path) -> None:
    from datetime import UTC, datetime, timedelta

    before = datetime.now(UTC)
    shown = {}
    for hours in (-1, 1):
        clock = (before + timedelta(hours=hours)).strftime("%H:%M")
        done = command("tool", "query_logs", "{}", "--logs", log, "--at", clock, "--zone", "UTC")
        shown[hours] = datetime.fromisoformat(json.loads(done.out)["scope"]["end"])
    minute = timedelta(minutes=1)
    assert before - timedelta(hours=1) - minute <= shown[-1] <= before - timedelta(hours=1) + minute
    assert shown[1] == shown[-1] - timedelta(hours=22)


# --- one tool --------------------------------------------------------------------------------


def test_tool_without_a_request_shows_its_schema(command: Command, log: Path) -> None:
    done = command("tool", "query_logs", "--logs", log)
    schema = json.loads(done.out)
    assert done.status == 0
    assert {"mode", "contains", "start", "limit"} <= schema["properties"].keys()
    assert "previous_observation" not in done.out
    assert command("tool", "query_logs", "--logs", log, "--json").out == done.out


def test_tool_takes_a_model_s_whole_envelope(command: Command, log: Path) -> None:
    request = '{"contains": "pool exhausted"}'
    envelope = f'{{"previous_observation": null, "input": {request}}}'
    inner, whole = (
        json.loads(command("tool", "query_logs", each, "--logs", log, "--at", "last").out)
        for each in (request, envelope)
    )
    assert whole["evidence_status"] == "EVIDENCE_FOUND"
    assert {**whole, "tool_call_id": ""} == {**inner, "tool_call_id": ""}
    half = command("tool", "query_logs", f'{{"input": {request}}}', "--logs", log)
    assert json.loads(half.out)["error_code"] == "INVALID_ARGUMENTS"


def test_tool_shows_what_a_model_would_see(command: Command, log: Path) -> None:
    request = '{"contains": "pool exhausted"}'
    done = command("tool", "query_logs", request, "--logs", log, "--at", "last", "--json")
    shown = json.loads(done.out)
    assert done.status == 0
    assert done.out == json.dumps(shown, ensure_ascii=False, separators=(",", ":")) + "\n"
    assert shown["evidence_status"] == "EVIDENCE_FOUND"
    assert shown["items"][0]["text"] in log.read_text()
    people = json.loads(command("tool", "query_logs", request, "--logs", log, "--at", "last").out)
    assert {**people, "tool_call_id": ""} == {**shown, "tool_call_id": ""}


def test_tool_says_error_by_its_status(command: Command, log: Path) -> None:
    done = command("tool", "query_logs", '{"limit": 0}', "--logs", log)
    assert done.status == 1
    assert json.loads(done.out)["error_code"] == "INVALID_ARGUMENTS"


def test_tool_needs_no_model(command: Command, log: Path) -> None:
    Path("diagnosis.toml").write_text('[model]\nname = "openai:gpt-5"\n')
    assert command("tool", "query_logs", "{}", "--logs", log).status == 0


# --- plugins and settings --------------------------------------------------------------------


def test_plugins(command: Command, log: Path) -> None:
    Path("diagnosis.toml").write_text(f'[plugins.logs]\npaths = ["{log}"]\n')
    done = command("plugins", "--json")
    rows = {row["name"]: row for row in json.loads(done.out)["plugins"]}
    assert done.status == 0
    assert rows.keys() >= {"knowledge", "logs", "mysql"}
    assert (rows["logs"]["status"], rows["logs"]["tools"]) == ("LOADED", ["query_logs"])
    assert all(check["ok"] for check in rows["logs"]["health"])
    assert rows["mysql"]["status"] == "NOT_CONFIGURED"
    assert "--mysql URL" in rows["mysql"]["mend"]
    text = command("plugins").out
    assert "logs (diagnosis-harness" in text
    assert "tools: query_logs" in text


def test_plugins_that_cannot_be_used_are_listed_with_the_reason(command: Command) -> None:
    Path("diagnosis.toml").write_text(
        '[plugins.mysql]\nurl = "mysql://app:hunter2hunter2@127.0.0.1:1/shop"\n'
        '[plugins.logs]\npath = "x"\n'
    )
    done = command("plugins")
    assert done.status == 1
    assert "mend: Correct [plugins.logs]. Did you mean 'paths'?" in done.out
    assert "NOT OK" in done.out
    assert "127.0.0.1:1" in done.out
    assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize(
    ("toml", "status"),
    [
        ('[plugins.logs]\npaths = "x.log"', "INVALID_SETTINGS"),
        ('[plugins.logs]\npaths = ["gone.log"]', "SOURCE_UNUSABLE"),
    ],
)
def test_plugins_fail_where_a_configured_one_cannot_be_used(
    command: Command, toml: str, status: str
) -> None:
    Path("diagnosis.toml").write_text(toml)
    done = command("plugins", "--json")
    (row,) = [row for row in json.loads(done.out)["plugins"] if row["name"] == "logs"]
    assert (row["status"], done.status) == (status, 1)
    assert row["mend"]
    assert f"mend: {row['mend']}" in command("plugins").out


def test_config_show_masks_secrets(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("diagnosis.toml").write_text(
        '[model]\nname = "openai:gpt-5"\napi_key = "sk-verysecret"\n'
        '[plugins.mysql]\nurl = "mysql://app:hunter2@db.example/shop"\n'
        '[plugins.other]\ntoken = "verysecret"\nwebhook = "https://me:hunter2@example.com"\n'
        'nested = { password = "hunter2" }\n'
    )
    monkeypatch.setenv("DIAGNOSIS_LIMITS__TOOL_CALLS", "7")
    done = command("config", "show")
    shown = json.loads(done.out)
    assert done.status == 0
    assert "verysecret" not in done.out
    assert "hunter2" not in done.out
    assert "db.example/shop" in shown["plugins"]["mysql"]["url"]
    assert shown["model"]["name"] == "openai:gpt-5"
    assert (shown["limits"]["tool_calls"], shown["limits"]["model_calls"]) == (7, 12)


# --- the knowledge base ----------------------------------------------------------------------


def test_knowledge_from_adding_to_removing(command: Command, place: Path) -> None:
    folder = place / "runbooks"
    folder.mkdir()
    (folder / "pool.md").write_text(RUNBOOK)
    (folder / "broken.md").write_bytes(b"\0\xff" * 50)

    added = command("knowledge", "add", folder, "--json")
    assert added.status == 1, "one file of the folder is binary"
    status = {file["source"].rpartition("/")[2]: file["status"] for file in json.loads(added.out)}
    assert status == {"pool.md": "ADDED", "broken.md": "FAILED"}

    broken, document = json.loads(command("knowledge", "list", "--json").out)
    assert (broken["status"], broken["reason"]) == ("FAILED", "is a binary file")
    found = command("knowledge", "search", "database connection pool exhausted")
    assert found.status == 0
    assert "Raise the pool's size" in found.out or "pool is exhausted" in found.out
    told = command("knowledge", "list").out
    assert document["document_id"] in told
    assert "INDEXED" in told
    assert ("1 passage " if document["chunks"] == 1 else " passages ") in told

    removed = command("knowledge", "remove", document["document_id"])
    assert (removed.status, removed.err) == (0, "")
    assert command("knowledge", "remove", "broken.md").status == 0
    assert "empty" in command("knowledge", "list").out
    assert command("knowledge", "remove", document["document_id"]).status == 2
