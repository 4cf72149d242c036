"""The index itself: registry and vectors together, for one thread.

`KnowledgeBase` is the asynchronous face of it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from diagnosis.errors import SourceError
from diagnosis_knowledge.documents import Document
from diagnosis_knowledge.folder_lock import folder_lock
from diagnosis_knowledge.registry import SCHEMA_VERSION, Registry, StoredChunk
from diagnosis_knowledge.relevance import FLOOR, Candidate, Question, select
from diagnosis_knowledge.settings import LOCK_NAME, REGISTRY_NAME, VECTORS_NAME
from diagnosis_knowledge.sharpening import QuestionVector
from diagnosis_knowledge.vectors import ChromaVectors, MemoryVectors, Vectors
from diagnosis_knowledge.words import may_be_misspelled, meant, names, query_terms, terms

NO_EMBEDDING = "none"
_CANDIDATES = 50
_INTERRUPTED = "indexing was interrupted; add the file again"
_VECTORS_LOST = "its vectors are missing from the index; add the file again"


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        chunks: relevant ones, best first, at most as many as asked for.
        matched: how many are relevant.
        documents, sections: how many were searched.
    """

    chunks: tuple[StoredChunk, ...]
    matched: int
    documents: int
    sections: int


class Index:
    """Documents that can be found. Every method runs on the thread that made it."""

    def __init__(self, folder: Path | None, embedding: str | None, floor: float = FLOOR) -> None:
        """Open the index of a folder, or an empty one in memory.

        Args:
            folder: made where there is none, and locked until `close`; None for memory.
            embedding: the name of the embedding model, or None for word search only.
            floor: the score below which a chunk is a stranger.

        Raises:
            SourceError: the folder is in use, cannot be used, or belongs to another model.
        """
        self._floor = floor
        self._exit = ExitStack()
        try:
            if folder is not None:
                self._exit.enter_context(folder_lock(folder, LOCK_NAME))
            self.registry = _open_registry(folder)
            self._exit.callback(self.registry.close)
            self.built_with = self._agree_on_model(folder, embedding)
            self._vectors: Vectors | None = None
            if self.built_with != NO_EMBEDDING and embedding is not None:
                self._vectors = (
                    MemoryVectors() if folder is None else ChromaVectors(folder / VECTORS_NAME)
                )
                self._exit.callback(self._vectors.close)
            self._recover()
        except BaseException:
            self._exit.close()
            raise

    def close(self) -> None:
        """Let go of files and lock."""
        self._exit.close()

    @property
    def searches_meaning(self) -> bool:
        """Whether questions are compared by embedding, and not by words alone."""
        return self._vectors is not None

    def start(self, document: Document) -> list[str]:
        """Begin to index a document; return the texts to embed."""
        self.registry.start(document.document_id, _chunk_ids(document))
        return [
            f"{chunk.section}\n{chunk.text}"
            if chunk.section.startswith(document.title)
            else f"{document.title}\n{chunk.section}\n{chunk.text}"
            for chunk in document.chunks
        ]

    def finish(self, document: Document, vectors: Sequence[Sequence[float]]) -> None:
        """Store the vectors and make the document visible, whole."""
        chunk_ids = _chunk_ids(document)
        if self._vectors is not None:
            self._vectors.add(chunk_ids, vectors, document.category)
        self.registry.publish(document, chunk_ids)
        self._sweep()

    def fail(self, document_id: str, reason: str) -> None:
        """Give up on a document that was started."""
        self.registry.fail(document_id, reason)
        self._sweep()

    def remove(self, document_id: str) -> bool:
        """Take a document out; return whether there was one."""
        removed = self.registry.remove(document_id)
        self._sweep()
        return removed

    def search(
        self, query: str, vector: QuestionVector | None, top_k: int, category: str | None
    ) -> Found:
        """Find the relevant chunks of one category or of all."""
        documents, sections = self.registry.counts(category)
        question = self._question(query)
        lexical = self.registry.matching(question.words, _CANDIDATES, category)
        similarities: dict[str, float] = {}
        if self._vectors is not None and vector is not None and sections:
            cosines = self._vectors.nearest(vector.values, _CANDIDATES, category)
            missing = [chunk_id for chunk_id in lexical if chunk_id not in cosines]
            cosines.update(self._vectors.compare(vector.values, missing))
            similarities = {i: vector.similarity(cosine) for i, cosine in cosines.items()}
        stored = self.registry.chunks([*dict.fromkeys([*similarities, *lexical])])
        candidates = [
            Candidate(
                chunk_id,
                similarities.get(chunk_id),
                frozenset(terms(f"{chunk.title}\n{chunk.section}\n{chunk.text}")),
            )
            for chunk_id, chunk in stored.items()
        ]
        best = select(candidates, question, self._floor)
        return Found(tuple(stored[i] for i in best[:top_k]), len(best), documents, sections)

    def _question(self, query: str) -> Question:
        """Its words as the documents spell them, and in how many chunks they stand."""
        named = names(query)
        words = list(
            dict.fromkeys([*query_terms(query), *(term for name in named for term in name)])
        )
        frequencies = self.registry.frequencies(words)
        spelled = {word: self._spelled(word) for word in words if not frequencies[word]}
        frequencies.update(self.registry.frequencies([*spelled.values()]))
        return Question(
            words=[*dict.fromkeys(spelled.get(word, word) for word in query_terms(query))],
            names=[[spelled.get(term, term) for term in name] for name in named],
            frequencies=frequencies,
            chunks=self.registry.counts(None)[1],
        )

    def _spelled(self, word: str) -> str:
        if not may_be_misspelled(word):
            return word
        return meant(word, self.registry.vocabulary(word[:2])) or word

    def _agree_on_model(self, folder: Path | None, embedding: str | None) -> str:
        """The model the index is built with; an empty index takes the one that is there now."""
        known = self.registry.about("embedding")
        if known is None or not self.registry.documents():
            known = embedding or NO_EMBEDDING
            self.registry.describe("embedding", known)
        elif embedding is not None and known not in (embedding, NO_EMBEDDING):
            raise SourceError(
                f"The knowledge folder {folder} was built with the embedding {known!r}, not "
                f"{embedding!r}.",
                "Embed its documents anew with `diagnosis knowledge reindex`, or set that "
                "embedding again.",
            )
        return known

    def _recover(self) -> None:
        """Clean up what a killed process left, and report its documents as not indexed."""
        self.registry.give_up_unfinished(_INTERRUPTED)
        self._sweep()
        if self._vectors is None:
            return
        lost = set(self.registry.chunk_ids()) - self._vectors.ids()
        for document_id in {chunk.document_id for chunk in self.registry.chunks([*lost]).values()}:
            self.registry.withdraw(document_id, _VECTORS_LOST)
        self._sweep()

    def _sweep(self) -> None:
        """Delete vectors that belong to no published chunk."""
        strays = self.registry.stray_vectors()
        if not strays or (self._vectors is None and self.built_with != NO_EMBEDDING):
            return  # without the model the vectors cannot be opened: a later process sweeps
        if self._vectors is not None:
            published = set(self.registry.chunk_ids())
            self._vectors.delete([i for i in strays if i not in published])
        self.registry.forget_strays(strays)


def _open_registry(folder: Path | None) -> Registry:
    mend = "delete the folder and add its documents anew"
    try:
        registry = Registry(None if folder is None else folder / REGISTRY_NAME)
    except sqlite3.Error as error:
        raise SourceError(f"the index in {folder} cannot be read: {error}", mend) from error
    if registry.about("schema") != SCHEMA_VERSION:
        registry.close()
        raise SourceError(f"the index in {folder} has another version's format", mend)
    return registry


def _chunk_ids(document: Document) -> list[str]:
    """Document, place and content: the same passage has the same id in every index."""
    ids = []
    for chunk in document.chunks:
        content = hashlib.sha256(f"{chunk.section}\n{chunk.text}".encode()).hexdigest()
        ids.append(f"{document.document_id}-{chunk.ordinal}-{content[:12]}")
    return ids
