"""What the application lends to plugins: an embedder and the document registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from diagnosis.plugin.documents import DocumentRegistry


class Embedder(Protocol):
    """Turns text into vectors. Queries and documents may be embedded differently.

    A model that cannot be asked raises `SourceError`. Optional: `embed_queries(texts)`, which
    embeds several questions with fewer requests than one each.
    """

    @property
    def name(self) -> str:
        """Names the model; vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order."""
        ...

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        ...


@dataclass(frozen=True, slots=True)
class PluginServices:
    """Handed to every registration hook.

    Attributes:
        embedder: the embedding model named in settings, or None: the plugin's own offline one.
        documents: where the status of ingested documents is kept, or None: with the process.
    """

    embedder: Embedder | None = None
    documents: DocumentRegistry | None = None
