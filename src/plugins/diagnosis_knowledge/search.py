"""One search: candidates by meaning and by words, from which `relevance` selects."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from diagnosis_knowledge.registry import Registry, StoredChunk
from diagnosis_knowledge.relevance import Candidate, Question, select
from diagnosis_knowledge.sharpening import QuestionVector
from diagnosis_knowledge.vectors import Vectors, VectorsUnavailable
from diagnosis_knowledge.words import may_be_misspelled, meant, names, query_terms, terms

_CANDIDATES = 30
_FEW = 200  # so many passages are ranked in no time, however common the word
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        chunks: relevant ones, best first, at most as many as asked for.
        matched: how many are relevant.
        documents, sections: how many were searched.
        by_meaning: whether meanings were compared, and not words alone.
    """

    chunks: tuple[StoredChunk, ...]
    matched: int
    documents: int
    sections: int
    by_meaning: bool = True


class Search:
    """Searches a registry and the vectors of its chunks, on the thread that both live on."""

    def __init__(self, registry: Registry, vectors: Vectors | None, floor: float) -> None:
        """Take what is searched, and the score below which a chunk is a stranger."""
        self._registry = registry
        self._vectors = vectors
        self._floor = floor

    def run(
        self, query: str, vector: QuestionVector | None, top_k: int, category: str | None
    ) -> Found:
        """Find the relevant chunks of one category or of all."""
        documents, sections = self._registry.counts(category)
        question = self._question(query)
        telling = [word for word in question.words if self._tells(word, question)]
        lexical = self._registry.matching(telling or question.words, _CANDIDATES, category)
        similarities = self._similarities(vector, lexical, category) if sections else {}
        stored = self._registry.chunks([*dict.fromkeys([*(similarities or ()), *lexical])])
        candidates = [
            Candidate(
                chunk_id,
                similarities.get(chunk_id) if similarities else None,
                frozenset(terms(f"{chunk.title}\n{chunk.section}\n{chunk.text}")),
            )
            for chunk_id, chunk in stored.items()
        ]
        best = select(candidates, question, self._floor)
        chunks = tuple(stored[i] for i in best[:top_k])
        return Found(chunks, len(best), documents, sections, by_meaning=similarities is not None)

    def _similarities(
        self, vector: QuestionVector | None, lexical: Sequence[str], category: str | None
    ) -> dict[str, float] | None:
        """Of the nearest chunks and of those with the same words; None to go by words alone."""
        if self._vectors is None or vector is None:
            return None
        try:
            cosines = self._vectors.nearest(vector.values, _CANDIDATES, category)
            missing = [chunk_id for chunk_id in lexical if chunk_id not in cosines]
            cosines.update(self._vectors.compare(vector.values, missing))
        except VectorsUnavailable as error:
            _log.warning("The vectors cannot be compared: %s; the lookup goes by words.", error)
            return None
        return {chunk_id: vector.similarity(cosine) for chunk_id, cosine in cosines.items()}

    def _question(self, query: str) -> Question:
        """Its words as the documents spell them, and in how many chunks they stand."""
        named = names(query)
        words = list(
            dict.fromkeys([*query_terms(query), *(term for name in named for term in name)])
        )
        frequencies = self._registry.frequencies(words)
        spelled = {word: self._spelled(word) for word in words if not frequencies[word]}
        frequencies.update(self._registry.frequencies([*spelled.values()]))
        return Question(
            words=[*dict.fromkeys(spelled.get(word, word) for word in query_terms(query))],
            names=[[spelled.get(term, term) for term in name] for name in named],
            frequencies=frequencies,
            chunks=self._registry.counts(None)[1],
        )

    def _tells(self, word: str, question: Question) -> bool:
        """Whether a word leads to passages: not to none, and not to every fourth."""
        return 0 < question.frequencies[word] <= max(_FEW, question.chunks // 4)

    def _spelled(self, word: str) -> str:
        if not may_be_misspelled(word):
            return word
        return meant(word, self._registry.vocabulary(word[:2])) or word
