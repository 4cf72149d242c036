"""The document registry keeps what it was told, in memory and in the database alike."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from diagnosis.errors import SourceError
from diagnosis.plugin import DocumentRecord, DocumentRegistry, IndexStatus, InMemoryDocuments
from diagnosis.storage.late import LateDocuments


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "diagnosis.sqlite3"


@pytest.fixture
async def stored(file: Path) -> AsyncIterator[LateDocuments]:
    registry = LateDocuments(file)
    yield registry
    await registry.close()


@pytest.fixture(params=["memory", "database"])
def registry(request: pytest.FixtureRequest, stored: LateDocuments) -> DocumentRegistry:
    return stored if request.param == "database" else InMemoryDocuments()


def record(
    name: str, status: IndexStatus = IndexStatus.INDEXED, reason: str | None = None
) -> DocumentRecord:
    return DocumentRecord(f"id of {name}", name, "0" * 64, status, reason)


async def test_records_come_back_as_they_were_told_by_source(registry: DocumentRegistry) -> None:
    told = [record("b.md", IndexStatus.FAILED, "原因 'x'"), record("a.md"), record("中.md")]
    await registry.record("index", told)
    assert await registry.documents("index") == (told[1], told[0], told[2])


@pytest.mark.parametrize("status", IndexStatus)
async def test_every_status_is_kept(registry: DocumentRegistry, status: IndexStatus) -> None:
    await registry.record("index", [record("a.md", status)])
    assert [each.status for each in await registry.documents("index")] == [status]


async def test_a_later_record_takes_the_place_of_an_earlier_one(registry: DocumentRegistry) -> None:
    await registry.record("index", [record("a.md", IndexStatus.PENDING), record("b.md")])
    later = record("a.md", IndexStatus.FAILED, "why")
    await registry.record("index", [later])
    assert await registry.documents("index") == (later, record("b.md"))


async def test_indexes_share_no_record(registry: DocumentRegistry) -> None:
    await registry.record("one", [record("a.md")])
    await registry.record("other", [record("a.md", IndexStatus.FAILED, "why")])
    await registry.forget("one", ["id of a.md", "never there"])
    assert await registry.documents("one") == ()
    assert len(await registry.documents("other")) == 1


async def test_nothing_is_no_error(registry: DocumentRegistry) -> None:
    await registry.record("index", [])
    await registry.forget("index", [])
    assert await registry.documents("index") == ()


async def test_thousands_at_once(registry: DocumentRegistry) -> None:
    many = [record(f"{number:05}.md") for number in range(3_000)]
    await registry.record("index", many)
    assert await registry.documents("index") == tuple(many)
    await registry.forget("index", [each.document_id for each in many[1:]])
    assert await registry.documents("index") == (many[0],)


# --- in the database -------------------------------------------------------------------------


async def test_nothing_is_made_before_it_is_asked(file: Path, stored: LateDocuments) -> None:
    await stored.close()
    assert not file.parent.exists()


async def test_what_was_told_outlives_the_process(file: Path, stored: LateDocuments) -> None:
    await stored.record("index", [record("a.md")])
    await stored.close()
    other = LateDocuments(file)
    assert await other.documents("index") == (record("a.md"),)
    await other.close()


async def test_the_status_is_stored_as_text(file: Path, stored: LateDocuments) -> None:
    await stored.record("index", [record("a.md", IndexStatus.PROCESSING)])
    with closing(sqlite3.connect(file)) as connection:
        row = connection.execute("SELECT typeof(index_status), index_status FROM api_document")
        assert row.fetchall() == [("text", "PROCESSING")]


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE api_document SET index_status = 'ODD'", "it holds a value that is not known"),
        ("DROP TABLE api_document", "no such table: api_document"),
    ],
)
async def test_what_another_program_did_to_the_table_is_told(
    file: Path, stored: LateDocuments, damage: str, problem: str
) -> None:
    await stored.record("index", [record("a.md")])
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(damage)
    with pytest.raises(SourceError) as caught:
        await stored.documents("index")
    assert caught.value.problem == f"The database {file} cannot be used: {problem}."
    assert "move it away so that a new one is made" in caught.value.mend


async def test_calls_at_the_same_time_open_the_database_once(stored: LateDocuments) -> None:
    told = [record(f"{number}.md") for number in range(9)]
    await asyncio.gather(*(stored.record("index", [each]) for each in told))
    assert await stored.documents("index") == tuple(told)


@pytest.mark.parametrize("turns", range(0, 40, 3))
async def test_a_cancelled_call_is_kept_whole_or_not_at_all(
    stored: LateDocuments, turns: int
) -> None:
    before, after = [record("a.md"), record("b.md")], [record("a.md", IndexStatus.FAILED, "why")]
    await stored.record("index", before)
    recording = asyncio.create_task(stored.record("index", [*after, record("c.md")]))
    for _ in range(turns):
        await asyncio.sleep(0)
    recording.cancel()
    await asyncio.wait([recording])
    found = await stored.documents("index")
    assert found in (tuple(before), (*after, before[1], record("c.md")))
    await stored.record("index", after)
    assert (await stored.documents("index"))[0] == after[0]


async def test_two_processes_write_at_the_same_time(file: Path, stored: LateDocuments) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from diagnosis.plugin import DocumentRecord, IndexStatus\n"
        "from diagnosis.storage.late import LateDocuments\n"
        "async def main():\n"
        "    registry = LateDocuments(Path(sys.argv[1]))\n"
        "    for number in range(60):\n"
        "        one = DocumentRecord(str(number), f'{number}.md', '0', IndexStatus.INDEXED)\n"
        "        await registry.record('theirs', [one])\n"
        "    await registry.close()\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(file))
    written = 0
    while process.returncode is None or written < 60:
        await stored.record("ours", [record(f"{written}.md")])
        written += 1
    assert await process.wait() == 0
    assert len(await stored.documents("ours")) == written
    assert len(await stored.documents("theirs")) == 60


RECORD = """
import asyncio, resource, sys
from pathlib import Path
from diagnosis.errors import SourceError
from diagnosis.plugin import DocumentRecord, IndexStatus
from diagnosis.storage.late import LateDocuments

async def main():
    registry = LateDocuments(Path(sys.argv[1]))
    try:
        for number in range(20):
            some = [
                DocumentRecord(f"{number}.{i}", "a" * 4_000, "0", IndexStatus.INDEXED)
                for i in range(20)
            ]
            await registry.record("index", some)
    except SourceError as error:
        print(error)
    await registry.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    found = await registry.documents("index")
    print(len(found) % 20, len(found) > 0)
    await registry.close()

asyncio.run(main())
"""


def test_a_full_disk_is_told_and_loses_nothing_that_was_kept(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RECORD, str(file)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, -1)),
    )
    assert (done.returncode, done.stderr) == (0, "")
    problem, mend, kept = done.stdout.splitlines()
    assert problem.startswith(f"The database {file} cannot be used: ")
    assert mend == "Free space there, or set storage.file to another place."
    assert kept == "0 True"


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write anywhere"
)
def test_a_folder_that_may_not_be_written_is_told(file: Path) -> None:
    file.parent.mkdir(mode=0o555)
    mortal = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*mortal, sys.executable, "-c", RECORD, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"The database {file} cannot be used: it cannot be opened." in done.stdout
    assert "Make it a file that this user may write to" in done.stdout
