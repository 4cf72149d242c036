"""The command line keeps the status of documents in the database that settings name."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from diagnosis_knowledge import KnowledgeBase, KnowledgeSettings

from .conftest import Command, Refused


@pytest.fixture
def document(place: Path) -> Path:
    path = place / "disk.md"
    path.write_text("# Disk full\n\nOld logs fill the volume of the shop.\n")
    return path


@pytest.fixture
def default_file(place: Path) -> Path:
    return place / "data" / "diagnosis" / "diagnosis.sqlite3"


def statuses(file: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(file)) as connection:
        query = "SELECT source, index_status FROM api_document ORDER BY source"
        return connection.execute(query).fetchall()


def health(command: Command) -> dict[str, str]:
    rows = json.loads(command("plugins", "--json").out)["plugins"]
    [knowledge] = [row for row in rows if row["name"] == "knowledge"]
    return {check["name"]: check["detail"] for check in knowledge["health"]}


def test_every_command_uses_one_database(
    command: Command, document: Path, log: Path, default_file: Path
) -> None:
    assert command("knowledge", "list").status == 0
    assert health(command)["knowledge: index"] == "Nothing was added yet."
    assert not default_file.parent.exists(), "looking makes nothing"
    assert command("knowledge", "add", document).status == 0
    assert statuses(default_file) == [("disk.md", "INDEXED")]
    assert health(command)["knowledge: index"] == "Documents: 1 INDEXED."
    default_file.unlink()
    answer = command("ask", "Why is the disk full?", "--logs", log, "--json")
    assert answer.status in (0, 3)
    assert statuses(default_file) == [("disk.md", "INDEXED")]
    [listed] = json.loads(command("knowledge", "list", "--json").out)
    assert command("knowledge", "remove", listed["document_id"]).status == 0
    assert statuses(default_file) == []


def test_documents_of_one_use_make_no_database(
    command: Command, document: Path, log: Path, default_file: Path
) -> None:
    answer = command("ask", "Why is the disk full?", "--logs", log, "--knowledge", document)
    assert answer.status in (0, 3)
    assert not default_file.exists()


def test_the_file_is_where_settings_say(
    command: Command, document: Path, place: Path, default_file: Path
) -> None:
    (place / "work" / "diagnosis.toml").write_text('[storage]\nfile = "~/own/statuses.db"\n')
    assert command("knowledge", "add", document).status == 0
    assert statuses(place / "home" / "own" / "statuses.db") == [("disk.md", "INDEXED")]
    assert not default_file.exists()


@pytest.mark.parametrize("words", [["list"], ["search", "disk"], ["reindex"]])
def test_a_database_that_cannot_be_used_is_refused(
    command: Command, refused: Refused, document: Path, default_file: Path, words: list[str]
) -> None:
    assert command("knowledge", "add", document).status == 0
    default_file.write_bytes(b"broken" * 1_000)
    if words == ["reindex"]:  # the vectors are no matter of the database
        assert command("knowledge", *words).status == 0
        return
    says = (f"The database {default_file} cannot be used: it is no SQLite", "move it away")
    refused("knowledge", *words, says=says)


def test_a_url_is_no_file(refused: Refused, place: Path) -> None:
    (place / "work" / "diagnosis.toml").write_text('[storage]\nfile = "postgresql://db/x"\n')
    says = ("storage.file in diagnosis.toml: it is the path of a file, not a URL", "Correct it")
    refused("knowledge", "list", says=says)


def test_a_folder_that_another_process_holds_is_refused(
    process: Callable[..., object], document: Path, place: Path
) -> None:
    async def held() -> object:
        settings = KnowledgeSettings(folder=place / "data" / "diagnosis" / "knowledge")
        base = await KnowledgeBase.open(settings)
        try:
            await base.add([document])
            return await asyncio.to_thread(process, "knowledge", "list")
        finally:
            await base.close()

    done = asyncio.run(held())
    assert (done.status, done.out) == (2, "")  # type: ignore[attr-defined]
    problem, mend = done.err.splitlines()  # type: ignore[attr-defined]
    assert "is in use by another process." in problem
    assert mend.startswith("Wait until that process has ended")
