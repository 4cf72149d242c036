"""Embedders and folders for the tests of the knowledge plugin."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from diagnosis.plugin import Embedder, EvidenceContext
from diagnosis_knowledge.embedding import offline_embedder
from diagnosis_knowledge.words import terms


class WordEmbedder:
    """A vector that counts hashed words: fast, and the same in every process."""

    dimensions = 128

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.embedded: list[str] = []

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded += texts
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        vector = [0.01] * self.dimensions
        for word in terms(text):
            vector[hashlib.sha256(word.encode()).digest()[0] % self.dimensions] += 1.0
        return vector


class RememberingEmbedder:
    """Embeds every text once in a test session: the model reads a thousand tokens a second."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._documents: dict[str, list[float]] = {}
        self.name = embedder.name
        self.dimensions = embedder.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        new = [text for text in texts if text not in self._documents]
        vectors = await self._embedder.embed_documents(new)
        self._documents.update(zip(new, vectors, strict=True))
        return [self._documents[text] for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return await self._embedder.embed_query(text)


@pytest.fixture(scope="session")
def offline() -> Embedder:
    """The real offline model."""
    embedder = offline_embedder()
    if embedder is None:
        pytest.skip("the offline model does not run here")
    return RememberingEmbedder(embedder)


@pytest.fixture
def word_embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture(scope="session")
def english_runbooks() -> Path:
    return Path(__file__).parent / "runbooks"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real Chinese runbooks and questions, which are not part of the project."""
    data = Path(__file__).parents[3].parent / "shared" / "data"
    if not (data / "retrieval-cases.json").is_file():
        pytest.skip("../shared/data is not here")
    return data


@pytest.fixture
def context() -> EvidenceContext:
    now = datetime(2026, 3, 12, 14, 45, tzinfo=UTC)
    return EvidenceContext("run", "call", now, UTC, remaining_s=60, byte_budget=16_384)
