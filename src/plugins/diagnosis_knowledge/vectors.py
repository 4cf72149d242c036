"""What the index asks of the place where vectors live, and the place for documents of one use.

All compare by cosine, for one thread. An id that was never added is left out of every answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class VectorsUnavailable(Exception):
    """The vectors cannot be read or written now; its text says why, in a few words."""


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
