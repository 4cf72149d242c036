"""Which chunks answer a question, and in which order: meaning and words in one score.

Pure: no index, no model. The score orders and decides: what is below the floor is a stranger and
is left out, so that a question nothing deals with has no answer. Scores stay inside this plugin.

    score = similarity + 1.3 * coverage - 0.7 * share of the names in the question no chunk holds

`similarity` is 1 where question and chunk are as close as unrelated texts ever come, whatever the
embedding model (see `sharpening`). `coverage` is the share of the question's words that the chunk
holds, rare words weighing more (inverse document frequency). Without an embedding the coverage
stands alone, and weighs 5.5. These numbers and the floor were chosen on the development halves of
the questions in the tests; what they reach on the held-out halves stands in
`test_knowledge_retrieval.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnosis_knowledge.words import is_bigram

FLOOR = 1.1
_COVERAGE_WEIGHT = 1.3
_COVERAGE_ALONE = 5.5
_UNKNOWN_NAMES_WEIGHT = 0.7
_WORDS_NEEDED = 2  # without an embedding one shared word says nothing, unless there is only one
_UNKNOWN_BIGRAM = 0.5  # half of all bigrams straddle two words, and are found nowhere


@dataclass(frozen=True, slots=True)
class Question:
    """The words of a question.

    Attributes:
        words: its distinct words that carry a subject.
        names: for each name in it, the whole and its parts, as terms.
        frequencies: in how many chunks each of all these stands.
        chunks: how many chunks there are.
    """

    words: Sequence[str]
    names: Sequence[Sequence[str]]
    frequencies: Mapping[str, int]
    chunks: int

    def weight(self, word: str) -> float:
        """How much a word tells: the rarer, the more."""
        weight = math.log(1 + self.chunks / (1 + self.frequencies[word]))
        return weight * (_UNKNOWN_BIGRAM if is_bigram(word) and not self.frequencies[word] else 1)

    @property
    def unknown_names(self) -> float:
        """The share of its names that no chunk holds, 0 where it names nothing.

        An identifier is known where all its parts are: `disk_full` by "disk" and "full".
        """
        unknown = [not self._is_known(name) for name in self.names]
        return sum(unknown) / len(unknown) if unknown else 0.0

    def _is_known(self, name: Sequence[str]) -> bool:
        whole, *parts = name
        return self.frequencies[whole] > 0 or (
            bool(parts) and all(self.frequencies[part] > 0 for part in parts)
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may answer.

    Attributes:
        similarity: of question and chunk, or None without an embedding.
        words: the terms of its headings and text.
    """

    chunk_id: str
    similarity: float | None
    words: frozenset[str]


def select(candidates: Sequence[Candidate], question: Question, floor: float = FLOOR) -> list[str]:
    """Ids of the chunks that are relevant enough, best first."""
    total = sum(question.weight(word) for word in question.words)
    scored = []
    for candidate in candidates:
        held = [word for word in question.words if word in candidate.words]
        coverage = sum(question.weight(word) for word in held) / total if total else 0.0
        if candidate.similarity is None:
            enough = len(held) >= min(_WORDS_NEEDED, len(question.words))
            score = _COVERAGE_ALONE * coverage if enough else 0.0
        else:
            score = candidate.similarity + _COVERAGE_WEIGHT * coverage
        score -= _UNKNOWN_NAMES_WEIGHT * question.unknown_names
        if score >= floor:
            scored.append((-score, candidate.chunk_id))
    return [chunk_id for _, chunk_id in sorted(scored)]
