"""Adding, replacing, removing and finding documents in a folder, whole or not at all."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from diagnosis.plugin import IndexStatus, InMemoryDocuments, SourceError
from diagnosis_knowledge.base import AddedFile, AddStatus, KnowledgeBase
from diagnosis_knowledge.chroma_vectors import ChromaVectors, folder_client
from diagnosis_knowledge.chunking import Chunk
from diagnosis_knowledge.documents import Document
from diagnosis_knowledge.index import Index
from diagnosis_knowledge.settings import VECTORS_NAME, KnowledgeSettings

DISK = "# Disk full\n\n## Cause\n\nOld logs fill the volume.\n\n## Action\n\nDelete rotated logs.\n"
LATENCY = "# Slow answers\n\n## Cause\n\nThe connection pool is exhausted.\n"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    (folder / "storage").mkdir(parents=True)
    (folder / "storage/disk.md").write_text(DISK)
    (folder / "latency.md").write_text(LATENCY)
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> KnowledgeSettings:
    return KnowledgeSettings(folder=tmp_path / "kb")


@pytest.fixture
async def base(settings: KnowledgeSettings, word_embedder) -> AsyncIterator[KnowledgeBase]:
    opened = await KnowledgeBase.open(settings, word_embedder)
    yield opened
    await opened.close()


async def sources(base: KnowledgeBase, query: str, category: str | None = None) -> list[str]:
    found = await base.search(query, 10, category)
    return [chunk.source for chunk in found.chunks]


def files_below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def vector_ids(folder: Path) -> set[str]:
    vectors = ChromaVectors(folder_client(folder / VECTORS_NAME), "chunks")
    try:
        return vectors.ids()
    finally:
        vectors.close()


async def test_added_documents_are_listed_and_found(base: KnowledgeBase, documents: Path) -> None:
    seen: list[AddedFile] = []
    report = await base.add([documents], seen.append)
    assert [(f.source, f.status, f.chunks) for f in report] == [
        ("latency.md", AddStatus.ADDED, 1),
        ("storage/disk.md", AddStatus.ADDED, 2),
    ]
    assert tuple(seen) == report
    listed = [(d.source, d.title, d.category, d.status, d.chunks) for d in await base.list()]
    assert listed == [
        ("latency.md", "Slow answers", None, IndexStatus.INDEXED, 1),
        ("storage/disk.md", "Disk full", "storage", IndexStatus.INDEXED, 2),
    ]
    found = await base.search("old logs fill the disk", top_k=1)
    assert found.chunks[0].section == "Disk full/Cause"
    assert found.chunks[0].text == "Old logs fill the volume."
    assert (found.documents, found.sections) == (2, 3)


async def test_the_same_content_again_is_not_indexed_again(
    base: KnowledgeBase, documents: Path, word_embedder
) -> None:
    await base.add([documents])
    embedded = len(word_embedder.embedded)
    shutil.copy(documents / "latency.md", documents / "copy.md")
    report = await base.add([documents])
    assert {f.source: (f.status, f.reason) for f in report} == {
        "latency.md": (AddStatus.UNCHANGED, None),
        "storage/disk.md": (AddStatus.UNCHANGED, None),
        "copy.md": (AddStatus.UNCHANGED, "same content as latency.md"),
    }
    assert len(word_embedder.embedded) == embedded
    assert len(await base.list()) == 2


async def test_a_changed_file_replaces_its_chunks(
    base: KnowledgeBase, documents: Path, settings: KnowledgeSettings
) -> None:
    await base.add([documents])
    (documents / "latency.md").write_text("# Slow answers\n\nA firewall drops packets.\n")
    report = await base.add([documents / "latency.md"])
    assert [(f.source, f.status) for f in report] == [("latency.md", AddStatus.REPLACED)]
    assert (await base.search("firewall drops packets")).chunks[
        0
    ].text == "A firewall drops packets."
    assert await sources(base, "connection pool is exhausted") == []
    await base.close()
    assert len(vector_ids(settings.index_folder)) == 3


async def test_a_changed_file_that_equals_another_no_longer_says_what_it_said(
    base: KnowledgeBase, documents: Path
) -> None:
    await base.add([documents])
    shutil.copy(documents / "storage/disk.md", documents / "latency.md")
    report = await base.add([documents])
    assert {f.source: f.status for f in report} == {
        "latency.md": AddStatus.REPLACED,
        "storage/disk.md": AddStatus.UNCHANGED,
    }
    assert await sources(base, "connection pool is exhausted") == []


async def test_a_removed_document_is_gone(base: KnowledgeBase, documents: Path) -> None:
    await base.add([documents])
    [gone] = [d for d in await base.list() if d.source == "latency.md"]
    assert await base.remove(gone.document_id)
    assert not await base.remove(gone.document_id)
    assert [d.source for d in await base.list()] == ["storage/disk.md"]
    assert await sources(base, "connection pool is exhausted") == []


async def test_what_was_added_is_there_after_reopening(
    settings: KnowledgeSettings, documents: Path, word_embedder
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder)
    await base.add([documents])
    before = await base.search("old logs fill the disk")
    await base.close()
    base = await KnowledgeBase.open(settings, word_embedder)
    assert await base.search("old logs fill the disk") == before
    await base.close()


async def test_a_category_narrows_the_search(base: KnowledgeBase, documents: Path) -> None:
    await base.add([documents])
    assert await sources(base, "old logs fill the disk", "storage")
    assert await sources(base, "connection pool is exhausted", "storage") == []
    nothing = await base.search("old logs fill the disk", 5, "unknown")
    assert (nothing.chunks, nothing.documents, nothing.sections) == ((), 0, 0)


async def test_a_file_that_fails_stops_no_other(base: KnowledgeBase, documents: Path) -> None:
    (documents / "binary.md").write_bytes(b"\0\1")
    report = {f.source: f for f in await base.add([documents])}
    assert report["binary.md"].status is AddStatus.FAILED
    assert report["binary.md"].reason == "is a binary file"
    assert report["latency.md"].status is AddStatus.ADDED


async def test_two_files_of_one_name_do_not_overwrite_each_other(
    base: KnowledgeBase, documents: Path
) -> None:
    one, other = _write(documents / "a/x.md", "one"), _write(documents / "b/x.md", "other")
    report = await base.add([one, other])
    assert [(f.source, f.status) for f in report] == [
        ("x.md", AddStatus.FAILED),
        ("x.md", AddStatus.ADDED),
    ]
    assert report[0].reason == "another file of this call has the same name"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


async def test_missing_paths_index_nothing(base: KnowledgeBase, documents: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        await base.add([documents, documents / "missing"])
    assert await base.list() == ()


async def test_an_index_of_another_model_is_refused_with_a_mend(
    settings: KnowledgeSettings, documents: Path, word_embedder
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder)
    await base.add([documents])
    await base.close()
    other = type(word_embedder)("another model")
    with pytest.raises(SourceError, match="'words, sharpened 2', not 'another model") as caught:
        await KnowledgeBase.open(settings, other)
    assert "diagnosis knowledge reindex" in caught.value.mend
    base = await KnowledgeBase.open(settings, word_embedder)  # the refusal let go of the lock
    assert len(await base.list()) == 2
    await base.close()


@pytest.mark.parametrize("other_length", [64, 300])
async def test_an_emptied_index_takes_any_model(
    settings: KnowledgeSettings, documents: Path, word_embedder, other_length: int
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder)
    for file in await base.add([documents]):
        await base.remove(file.document_id)
    await base.close()
    other = type(word_embedder)("another model")
    other.dimensions = other_length
    base = await KnowledgeBase.open(settings, other)
    assert {f.status for f in await base.add([documents])} == {AddStatus.ADDED}
    found = await base.search("old logs fill the disk", top_k=1)
    assert (found.by_meaning, found.chunks[0].source) == (True, "storage/disk.md")
    await base.close()


async def test_a_file_that_is_no_index_is_refused(settings: KnowledgeSettings) -> None:
    settings.index_folder.mkdir()
    (settings.index_folder / "registry.sqlite3").write_bytes(b"not a database" * 100)
    with pytest.raises(SourceError, match="cannot be used: its file is no SQLite database"):
        await KnowledgeBase.open(settings)


async def test_given_paths_leave_nothing_on_disk(
    tmp_path: Path, documents: Path, word_embedder, monkeypatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    before = files_below(tmp_path)
    base = await KnowledgeBase.open(KnowledgeSettings(paths=(documents,)), word_embedder)
    await base.add([documents])
    assert await sources(base, "old logs fill the disk")
    await base.close()
    assert files_below(tmp_path) == before


async def test_lost_vectors_are_noticed(
    settings: KnowledgeSettings, documents: Path, word_embedder
) -> None:
    registry = InMemoryDocuments()
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    await base.add([documents])
    await base.close()
    shutil.rmtree(settings.index_folder / VECTORS_NAME)
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    assert {d.status for d in await base.list()} == {IndexStatus.FAILED}
    assert {f.status for f in await base.add([documents])} == {AddStatus.ADDED}
    assert await sources(base, "old logs fill the disk")
    await base.close()


class HangingEmbedder:
    """Hangs at the first document that says so."""

    name = "hanging"
    dimensions = 2

    def __init__(self) -> None:
        self.hangs = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if any("pool" in text for text in texts):
            await asyncio.sleep(0.3)  # the other document is done by then
            self.hangs.set()
            await asyncio.sleep(3_600)
        return [[1.0, 0.0] for _ in texts]

    async def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]


async def test_a_cancelled_add_leaves_no_document_half_indexed(
    settings: KnowledgeSettings, documents: Path
) -> None:
    embedder = HangingEmbedder()
    base = await KnowledgeBase.open(settings, embedder)
    adding = asyncio.create_task(
        base.add([documents / "storage/disk.md", documents / "latency.md"])
    )
    await embedder.hangs.wait()
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    status = {d.source: (d.status, d.reason) for d in await base.list()}
    assert status["disk.md"] == (IndexStatus.INDEXED, None)
    assert status["latency.md"] == (
        IndexStatus.FAILED,
        "indexing was cancelled; add the file again",
    )
    await base.close()


async def test_a_progress_callback_that_raises_leaves_no_document_half_indexed(
    base: KnowledgeBase, documents: Path
) -> None:
    def interrupt(file: AddedFile) -> None:
        raise KeyError(file.source)

    with pytest.raises(KeyError):
        await base.add([documents], interrupt)
    await asyncio.sleep(0)
    assert {d.status for d in await base.list()} <= {IndexStatus.INDEXED, IndexStatus.FAILED}


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_no_question_breaks_the_word_search(question: str) -> None:
    index = Index(None, None)
    document = Document(
        "id", "a.md", "T", None, "0", (Chunk(0, "T", "磁盘 a_b.c 'x' OR \"y\" NEAR(z)"),)
    )
    index.finish(document, [])
    index.search(question, None, 5, None)
    index.search(f'{question}" OR *', None, 5, None)
    index.close()
