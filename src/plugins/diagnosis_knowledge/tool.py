"""The evidence tool `lookup_knowledge`: passages of runbooks and other documents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from diagnosis.errors import SourceError, SourceUnavailable
from diagnosis.plugin import (
    DocumentRegistry,
    Embedder,
    EvidenceContext,
    EvidenceItem,
    EvidenceResult,
    Truncation,
)
from diagnosis_knowledge.adding import AddedFile
from diagnosis_knowledge.base import KnowledgeBase
from diagnosis_knowledge.documents import DocumentReader
from diagnosis_knowledge.registry import StoredChunk
from diagnosis_knowledge.settings import KnowledgeSettings

_SEARCH_S = 2.0  # what is left for the search itself when indexing takes long
_DESCRIPTION_BYTES = 900


class KnowledgeRequest(BaseModel):
    """What the model asks for."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(
        min_length=1,
        max_length=2_000,
        description="The symptom, alert, error text or component to find guidance on, in words.",
    )
    top_k: int = Field(default=5, ge=1, le=10, description="How many passages at most.")
    category: str | None = Field(
        default=None, description="Search only documents of this category, written exactly."
    )

    @field_validator("query")
    @classmethod
    def _not_blank(cls, query: str) -> str:
        if not query.strip():
            raise ValueError("the query is blank")
        return query


class LookupKnowledge:
    """Finds passages of the knowledge base that are relevant to a question."""

    name = "lookup_knowledge"
    description = (
        "Looks up runbooks and other documents: what an alert or symptom means, its usual causes, "
        "how to tell them apart, what to do. Use it to know where to look. It is reference, not an "
        "observation of this incident: it alone never supports a conclusion. An empty result means "
        "that no document deals with the question, and says nothing about the system."
    )
    request = KnowledgeRequest
    reference = True

    def __init__(
        self,
        settings: KnowledgeSettings,
        embedder: Embedder | None = None,
        documents: DocumentRegistry | None = None,
    ) -> None:
        """Take the settings and what is lent; nothing is opened or read before `open`."""
        self._settings = settings
        self._embedder = embedder
        self._documents = documents
        self._base: KnowledgeBase | None = None
        self._reader: DocumentReader | None = None
        self._indexing: asyncio.Task[tuple[AddedFile, ...]] | None = None
        self._contents = ""
        self.timeout_s = settings.timeout_s

    async def open(self) -> None:
        """Open the index. Given paths are indexed meanwhile: the first lookup waits for it.

        Raises:
            SourceError: the folder or a path cannot be used.
        """
        self._reader = reader = DocumentReader()
        try:
            given = await asyncio.to_thread(reader.read_all, self._settings.paths)
            self._base = base = await KnowledgeBase.open(
                self._settings, self._embedder, self._documents
            )
        except BaseException:
            reader.close()
            raise
        if given:
            self._indexing = asyncio.create_task(base.add(self._settings.paths, reader=reader))
            self._contents = _describe((d.title, d.category) for d in given)
        else:
            reader.close()
            documents = await base.list()
            self._contents = _describe((d.title, d.category) for d in documents if d.title)

    async def close(self) -> None:
        """Let go of the index; unfinished indexing of given paths is dropped."""
        if self._reader is not None:
            self._reader.close()
        indexing, self._indexing = self._indexing, None
        base, self._base = self._base, None
        if indexing is not None:
            indexing.cancel()
            await asyncio.wait([indexing])
        if base is not None:
            await base.close()

    def describe(self) -> str:
        """The categories and titles there are."""
        return self._contents

    def normalise(self, request: KnowledgeRequest) -> dict[str, JsonValue]:
        """The same question in other spacing or case is the same lookup."""
        query = " ".join(request.query.casefold().split())
        return {"query": query, "top_k": request.top_k, "category": request.category}

    async def collect(self, request: KnowledgeRequest, context: EvidenceContext) -> EvidenceResult:
        """Look it up.

        Raises:
            SourceUnavailable: the tool is not open, or the index cannot be read.
        """
        base = self._base
        if base is None:
            raise SourceUnavailable("the knowledge base is not open")
        complete = await self._wait_for_indexing(context.remaining_s)
        try:
            found = await base.search(request.query, request.top_k, request.category)
        except (SourceError, OSError) as error:
            raise SourceUnavailable("the index cannot be read") from error
        truncated = Truncation.ITEMS if found.matched > len(found.chunks) else None
        return EvidenceResult(
            items=tuple(_item(chunk) for chunk in found.chunks),
            scope={
                "query": request.query,
                "top_k": request.top_k,
                "category": request.category,
                "documents_searched": found.documents,
                "sections_searched": found.sections,
                "retrieval": "MEANING_AND_WORDS" if found.by_meaning else "WORDS_ONLY",
            },
            matched=found.matched,
            truncated=truncated if complete else Truncation.SCAN,
        )

    async def _wait_for_indexing(self, remaining_s: float) -> bool:
        """Whether everything given is indexed, after as much waiting as leaves time to search."""
        if self._indexing is None:
            return True
        patience = max(0.0, min(remaining_s, self.timeout_s) - _SEARCH_S)
        done, _ = await asyncio.wait([self._indexing], timeout=patience)
        if done and self._indexing.exception() is not None:
            raise SourceUnavailable("indexing failed") from self._indexing.exception()
        return bool(done)


def _item(chunk: StoredChunk) -> EvidenceItem:
    return EvidenceItem(
        identity=chunk.chunk_id,
        fields={
            "document_id": chunk.document_id,
            "title": chunk.title,
            "section": chunk.section,
            "source": chunk.source,
            "excerpt": chunk.text,
            "kind": "REFERENCE",
        },
    )


def _describe(documents: Iterable[tuple[str, str | None]]) -> str:
    """Categories and titles, in at most `_DESCRIPTION_BYTES`."""
    known = list(documents)
    categories = sorted({category for _, category in known if category})
    lines = [f"Categories: {', '.join(categories) or 'none'}.", "Documents:"]
    for title, _ in known:
        lines.append(f"- {title}")
        if len("\n".join(lines).encode()) > _DESCRIPTION_BYTES:
            lines[-1] = "- and others"
            break
    return "\n".join(lines).encode()[: _DESCRIPTION_BYTES + 100].decode(errors="ignore")
