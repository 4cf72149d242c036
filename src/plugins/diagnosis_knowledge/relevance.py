"""Which chunks answer a question, and in which order: meaning and words fused, strangers out.

Pure: no index, no model. Scores stay inside this plugin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_RANK_OFFSET = 60  # reciprocal rank fusion, Cormack, Clarke and Buettcher 2009

STRONG_COSINE = 0.905
WEAK_COSINE = 0.88
COVERAGE = 0.35
LEXICAL_COVERAGE = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may answer.

    Attributes:
        cosine: of question and chunk, or None without an embedding.
        words: the terms of its headings and text.
        lexical_rank: its place in the word search from 0, or None.
    """

    chunk_id: str
    cosine: float | None
    words: frozenset[str]
    lexical_rank: int | None


def select(
    candidates: Sequence[Candidate],
    question: Sequence[str],
    frequencies: Mapping[str, int],
    chunks: int,
) -> list[str]:
    """Ids of the chunks that are relevant enough, best first.

    Args:
        candidates: from either search, in any order.
        question: the distinct terms of the question.
        frequencies: in how many chunks each of them stands.
        chunks: how many chunks there are.
    """
    weights = {word: math.log(1 + chunks / (1 + frequencies.get(word, 0))) for word in question}
    total = sum(weights.values())

    def coverage(candidate: Candidate) -> float:
        found = sum(weight for word, weight in weights.items() if word in candidate.words)
        return found / total if total else 0.0

    by_meaning = sorted(
        (c for c in candidates if c.cosine is not None), key=lambda c: -(c.cosine or 0.0)
    )
    meaning_rank = {c.chunk_id: rank for rank, c in enumerate(by_meaning)}
    scored = []
    for candidate in candidates:
        if not _relevant(candidate.cosine, coverage(candidate)):
            continue
        ranks = [meaning_rank.get(candidate.chunk_id), candidate.lexical_rank]
        score = sum(1 / (_RANK_OFFSET + rank) for rank in ranks if rank is not None)
        scored.append((-score, candidate.chunk_id))
    return [chunk_id for _, chunk_id in sorted(scored)]


def _relevant(cosine: float | None, coverage: float) -> bool:
    if cosine is None:
        return coverage >= LEXICAL_COVERAGE
    return cosine >= STRONG_COSINE or (cosine >= WEAK_COSINE and coverage >= COVERAGE)
