"""Where the chunks' vectors live: Chroma in a folder, or memory for documents of one use.

Both compare by cosine, for one thread. An id that was never added is left out of every answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

_BATCH = 1_000  # Chroma refuses batches over about 5,400


class Vectors(Protocol):
    """Vectors by chunk id."""

    def add(
        self, ids: Sequence[str], vectors: Sequence[Sequence[float]], category: str | None
    ) -> None:
        """Add the vectors of one document; a vector whose id is there already is replaced."""
        ...

    def nearest(
        self, vector: Sequence[float], count: int, category: str | None
    ) -> dict[str, float]:
        """Cosines of the `count` nearest ids, of one category or of all."""
        ...

    def compare(self, vector: Sequence[float], ids: Sequence[str]) -> dict[str, float]:
        """Cosines of just these ids."""
        ...

    def ids(self) -> set[str]:
        """All ids."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Delete vectors; ids that are not there are ignored."""
        ...

    def close(self) -> None:
        """Let go of files."""
        ...


class MemoryVectors:
    """A few thousand vectors for one use: searched one by one, nothing on disk, no Chroma."""

    def __init__(self) -> None:
        import numpy as np

        self._numpy = np
        self._rows: dict[str, tuple[Any, str | None]] = {}

    def add(
        self, ids: Sequence[str], vectors: Sequence[Sequence[float]], category: str | None
    ) -> None:
        """See `Vectors`."""
        for chunk_id, vector in zip(ids, vectors, strict=True):
            self._rows[chunk_id] = (self._unit(vector), category)

    def nearest(
        self, vector: Sequence[float], count: int, category: str | None
    ) -> dict[str, float]:
        """See `Vectors`."""
        ids = [i for i, (_, its) in self._rows.items() if category is None or its == category]
        compared = self.compare(vector, ids)
        return dict(sorted(compared.items(), key=lambda pair: -pair[1])[:count])

    def compare(self, vector: Sequence[float], ids: Sequence[str]) -> dict[str, float]:
        """See `Vectors`."""
        known = [chunk_id for chunk_id in ids if chunk_id in self._rows]
        if not known:
            return {}
        matrix = self._numpy.stack([self._rows[chunk_id][0] for chunk_id in known])
        cosines = matrix @ self._unit(vector)
        return {chunk_id: float(cosine) for chunk_id, cosine in zip(known, cosines, strict=True)}

    def ids(self) -> set[str]:
        """See `Vectors`."""
        return set(self._rows)

    def delete(self, ids: Sequence[str]) -> None:
        """See `Vectors`."""
        for chunk_id in ids:
            self._rows.pop(chunk_id, None)

    def close(self) -> None:
        """See `Vectors`."""
        self._rows.clear()

    def _unit(self, vector: Sequence[float]) -> Any:
        array = self._numpy.asarray(vector, dtype=self._numpy.float32)
        return array / (self._numpy.linalg.norm(array) or 1.0)


class ChromaVectors:
    """A Chroma collection in a folder of its own.

    Chroma corrupts a folder that two processes use: the caller holds the lock.
    """

    def __init__(self, folder: Path) -> None:
        """Open the collection, and make it where there is none. Imports Chroma: 1.5 s."""
        import chromadb
        from chromadb.config import Settings

        self._client = chromadb.PersistentClient(
            str(folder), settings=Settings(anonymized_telemetry=False)
        )
        # no embedding function: Chroma's default one would download a model
        self._collection = self._client.get_or_create_collection(
            "chunks", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(
        self, ids: Sequence[str], vectors: Sequence[Sequence[float]], category: str | None
    ) -> None:
        """See `Vectors`."""
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            self._collection.upsert(
                ids=list(some),
                embeddings=list(vectors[start : start + _BATCH]),
                metadatas=[{"category": category or ""} for _ in some],
            )

    def nearest(
        self, vector: Sequence[float], count: int, category: str | None
    ) -> dict[str, float]:
        """See `Vectors`."""
        vectors: list[Sequence[float] | Sequence[int]] = [vector]
        found = self._collection.query(
            query_embeddings=vectors,
            n_results=count,
            where=None if category is None else {"category": category},
            include=["distances"],
        )
        distances = (found["distances"] or [[]])[0]
        return {
            chunk_id: 1.0 - float(distance)
            for chunk_id, distance in zip(found["ids"][0], distances, strict=True)
        }

    def compare(self, vector: Sequence[float], ids: Sequence[str]) -> dict[str, float]:
        """See `Vectors`."""
        if not ids:
            return {}
        found = self._collection.get(ids=list(ids), include=["embeddings"])
        memory = MemoryVectors()
        embeddings: Any = found["embeddings"]
        memory.add(found["ids"], [] if embeddings is None else embeddings, None)
        return memory.compare(vector, ids)

    def ids(self) -> set[str]:
        """See `Vectors`."""
        return set(self._collection.get(include=[])["ids"])

    def delete(self, ids: Sequence[str]) -> None:
        """See `Vectors`."""
        for start in range(0, len(ids), _BATCH):
            self._collection.delete(ids=list(ids[start : start + _BATCH]))

    def close(self) -> None:
        """See `Vectors`."""
        close: Any = getattr(self._client, "close", None)  # not part of Chroma's interface type
        if close is not None:
            close()
