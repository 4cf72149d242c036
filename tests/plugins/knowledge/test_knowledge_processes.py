"""A second process is refused, and a killed one leaves nothing half indexed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from diagnosis.plugin import IndexStatus, SourceError
from diagnosis.storage.late import LateDocuments
from diagnosis_knowledge.base import AddStatus, KnowledgeBase
from diagnosis_knowledge.chroma_vectors import ChromaVectors, folder_client
from diagnosis_knowledge.settings import VECTORS_NAME, KnowledgeSettings

ADD_AND_HANG = """
import asyncio, sys
from pathlib import Path
from diagnosis.storage.late import LateDocuments
from diagnosis_knowledge import KnowledgeBase, KnowledgeSettings

class Hanging:
    name, dimensions = "hanging", 2
    async def embed_documents(self, texts):
        if any("HANG" in text for text in texts):
            await asyncio.sleep(0.5)  # the other documents are done by then
            print("hanging", flush=True)
            await asyncio.sleep(3600)
        return [[float(len(text)), 1.0] for text in texts]
    async def embed_query(self, text):
        return [float(len(text)), 1.0]

async def main():
    settings = KnowledgeSettings(folder=Path(sys.argv[1]))
    registry = LateDocuments(Path(sys.argv[3]))
    base = await KnowledgeBase.open(settings, Hanging(), registry)
    await base.add([Path(sys.argv[2])])

asyncio.run(main())
"""


class Counting:
    name, dimensions = "hanging", 2

    async def embed_documents(self, texts):
        return [[float(len(text)), 1.0] for text in texts]

    async def embed_query(self, text):
        return [float(len(text)), 1.0]


async def test_one_process_per_folder_and_kill_9_while_it_indexes(tmp_path: Path) -> None:
    documents, folder = tmp_path / "documents", tmp_path / "kb"
    documents.mkdir()
    (documents / "a.md").write_text("# A\n\n## One\n\nfirst text\n\n## Two\n\nsecond text\n")
    (documents / "b.md").write_text("# B\n\n## One\n\nfine\n\n## Two\n\nHANG here\n")
    (documents / "c.md").write_text("# C\n\nthird text\n")
    settings, database = KnowledgeSettings(folder=folder), tmp_path / "diagnosis.sqlite3"
    registry = LateDocuments(database)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ADD_AND_HANG, folder, documents, database, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"hanging\n"
        with pytest.raises(SourceError, match="in use by another process") as caught:
            await KnowledgeBase.open(settings, Counting())
        assert caught.value.mend.startswith("Wait until that process has ended")
    finally:
        process.kill()
        await process.communicate()

    base = await KnowledgeBase.open(settings, Counting(), registry)
    assert {d.source: (d.status, d.chunks) for d in await base.list()} == {
        "a.md": (IndexStatus.INDEXED, 2),
        "b.md": (IndexStatus.FAILED, 0),
        "c.md": (IndexStatus.INDEXED, 1),
    }
    assert {d.reason for d in await base.list()} == {
        None,
        "indexing was interrupted; add the file again",
    }
    report = await base.add([documents])
    assert {f.source: f.status for f in report} == {
        "a.md": AddStatus.UNCHANGED,
        "b.md": AddStatus.ADDED,
        "c.md": AddStatus.UNCHANGED,
    }
    await base.close()
    await registry.close()
    vectors = ChromaVectors(folder_client(folder / VECTORS_NAME), "chunks")
    assert len(vectors.ids()) == 5
    vectors.close()
