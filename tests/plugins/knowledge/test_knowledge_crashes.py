"""A process that is killed, or whose disk is full, while it indexes loses nothing.

Real processes are killed at random moments of an ingest that replaces some documents and adds
others. The next start finds each of them whole, in one version, or tells it FAILED with a reason.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from diagnosis.plugin import IndexStatus
from diagnosis.storage.late import LateDocuments
from diagnosis_knowledge.base import AddStatus, KnowledgeBase
from diagnosis_knowledge.chroma_vectors import ChromaVectors, folder_client
from diagnosis_knowledge.settings import REGISTRY_NAME, VECTORS_NAME, KnowledgeSettings
from diagnosis_knowledge.statuses import INTERRUPTED

DOCUMENTS = 18
MOMENTS = 12
UNFINISHED = {INTERRUPTED, "indexing failed; add the file again"}
SEED = random.randrange(10**6)  # every run kills at other moments; a failing test shows which

ADD = """
import asyncio, resource, sys
from pathlib import Path
from diagnosis.errors import SourceError
from diagnosis.storage.late import LateDocuments
from diagnosis_knowledge import KnowledgeBase, KnowledgeSettings
from tests.plugins.knowledge.conftest import WordEmbedder

class Slow(WordEmbedder):
    async def embed_documents(self, texts):
        await asyncio.sleep(0.01)
        return await super().embed_documents(texts)

async def main(folder, database, documents, limit):
    registry = LateDocuments(Path(database))
    base = await KnowledgeBase.open(KnowledgeSettings(folder=Path(folder)), Slow(), registry)
    if int(limit):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), -1))
    print("adding", flush=True)
    try:
        await base.add([Path(documents)])
        print("added", flush=True)
    except SourceError as error:
        print(error, flush=True)
    await base.close()
    await registry.close()

asyncio.run(main(*sys.argv[1:]))
"""


def unmeasured() -> dict[str, str]:
    """The environment without a measurement of coverage, which would need the disk as well."""
    return {name: value for name, value in os.environ.items() if "COVERAGE" not in name}


def text_of(number: int, version: int) -> str:
    sections = "".join(
        f"## Part {part}\n\nword{number}x{part}version{version} tells of it.\n\n"
        for part in range(1 + number % 4)
    )
    return f"# Document {number}\n\n{sections}"


class Place:
    """An index whose first half holds version 1, and a folder with version 2 of everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = KnowledgeSettings(folder=folder / "kb")
        self.database = folder / "diagnosis.sqlite3"
        self.documents = folder / "documents"
        self.documents.mkdir(exist_ok=True)

    def write(self, numbers: range, version: int) -> None:
        for number in numbers:
            (self.documents / f"{number:02}.md").write_text(text_of(number, version))

    def start(self, limit: int = 0) -> subprocess.Popen[str]:
        """A process that adds the documents; it is about to when this returns."""
        process = subprocess.Popen(
            [sys.executable, "-c", ADD, str(self.settings.folder), str(self.database),
             str(self.documents), str(limit)],
            cwd=Path(__file__).parents[3],
            env=unmeasured(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "adding\n"
        return process


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("half"))
    place.write(range(DOCUMENTS // 2), version=1)
    process = place.start()
    assert process.communicate() == ("added\n", "")
    place.write(range(DOCUMENTS), version=2)
    return place


@pytest.fixture(scope="module")
def duration(half: Place, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds that the ingest takes when nothing is in its way."""
    process = copy_of(half, tmp_path_factory.mktemp("whole")).start()
    assert process.stdout is not None
    began = time.monotonic()
    assert process.stdout.readline() == "added\n"
    taken = time.monotonic() - began
    process.communicate()
    return taken


def copy_of(place: Place, folder: Path) -> Place:
    shutil.copytree(place.folder, folder, dirs_exist_ok=True)
    return Place(folder)


@pytest.fixture
def place(half: Place, tmp_path: Path) -> Place:
    return copy_of(half, tmp_path)


async def check_that_all_is_whole(place: Place, embedder: object) -> set[str]:
    """Look at everything after the next start, add the documents again, and look once more.

    Returns what the documents were after the start: a status and a version.
    """
    registry = LateDocuments(place.database)
    base = await KnowledgeBase.open(place.settings, embedder, registry)  # type: ignore[arg-type]
    seen = await check_documents(base)
    check_that_files_agree(place)
    again = {file.status for file in await base.add([place.documents])}
    assert again <= {AddStatus.ADDED, AddStatus.REPLACED, AddStatus.UNCHANGED}
    assert await check_documents(base) == {"INDEXED 2"}
    assert {(d.status, d.reason) for d in await base.list()} == {(IndexStatus.INDEXED, None)}
    await base.close()
    await registry.close()
    check_that_files_agree(place)
    check_vectors(place)
    return seen


async def check_documents(base: KnowledgeBase) -> set[str]:
    seen = set()
    for document in await base.list():
        number = int(document.source.removesuffix(".md"))
        found = {}
        for version in (1, 2):
            words = [f"word{number}x{part}version{version}" for part in range(1 + number % 4)]
            hits = [await base.search(word, 10) for word in words]
            texts = [chunk.text for hit in hits for chunk in hit.chunks]
            found[version] = [any(word in text for text in texts) for word in words]
        whole = [version for version, parts in found.items() if all(parts)]
        some = [version for version, parts in found.items() if any(parts)]
        assert whole == some, f"{document} is found in part: {found}"
        if document.status is IndexStatus.FAILED:
            assert (whole, document.chunks) == ([], 0)
            assert document.reason in UNFINISHED
            seen.add("FAILED")
            continue
        assert document.status is IndexStatus.INDEXED
        assert len(whole) == 1
        assert document.chunks == 1 + number % 4
        assert document.reason in ({None} if whole == [2] else {None, *UNFINISHED})
        seen.add(f"INDEXED {whole[0]}")
    return seen


def rows(file: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(sql).fetchall()


def check_that_files_agree(place: Place) -> None:
    index = place.settings.index_folder / REGISTRY_NAME
    published = rows(index, "SELECT document_id, sha256 FROM documents")
    recorded = rows(
        place.database, "SELECT doc_id, file_hash FROM api_document WHERE index_status = 'INDEXED'"
    )
    assert sorted(published) == sorted(recorded)
    assert rows(place.database, "SELECT DISTINCT index_status FROM api_document") != []
    for file in (index, place.database):
        assert rows(file, "PRAGMA integrity_check") == [("ok",)]


def check_vectors(place: Place) -> None:
    index = place.settings.index_folder
    vectors = ChromaVectors(folder_client(index / VECTORS_NAME), "chunks")
    try:
        chunks = {str(row[0]) for row in rows(index / REGISTRY_NAME, "SELECT chunk_id FROM chunks")}
        assert vectors.ids() == chunks
        assert rows(index / REGISTRY_NAME, "SELECT * FROM stray_vectors") == []
    finally:
        vectors.close()


@pytest.mark.parametrize("moment", range(MOMENTS))
async def test_kill_9_at_a_random_moment(
    place: Place, duration: float, moment: int, word_embedder
) -> None:
    fraction = (moment + random.Random(f"{SEED} {moment}").random()) / MOMENTS
    process = place.start()
    await asyncio.sleep(fraction * duration)
    process.kill()
    written, problems = process.communicate()
    seen = await check_that_all_is_whole(place, word_embedder)
    print(f"seed {SEED}: killed after {fraction:.2f} of the ingest: {written!r} {seen}")
    assert problems == ""


async def test_a_process_killed_at_every_start_still_gets_there(
    place: Place, duration: float, word_embedder
) -> None:
    for _ in range(4):
        process = place.start()
        await asyncio.sleep(duration * random.Random(SEED).uniform(0.1, 0.7))
        process.kill()
        process.communicate()
    await check_that_all_is_whole(place, word_embedder)


@pytest.mark.parametrize("limit", [1, 40_000, 120_000, 300_000])
async def test_a_full_disk_is_told_in_two_sentences_and_loses_nothing(
    place: Place, limit: int, word_embedder
) -> None:
    process = place.start(limit)
    written, problems = process.communicate()
    assert process.returncode == 0, problems
    assert "Traceback" not in problems, problems
    told = written.splitlines()
    assert len(told) == 2, written
    assert all(sentence.endswith(".") for sentence in told)
    await check_that_all_is_whole(place, word_embedder)


def command(place: Place, *arguments: str, limit: int | None = None, mortal: bool = False):
    program = [sys.executable, "-c", "from diagnosis.cli.main import run; run()", *arguments]
    if mortal and os.geteuid() == 0:
        program = ["setpriv", "--bounding-set=-dac_override", *program]
    return subprocess.run(
        program,
        env={
            **unmeasured(),
            "DIAGNOSIS_STORAGE__FILE": str(place.database),
            "DIAGNOSIS_PLUGINS__KNOWLEDGE__FOLDER": str(place.settings.folder),
        },
        cwd=place.folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=None
        if limit is None
        else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1)),
    )


def told(done: subprocess.CompletedProcess[str]) -> list[str]:
    lines = done.stderr.splitlines()
    assert done.returncode == 2, done.stderr
    assert len(lines) == 2, done.stderr
    assert all(line.endswith(".") for line in lines)
    return lines


@pytest.mark.parametrize("limit", [1, 60_000])
def test_the_command_tells_of_a_full_disk(tmp_path: Path, limit: int) -> None:
    place = Place(tmp_path)
    place.write(range(2), 1)
    assert "Free space" in told(command(place, "knowledge", "add", "documents", limit=limit))[1]


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write anywhere"
)
def test_the_command_tells_of_a_folder_that_may_not_be_written(place: Place) -> None:
    place.settings.index_folder.chmod(0o555)
    for file in place.settings.index_folder.iterdir():
        file.chmod(0o444 if file.is_file() else 0o555)
    for words in (["list"], ["add", "documents"]):
        [problem, _] = told(command(place, "knowledge", *words, mortal=True))
        assert f"The knowledge folder {place.settings.folder} cannot be used" in problem
