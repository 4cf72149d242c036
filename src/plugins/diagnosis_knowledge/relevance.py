"""Which chunks answer a question, and in which order: meaning and words in one score.

Pure: no index, no model. The score orders and decides: what is below the floor is a stranger and
is left out, so that a question nothing deals with has no answer. Scores stay inside this plugin.

    score = cosine + 0.3 * coverage - 0.1 * share of the names in the question that no chunk holds

`coverage` is the share of the question's words that the chunk holds, rare words weighing more
(inverse document frequency). Without an embedding the coverage stands alone. The three numbers
were chosen on development questions over small sets of runbooks (English, Chinese, both); what
they reach on questions written afterwards stands in `test_knowledge_retrieval.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FLOOR = 0.28
_COVERAGE_WEIGHT = 0.3
_UNKNOWN_NAMES_WEIGHT = 0.1
_WORDS_NEEDED = 2  # without an embedding one shared word says nothing, unless there is only one


@dataclass(frozen=True, slots=True)
class Question:
    """The words of a question.

    Attributes:
        frequencies: its distinct words, and in how many chunks each of them stands.
        names: for each name in it, the words that name it.
        chunks: how many chunks there are.
    """

    frequencies: Mapping[str, int]
    names: Sequence[Sequence[str]]
    chunks: int

    def weight(self, word: str) -> float:
        """How much a word tells: the rarer, the more."""
        return math.log(1 + self.chunks / (1 + self.frequencies[word]))

    @property
    def unknown_names(self) -> float:
        """The share of its names that no chunk holds, 0 where it names nothing.

        An identifier is known where its parts are: `disk_full` by "disk" and "full".
        """
        unknown = [not self._is_known(name) for name in self.names if self._tells(name)]
        return sum(unknown) / len(unknown) if unknown else 0.0

    def _tells(self, name: Sequence[str]) -> bool:
        return any(word in self.frequencies for word in name)

    def _is_known(self, name: Sequence[str]) -> bool:
        whole, *parts = name
        known = [self.frequencies[part] > 0 for part in parts if part in self.frequencies]
        return self.frequencies.get(whole, 0) > 0 or (bool(known) and all(known))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may answer.

    Attributes:
        cosine: of question and chunk, or None without an embedding.
        words: the terms of its headings and text.
    """

    chunk_id: str
    cosine: float | None
    words: frozenset[str]


def select(candidates: Sequence[Candidate], question: Question, floor: float = FLOOR) -> list[str]:
    """Ids of the chunks that are relevant enough, best first."""
    total = sum(question.weight(word) for word in question.frequencies)
    scored = []
    for candidate in candidates:
        held = [word for word in question.frequencies if word in candidate.words]
        coverage = sum(question.weight(word) for word in held) / total if total else 0.0
        if candidate.cosine is None:
            enough = len(held) >= min(_WORDS_NEEDED, len(question.frequencies))
            score = coverage if enough else 0.0
        else:
            score = candidate.cosine + _COVERAGE_WEIGHT * coverage
        score -= _UNKNOWN_NAMES_WEIGHT * question.unknown_names
        if score >= floor:
            scored.append((-score, candidate.chunk_id))
    return [chunk_id for _, chunk_id in sorted(scored)]
