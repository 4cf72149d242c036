"""Whatever is wrong with the input: one line what, one line how to mend it, status 2, no traces."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
Refused = Callable[..., None]

SECRET = "hunter2hunter2"
WRITE_TIME = "Write a time like"


# --- the question ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", ("blank", "Say what is wrong")),
        (" \n\t", ("blank", "Say what is wrong")),
        ("\N{IDEOGRAPHIC SPACE}", ("blank", "Say what is wrong")),
        ("为" * 2731, ("8,193 bytes; at most 8,192", "shorter")),
        ("why\udcff", ("not valid UTF-8", "UTF-8 terminal")),
    ],
)
def test_question(refused: Refused, log: Path, query: str, says: tuple[str, str]) -> None:
    refused("ask", query, "--logs", log, says=says)


def test_question_of_the_largest_size_is_taken(command: Command, log: Path) -> None:
    done = command("ask", "为" * 2730 + "ab", "--logs", log, "--at", "last")
    assert done.status == 3, done.err


# --- sources ---------------------------------------------------------------------------------


def test_missing_log(refused: Refused, place: Path) -> None:
    path = place / "no.log"
    refused("ask", "why", "--logs", path, says=(f"{path} does not exist", "path of a log"))


def test_log_that_is_no_regular_file(refused: Refused, place: Path) -> None:
    os.mkfifo(place / "pipe.log")
    refused("ask", "why", "--logs", place / "pipe.log", says=("cannot be read", "regular"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "s.log"))
        refused("ask", "why", "--logs", place / "s.log", says=("cannot be read", "regular"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_log_that_may_not_be_read(refused: Refused, log: Path) -> None:
    log.chmod(0)
    refused("ask", "why", "--logs", log, says=("cannot be read", "may read"))


def test_binary_log(refused: Refused, place: Path) -> None:
    (place / "a.log").write_bytes(bytes(range(256)) * 20)
    refused("ask", "why", "--logs", place / "a.log", says=("is binary", "text log"))


def test_folder_without_logs(refused: Refused, place: Path) -> None:
    (place / "empty").mkdir()
    refused("ask", "why", "--logs", place / "empty", says=("no log file", "Name a folder"))


def test_path_with_line_breaks_and_terminal_codes_stays_on_its_line(
    refused: Refused, place: Path
) -> None:
    refused("ask", "why", "--logs", place / "a\nb\x1b[31m", says=("a b\ufffd[31m", ""))


def test_nothing_to_look_at(refused: Refused) -> None:
    refused("ask", "why", says=("nothing to look at", "--logs PATH"))


def test_mysql_that_does_not_answer(refused: Refused) -> None:
    with socket.socket() as taken:  # bound, never listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        refused(
            "ask", "why", "--mysql", f"mysql://app:{SECRET}@{address}/shop",
            says=(address, "server"),
        )  # fmt: skip


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://app:{SECRET}@127.0.0.1:99999/shop",
        f"postgres://app:{SECRET}@127.0.0.1/shop",
        f"mysql://app:{SECRET}/@127.0.0.1/shop",
        f"mysql://:{SECRET}@127.0.0.1/shop",
        SECRET,
        "",
    ],
)
def test_malformed_mysql_url(refused: Refused, url: str) -> None:
    refused("ask", "why", "--mysql", url, says=("MySQL URL", "USER:PASSWORD@HOST"))


# --- times -----------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ["Mars", "", "Europe", "../../etc/passwd", "a\0b"])
def test_zone(refused: Refused, log: Path, zone: str) -> None:
    for at in ([], ["--at", "last"]):
        says = ("is no IANA time zone", "Europe/Berlin")
        refused("ask", "why", "--logs", log, "--zone", zone, *at, says=says)


def test_time(refused: Refused, log: Path, place: Path) -> None:
    for time in ("yesterday", "", "2026-13-01"):
        refused("ask", "why", "--logs", log, "--at", time, says=("is not a time", WRITE_TIME))
    refused("ask", "why", "--at", "last", says=("needs logs", WRITE_TIME))
    (place / "untimed.log").write_text("no time here\n")
    refused(
        "ask", "why", "--at", "last", "--logs", place / "untimed.log",
        says=("finds no time in the logs", WRITE_TIME),
    )  # fmt: skip
    Path("diagnosis.toml").write_text("[plugins.logs]\npath = 1")
    refused("ask", "why", "--at", "last", says=("path", "Did you mean 'paths'?"))


# --- single tools and the knowledge base -----------------------------------------------------


def test_unknown_tool(refused: Refused, log: Path) -> None:
    refused("tool", "query_log", "--logs", log, says=("there are: query_logs", "'query_logs'?"))
    refused("tool", "nothing", says=("there are: none", "--logs PATH"))


@pytest.mark.parametrize(
    ("tool", "flag"),
    [
        ("query_logs", "--logs"),
        ("lookup_knowledge", "--knowledge"),
        ("query_mysql", "--mysql"),
        ("query_postgresql", "--postgresql"),
    ],
)
def test_tool_without_a_source_names_the_flag(refused: Refused, tool: str, flag: str) -> None:
    refused("tool", tool, says=(f"The tool '{tool}' has no source", flag))


@pytest.mark.parametrize(
    ("request_json", "problem"),
    [
        ("{", "not JSON: Expecting property name"),
        ("", "not JSON"),
        ("[1]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"limit": NaN}', "NaN is not JSON"),
        ('{"limit": 1, "limit": 2}', "duplicate key"),
        ('{"contains": "\udcff"}', "not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        (f'{{"limit": {"9" * 5_000}}}', "not JSON"),
    ],
)
def test_request_that_is_none(refused: Refused, log: Path, request_json: str, problem: str) -> None:
    refused("tool", "query_logs", request_json, "--logs", log, says=(problem, "Write it like"))


def test_knowledge(refused: Refused, place: Path) -> None:
    (place / "binary.md").write_bytes(b"\0\xff" * 100)
    (place / "empty").mkdir()
    good = place / "good.md"
    good.write_text("# Good\n\nIt is good.\n")
    for path, problem in (
        (place / "no.md", "does not exist"),
        (place / "binary.md", "is a binary file"),
        (place / "empty", "holds no Markdown"),
    ):
        refused("knowledge", "add", good, path, says=(problem, "document"))
        refused("ask", "why", "--knowledge", path, says=(problem, "document"))
    refused("knowledge", "remove", "abc", says=("no document 'abc'", "knowledge list"))
    refused("knowledge", "search", " ", says=("blank", "Say what"))


def test_looking_into_a_knowledge_base_that_is_not_there_makes_none(
    command: Command, place: Path
) -> None:
    listed, found = command("knowledge", "list"), command("knowledge", "search", "x", "--json")
    assert "empty" in listed.out
    assert found.out.strip() == "[]"
    assert not (place / "data").exists()


# --- wrong use -------------------------------------------------------------------------------


def test_json_errors_are_text_on_stderr_too(refused: Refused) -> None:
    refused("ask", "why", "--json", says=("nothing to look at", "--logs PATH"))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["ask"], "Missing argument 'QUERY'"),
        (["ask", "why", "again"], "unexpected extra argument"),
        (["ask", "why", "--nope"], "No such option: --nope"),
        (["ask", "why", "--logs", ""], "'--logs': the path is empty"),
        (["ask", "why", "--config", " "], "'--config': the path is empty"),
        (["nope"], "No such command 'nope'"),
        (["knowledge", "search", "x", "--top-k", "0"], "'--top-k'"),
    ],
)
def test_wrong_use(command: Command, arguments: list[str], problem: str) -> None:
    done = command(*arguments)
    *usage, error = done.err.splitlines()
    assert (done.status, done.out) == (2, "")
    assert usage[0].startswith("Usage: diagnosis ")
    assert error.startswith("Error: ")
    assert problem in error
