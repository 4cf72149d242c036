"""Vectors on a real Chroma server: several processes on one folder, and the server's failures."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from diagnosis.plugin import IndexStatus, InMemoryDocuments, SourceError
from diagnosis.storage.late import LateDocuments
from diagnosis_knowledge.base import KnowledgeBase
from diagnosis_knowledge.reindexing import reindex
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_knowledge.words import terms

DISK = "# Disk full\n\n## Cause\n\nOld logs fill the volume.\n\n## Action\n\nDelete rotated logs.\n"


class Words:
    """Counts of hashed words."""

    dimensions = 64

    def __init__(self, name: str = "words") -> None:
        self.name = name

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        vector = [0.01] * self.dimensions
        for word in terms(text):
            vector[hashlib.sha256(word.encode()).digest()[0] % self.dimensions] += 1.0
        return vector


class ChromaProcess:
    """A server of the test's own, on a free port, with its data in a folder."""

    def __init__(self, program: str, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(
            [program, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait(self) -> None:
        for _ in range(600):
            try:
                if httpx.get(f"{self.url}/api/v2/heartbeat").is_success:
                    return
            except httpx.HTTPError:
                pass
            assert self._process.poll() is None, "the server ended"
            time.sleep(0.1)
        pytest.fail("the server did not start in a minute")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ChromaProcess]:
    program = shutil.which("chroma", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("the program `chroma` is not installed beside Python")
    process = ChromaProcess(program, tmp_path / "chroma")
    try:
        process.wait()
        yield process
    finally:
        process.kill()


@pytest.fixture
def settings(tmp_path: Path, server: ChromaProcess) -> KnowledgeSettings:
    return KnowledgeSettings(folder=tmp_path / "kb", chroma_url=server.url)


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "disk.md"
    path.write_text(DISK)
    return path


async def found(base: KnowledgeBase, query: str = "old logs fill the volume") -> list[str]:
    return [chunk.source for chunk in (await base.search(query)).chunks]


class Held(Words):
    """Embeds documents only once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if any("Disk" in text for text in texts):
            self.asked.set()
            await self.go.wait()
        return await super().embed_documents(texts)


async def test_two_at_a_time_see_what_one_of_them_adds_and_removes(
    settings, document, words
) -> None:
    first = await KnowledgeBase.open(settings, words)
    second = await KnowledgeBase.open(settings, Words())
    [added] = await first.add([document])
    assert await found(second) != []
    assert (await second.search("old logs")).by_meaning
    assert await second.remove(added.document_id)
    assert await found(first) == []
    await first.close()
    await second.close()


async def test_one_writes_at_a_time_and_nobody_spoils_unfinished_work(
    settings, document, tmp_path
) -> None:
    other = tmp_path / "other.md"
    other.write_text("# Queues\n\nMessages pile up.\n")
    held, registry = Held(), InMemoryDocuments()
    writer = await KnowledgeBase.open(settings, held, registry)
    adding = asyncio.create_task(writer.add([document]))
    await held.asked.wait()
    reader = await KnowledgeBase.open(settings, Words(), registry)
    assert await found(reader) == []
    [unfinished] = await reader.list()
    assert unfinished.status is IndexStatus.PROCESSING
    with pytest.raises(SourceError, match="in use by another process"):
        await reader.add([other])
    held.go.set()
    await adding
    assert await found(reader) != []
    assert [file.status for file in await reader.add([other])] == ["ADDED"]
    await writer.close()
    await reader.close()


async def test_what_a_killed_process_left_is_cleaned_up_by_the_next(
    settings, document, words, tmp_path
) -> None:
    database = tmp_path / "diagnosis.sqlite3"
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from diagnosis.storage.late import LateDocuments\n"
        "from diagnosis_knowledge import KnowledgeBase, KnowledgeSettings\n"
        "class Dies:\n"
        "    name, dimensions = 'words', 2\n"
        "    async def embed_documents(self, texts):\n"
        "        os.kill(os.getpid(), 9)\n"
        "    async def embed_query(self, text):\n"
        "        return [1.0, 0.0]\n"
        "async def main():\n"
        "    settings = KnowledgeSettings(folder=Path(sys.argv[1]), chroma_url=sys.argv[2])\n"
        "    registry = LateDocuments(Path(sys.argv[4]))\n"
        "    base = await KnowledgeBase.open(settings, Dies(), registry)\n"
        "    await base.add([Path(sys.argv[3])])\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script,
        str(settings.folder), str(settings.chroma_url), str(document), str(database),
    )  # fmt: skip
    assert await process.wait() == -9
    registry = LateDocuments(database)
    base = await KnowledgeBase.open(settings, words, registry)
    assert [known.status for known in await base.list()] == [IndexStatus.FAILED]
    await base.add([document])
    assert await found(base) != []
    await base.close()
    await registry.close()


async def test_a_collection_belongs_to_one_folder(settings, document, words, tmp_path) -> None:
    base = await KnowledgeBase.open(settings, words)
    await base.add([document])
    other = settings.model_copy(update={"folder": tmp_path / "other"})
    with pytest.raises(SourceError, match="belongs to another knowledge folder"):
        await KnowledgeBase.open(other, Words())
    named = other.model_copy(update={"collection": "second-team"})
    second = await KnowledgeBase.open(named, Words())
    assert await found(second) == []
    assert await found(base) != []
    await base.close()
    await second.close()


async def test_another_collection_with_none_of_the_vectors_is_refused_and_nothing_is_lost(
    settings, document, words
) -> None:
    base = await KnowledgeBase.open(settings, words)
    await base.add([document])
    await base.close()
    moved = settings.model_copy(update={"collection": "elsewhere"})
    with pytest.raises(SourceError, match="holds no vector"):
        await KnowledgeBase.open(moved, words)
    assert await reindex(moved, words) == 2
    base = await KnowledgeBase.open(moved, words)
    assert await found(base) != []
    await base.close()


async def test_reindexing_on_the_server(settings, document, words) -> None:
    base = await KnowledgeBase.open(settings, words)
    await base.add([document])
    await base.close()
    await reindex(settings, Words("another"))
    base = await KnowledgeBase.open(settings, Words("another"))
    assert (await base.search("old logs fill the volume")).by_meaning
    await base.close()


async def test_a_server_that_goes_leaves_words_and_refuses_writing(
    settings, document, words, server, tmp_path
) -> None:
    base = await KnowledgeBase.open(settings, words)
    await base.add([document])
    server.kill()
    result = await base.search("old logs fill the volume")
    assert [chunk.source for chunk in result.chunks] == ["disk.md"]
    assert not result.by_meaning
    other = tmp_path / "other.md"
    other.write_text("# Queues\n\nMessages pile up.\n")
    with pytest.raises(SourceError, match="cannot be stored"):
        await base.add([other])
    await base.close()
    with pytest.raises(SourceError) as refused:
        await KnowledgeBase.open(settings, words)
    assert "No Chroma server answers at 127.0.0.1:" in refused.value.problem
    assert "plugins.knowledge.chroma_url" in refused.value.mend


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no http or https address"):
        KnowledgeSettings(chroma_url="127.0.0.1:8000")
