"""Index and document registry are two databases: opening the index makes them agree."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from diagnosis.plugin import (
    DocumentRecord,
    DocumentRegistry,
    IndexStatus,
    InMemoryDocuments,
    SourceError,
)
from diagnosis.storage.late import LateDocuments
from diagnosis_knowledge.base import AddStatus, KnowledgeBase
from diagnosis_knowledge.documents import find_files
from diagnosis_knowledge.registry import PublishedDocument
from diagnosis_knowledge.settings import REGISTRY_NAME, KnowledgeSettings
from diagnosis_knowledge.statuses import INTERRUPTED, LOST, Statuses

OLD, NEW = "0" * 64, "1" * 64
PUBLISHED = PublishedDocument("id", "a.md", "A", None, OLD, 3)
S = IndexStatus


def record(status: IndexStatus, file_hash: str = OLD, reason: str | None = None) -> DocumentRecord:
    return DocumentRecord("id", "a.md", file_hash, status, reason)


@pytest.mark.parametrize(
    ("before", "published", "after"),
    [
        (None, PUBLISHED, record(S.INDEXED)),
        (record(S.INDEXED), PUBLISHED, record(S.INDEXED)),
        (record(S.INDEXED, OLD, "newer failed"), PUBLISHED, record(S.INDEXED, OLD, "newer failed")),
        # killed after it was published, before that was recorded
        (record(S.PROCESSING), PUBLISHED, record(S.INDEXED)),
        (record(S.PENDING), PUBLISHED, record(S.INDEXED)),
        # killed while a newer version was on its way: the older one stays
        (record(S.PROCESSING, NEW), PUBLISHED, record(S.INDEXED, OLD, INTERRUPTED)),
        (record(S.PENDING, NEW), PUBLISHED, record(S.INDEXED, OLD, INTERRUPTED)),
        (record(S.FAILED, NEW, "why"), PUBLISHED, record(S.INDEXED, OLD, "why")),
        (record(S.INDEXED, NEW), PUBLISHED, record(S.INDEXED)),
        (record(S.PENDING), None, record(S.FAILED, OLD, INTERRUPTED)),
        (record(S.PROCESSING), None, record(S.FAILED, OLD, INTERRUPTED)),
        (record(S.INDEXED), None, record(S.FAILED, OLD, LOST)),
        (record(S.FAILED, OLD, "why"), None, record(S.FAILED, OLD, "why")),
    ],
)
async def test_what_can_be_found_decides(before, published, after) -> None:
    registry = InMemoryDocuments()
    statuses = Statuses(registry, "index")
    await registry.record("index", [before] if before else [])
    await registry.record("another", [record(S.PROCESSING)])
    await statuses.settle([published] if published else [], INTERRUPTED)
    assert await registry.documents("index") == (after,)
    await statuses.settle([published] if published else [], "settled already")
    assert await registry.documents("index") == (after,)
    assert await registry.documents("another") == (record(S.PROCESSING),)


async def test_documents_that_others_work_on_are_left_alone() -> None:
    registry = InMemoryDocuments()
    mine, other = record(S.PROCESSING), replace(record(S.PROCESSING), document_id="other")
    await registry.record("index", [mine, other])
    await Statuses(registry, "index").settle([], "why", {"id"})
    assert set(await registry.documents("index")) == {record(S.FAILED, OLD, "why"), other}


# --- on real files ---------------------------------------------------------------------------


@pytest.fixture
def settings(tmp_path: Path) -> KnowledgeSettings:
    return KnowledgeSettings(folder=tmp_path / "kb")


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[LateDocuments]:
    opened = LateDocuments(tmp_path / "diagnosis.sqlite3")
    yield opened
    await opened.close()


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "disk.md").write_text("# Disk full\n\nOld logs fill the volume.\n")
    (folder / "pool.md").write_text("# Slow answers\n\nThe connection pool is exhausted.\n")
    return folder


async def listed(
    settings: KnowledgeSettings, embedder, registry: DocumentRegistry | None
) -> list[tuple[str, IndexStatus, str | None, int]]:
    base = await KnowledgeBase.open(settings, embedder, registry)
    try:
        return [(d.source, d.status, d.reason, d.chunks) for d in await base.list()]
    finally:
        await base.close()


BOTH = [("disk.md", S.INDEXED, None, 1), ("pool.md", S.INDEXED, None, 1)]


async def test_a_deleted_database_is_filled_again_from_the_folder(
    settings, registry, documents, word_embedder, tmp_path
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    await base.add([documents])
    await base.close()
    await registry.close()
    for file in tmp_path.glob("diagnosis.sqlite3*"):
        file.unlink()
    assert await listed(settings, word_embedder, registry) == BOTH
    with closing(sqlite3.connect(tmp_path / "diagnosis.sqlite3")) as connection:
        rows = connection.execute("SELECT source, index_status FROM api_document ORDER BY source")
        assert rows.fetchall() == [("disk.md", "INDEXED"), ("pool.md", "INDEXED")]


async def test_a_deleted_folder_leaves_nothing_of_it_in_a_new_one(
    settings, registry, documents, word_embedder
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    await base.add([documents])
    await base.close()
    shutil.rmtree(settings.index_folder)
    assert await listed(settings, word_embedder, registry) == []


async def test_two_folders_share_one_database(
    settings, registry, documents, word_embedder, tmp_path
) -> None:
    other = KnowledgeSettings(folder=tmp_path / "other")
    first = await KnowledgeBase.open(settings, word_embedder, registry)
    second = await KnowledgeBase.open(other, word_embedder, registry)
    await asyncio.gather(first.add([documents]), second.add([documents / "disk.md"]))
    await first.close()
    await second.close()
    assert await listed(settings, word_embedder, registry) == BOTH
    assert await listed(other, word_embedder, registry) == BOTH[:1]


async def test_a_removal_that_is_killed_in_the_middle_leaves_the_document_as_it_was(
    settings, registry, documents, word_embedder
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    added = await base.add([documents])
    await base._statuses.forget(added[0].document_id)  # and then the process dies
    assert {d.status for d in await base.list()} == {S.INDEXED}
    await base.close()
    assert await listed(settings, word_embedder, registry) == BOTH


async def test_documents_in_memory_leave_the_database_alone(
    documents, word_embedder, tmp_path
) -> None:
    registry = LateDocuments(tmp_path / "data" / "diagnosis.sqlite3")
    base = await KnowledgeBase.open(KnowledgeSettings(paths=(documents,)), word_embedder, registry)
    await base.add([documents])
    assert [d.status for d in await base.list()] == [S.INDEXED, S.INDEXED]
    await base.close()
    await registry.close()
    assert not (tmp_path / "data").exists()


class Full(InMemoryDocuments):
    """A registry that takes so many writes, and then has no space left."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.writes = writes

    async def record(self, index: str, documents: Sequence[DocumentRecord]) -> None:
        self.writes -= 1
        if self.writes < 0:
            raise SourceError("There is no space left.", "Free some.")
        await super().record(index, documents)


@pytest.mark.parametrize("writes", range(2, 5))
async def test_a_registry_that_fails_at_any_moment_leaves_the_index_whole(
    settings, documents, word_embedder, writes
) -> None:
    registry = Full(writes)
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    with pytest.raises(SourceError, match="no space left"):
        await base.add([documents])
    await base.close()
    registry.writes = 99
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    states = {(d.source, d.status, d.chunks) for d in await base.list()}
    assert states <= {
        (source, *end)
        for source in ("disk.md", "pool.md")
        for end in ((S.INDEXED, 1), (S.FAILED, 0))
    }
    assert {f.status for f in await base.add([documents])} <= {AddStatus.ADDED, AddStatus.UNCHANGED}
    await base.close()
    assert await listed(settings, word_embedder, registry) == BOTH


# --- files of the same content ---------------------------------------------------------------


class Breaks:
    """Embeds nothing that speaks of the pool, until it is mended."""

    name, dimensions = "breaks", 2
    mended = False

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if not self.mended and any("pool" in text for text in texts):
            raise SourceError("The model is broken.", "Mend it.")
        return [[1.0, 0.1] for _ in texts]

    async def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.1]


async def test_a_file_of_the_same_content_as_one_that_fails_is_not_lost(
    settings, registry, documents
) -> None:
    shutil.copy(documents / "pool.md", documents / "twin.md")
    model, told = Breaks(), []
    base = await KnowledgeBase.open(settings, model, registry)
    with pytest.raises(SourceError, match="The model is broken"):
        await base.add([documents], told.append)
    assert "twin.md" not in {file.source for file in told}
    states = {d.source: (d.status, d.reason) for d in await base.list()}
    failed = (S.FAILED, "indexing failed; add the file again")
    assert (states["pool.md"], states["twin.md"]) == (failed, failed)
    (documents / "pool.md").unlink()
    model.mended = True
    report = {file.source: file.status for file in await base.add([documents / "twin.md"])}
    assert report == {"twin.md": AddStatus.ADDED}
    await base.close()


async def test_a_file_of_the_same_content_is_told_once_the_other_can_be_found(
    settings, registry, documents, word_embedder
) -> None:
    shutil.copy(documents / "pool.md", documents / "twin.md")
    told = []
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    await base.add([documents], told.append)
    assert [(file.source, file.status, file.reason) for file in told][-2:] == [
        ("pool.md", AddStatus.ADDED, None),
        ("twin.md", AddStatus.UNCHANGED, "same content as pool.md"),
    ]
    assert {d.source for d in await base.list()} == {"disk.md", "pool.md"}
    await base.close()
    assert await listed(settings, word_embedder, registry) == BOTH


async def test_what_failed_and_can_be_found_as_another_is_no_longer_listed(
    settings, registry, documents, word_embedder
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    await base.add([documents])
    shutil.copy(documents / "pool.md", documents / "twin.md")
    [twin] = find_files([documents / "twin.md"])
    failed = DocumentRecord(twin.document_id, "twin.md", NEW, S.FAILED, INTERRUPTED)
    await registry.record(base._statuses._index, [failed])
    [report] = await base.add([documents / "twin.md"])
    assert (report.status, report.reason) == (AddStatus.UNCHANGED, "same content as pool.md")
    await base.close()
    assert await listed(settings, word_embedder, registry) == BOTH


# --- the folder's format ---------------------------------------------------------------------

FORMAT_1 = """
ALTER TABLE documents ADD COLUMN status TEXT NOT NULL DEFAULT 'INDEXED';
ALTER TABLE documents ADD COLUMN reason TEXT;
INSERT INTO documents VALUES ('f', 'failed.md', 'F', NULL, '00', 0, 'FAILED', 'why');
INSERT INTO documents VALUES ('p', 'pending.md', 'P', NULL, '00', 0, 'PROCESSING', NULL);
DELETE FROM about WHERE name = 'owner';
UPDATE about SET value = '1' WHERE name = 'schema';
"""


def alter(settings: KnowledgeSettings, script: str) -> None:
    with closing(sqlite3.connect(settings.index_folder / REGISTRY_NAME)) as connection:
        connection.executescript(script)


async def test_a_folder_of_format_1_is_taken_over_with_all_it_knew(
    settings, registry, documents, word_embedder
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder)
    await base.add([documents])
    found = await base.search("old logs fill the volume")
    await base.close()
    alter(settings, FORMAT_1)
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    assert await base.search("old logs fill the volume") == found
    await base.close()
    expected = [
        BOTH[0],
        ("failed.md", S.FAILED, "why", 0),
        ("pending.md", S.FAILED, INTERRUPTED, 0),
        BOTH[1],
    ]
    assert await listed(settings, word_embedder, registry) == expected


@pytest.mark.parametrize(
    "script",
    [
        "UPDATE about SET value = '99' WHERE name = 'schema'",
        "DELETE FROM about WHERE name = 'schema'",
        "DROP TABLE about",
    ],
)
async def test_a_folder_of_another_format_is_refused_and_left_as_it_is(
    settings, word_embedder, documents, script
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder)
    await base.add([documents])
    await base.close()
    alter(settings, script)
    before = (settings.index_folder / REGISTRY_NAME).read_bytes()
    with pytest.raises(SourceError, match="has the format of another version") as caught:
        await KnowledgeBase.open(settings, word_embedder)
    assert "name another plugins.knowledge.folder" in caught.value.mend
    assert (settings.index_folder / REGISTRY_NAME).read_bytes() == before
