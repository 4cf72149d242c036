"""Cuts text into the pieces that multilingual-e5-small was trained on: a unigram model.

Of all ways to put a word together from pieces the most probable one is taken (Kudo, "Subword
Regularization", ACL 2018). Words are independent of each other, so each is cut once.
"""

from __future__ import annotations

import re
from functools import lru_cache

from diagnosis_knowledge.e5_weights import Pieces

_SPACES = re.compile(" {2,}")
_WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"  # stands for the space before a word
_WORD = re.compile(f"{_WORD_START}?[^{_WORD_START}]+|{_WORD_START}")
_WORDS_KEPT = 20_000
_WORD_LENGTH = 200  # characters cut at a time: text without spaces would be one endless word


class Tokenizer:
    """Text to the numbers of its pieces."""

    def __init__(self, pieces: Pieces) -> None:
        """Prepare the pieces."""
        self._pieces = pieces
        self._longest = max(map(len, pieces.ids))
        self._unknown_score = min(pieces.scores) - 10
        self._word = lru_cache(_WORDS_KEPT)(self._cut)

    def tokens(self, text: str, count: int) -> list[int]:
        """The first `count` pieces of a text, between its begin and its end."""
        normal = _SPACES.sub(" ", text.translate(self._pieces.replaced))
        lead = "" if normal.startswith(" ") else _WORD_START
        found: list[int] = []
        for word in _WORD.finditer(lead + normal.replace(" ", _WORD_START)):
            for start in range(word.start(), word.end(), _WORD_LENGTH):
                part = word.string[start : min(start + _WORD_LENGTH, word.end())]
                found += self._word(part)
            if len(found) >= count:
                break
        return [self._pieces.begin, *found[:count], self._pieces.end]

    def _cut(self, word: str) -> tuple[int, ...]:
        """The most probable pieces of a word; a character in no piece is unknown."""
        ids, scores, unknown = self._pieces.ids, self._pieces.scores, self._pieces.unknown
        length = len(word)
        best = [0.0] + [float("-inf")] * length  # of the pieces up to each place
        last = [(0, unknown)] * (length + 1)  # where the last of them begins, and which it is
        for start in range(length):
            so_far = best[start]
            for end in range(start + 1, min(start + self._longest, length) + 1):
                piece = ids.get(word[start:end], unknown)
                if piece == unknown:
                    if end > start + 1:
                        continue
                    score = so_far + self._unknown_score
                else:
                    score = so_far + scores[piece]
                if score > best[end]:
                    best[end], last[end] = score, (start, piece)
        found: list[int] = []
        place = length
        while place:
            place, piece = last[place]
            found.append(piece)
        return tuple(reversed(found))
