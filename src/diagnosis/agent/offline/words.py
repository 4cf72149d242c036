"""What a question is about, and whether a log text speaks of it: words, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass

from diagnosis.agent.offline.lexicon import (
    CHINESE_OF,
    CONCEPTS,
    ENGLISH_OF,
    GENERIC,
    GENERIC_CHINESE,
    THINGS,
)

_CJK = re.compile(r"[\u3400-\u9fff]")
_CJK_RUN = re.compile(r"[\u3400-\u9fff]+")
_LATIN = re.compile(r"[A-Za-z0-9_$][A-Za-z0-9_$./:@-]*")
_ERROR_CLASS = re.compile(r"[A-Z]\w*(?:Error|Exception)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ALPHABETIC = re.compile(r"[A-Za-z]+")
# Of four digits and more, or a status of failure; a year is none.
_NUMBER = re.compile(r"(?!(?:19|20)\d\d$)(?:\d{4,}|[45]\d\d)")
_SEPARATOR = re.compile(r"[-_\s]+")
# "Is A the reason that B fails?" names an explanation, and asks about B.
_EXPLANATION = re.compile(
    r"(?i)(?:^|[.?!,;]\s*)(?:is|are|was|were|does|do|did|can|could|may|might|would)\b[^.?!]*"
    r"\b(?:reason|cause[sd]?|causing|behind|because|due to|responsible|to blame|explains?)\b"
    r"|^(?!.*(?:什么|为何|哪)).*(?:是.*(?:导致|引起|造成|原因|根因)|(?:导致|引起|造成).*[吗么])"
)


def is_chinese(text: str) -> bool:
    """Whether a text is to be answered in Chinese."""
    return _CJK.search(text) is not None


def asks_for_explanation(question: str) -> bool:
    """Whether it asks if one thing explains the failure of another."""
    return _EXPLANATION.search(question) is not None


def stem(word: str) -> str:
    """A word without its commonest English endings, in lower case."""
    word = word.lower()
    for ending, rest in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ing", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: len(word) - len(ending)] + rest
    return word


_CHINESE_OF_STEM = {stem(english): chinese for english, chinese in CHINESE_OF.items()}


def stems_of(text: str) -> frozenset[str]:
    """The stems of a text's alphabetic words; CamelCase and snake_case are taken apart."""
    return frozenset(stem(word) for word in _ALPHABETIC.findall(_CAMEL.sub(" ", text)))


def plain(text: str) -> str:
    """Lower case, with hyphens, underscores and white space as one space."""
    return _SEPARATOR.sub(" ", text.lower()).strip()


def is_identifier(word: str) -> bool:
    """Whether a word names one particular thing: mod_jk, workerEnv, order-api, v2, RM."""
    if re.search(r"[_$/@.:-]", word) or _CAMEL.search(word):
        return True
    has_letter = re.search(r"[A-Za-z]", word) is not None
    return has_letter and (bool(re.search(r"\d", word)) or (word.isupper() and len(word) > 1))


@dataclass(frozen=True, slots=True)
class Match:
    """How a text answers to a question's words.

    Attributes:
        identifiers: the question's identifiers that stand in the text.
        subjects: its plain words (or Chinese pieces) that do.
        concepts: its words of operations whose meaning the text shares.
    """

    identifiers: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    concepts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.identifiers or self.subjects or self.concepts)

    def without(self, other: Match) -> Match:
        """What this one has beyond the names that the other has."""
        return Match(
            self.identifiers - other.identifiers, self.subjects - other.subjects, self.concepts
        )

    @property
    def named(self) -> frozenset[str]:
        """What the question names and the text has."""
        return self.identifiers | self.subjects


@dataclass(frozen=True, slots=True)
class Topic:
    """The words of a question that say what it is about.

    Attributes:
        identifiers: words that name one particular thing, as written.
        words: stems of the other Latin words.
        pieces: Chinese pieces between words that every question has.
        concepts: names of the operations concepts it uses.
        numbers: those that may name one thing; a text without them may still answer.
    """

    identifiers: frozenset[str]
    words: frozenset[str]
    pieces: frozenset[str]
    concepts: frozenset[str]
    numbers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, question: str) -> Topic:
        """Read a question (without its times)."""
        identifiers, words, concepts = set[str](), set[str](), set[str]()
        latin = [word.strip("./:-") for word in _LATIN.findall(question.replace("'", ""))]
        shouting = sum(word.isupper() for word in latin) > 2
        for word in latin:
            if word.lower() in GENERIC or word.isdigit() or len(word) < 2:
                continue
            if concept := _concept_of(word):
                concepts.add(concept)
            if _is_error_class(word):
                identifiers.add(word)
            elif concept:
                continue
            elif is_identifier(word) and not (shouting and word.isalpha()):
                identifiers.add(word)
            else:
                words.add(stem(word))
        pieces = set[str]()
        for run in _CJK_RUN.findall(question):
            found = {name for name, known in CONCEPTS.items() if any(w in run for w in known)}
            concepts |= found
            rest = run
            for word in sorted(
                (w for name in found for w in CONCEPTS[name]), key=len, reverse=True
            ):
                rest = rest.replace(word, " ")
            pieces.update(p for p in GENERIC_CHINESE.sub(" ", rest).split() if len(p) > 1)
        return cls(
            frozenset(identifiers),
            frozenset(words),
            frozenset(pieces),
            frozenset(concepts),
            frozenset(word for word in latin if _NUMBER.fullmatch(word)),
        )

    @property
    def things(self) -> frozenset[str]:
        """Those of its concepts that name what fails, where the others say how."""
        return self.concepts & THINGS

    @property
    def error_classes(self) -> frozenset[str]:
        """Those of its identifiers that name one kind of error: NullPointerException."""
        return frozenset(filter(_is_error_class, self.identifiers))

    @property
    def has_subject(self) -> bool:
        """Whether the question names what fails, beyond words of operations."""
        return bool(self.identifiers or self.words or self.pieces)

    @property
    def named(self) -> frozenset[str]:
        """What the question names, as `Match.named` has it."""
        return self.identifiers | self.words | self.pieces

    def match(self, text: str) -> Match:
        """Which of the question's words stand in a text."""
        flat, stems = plain(text), stems_of(text)
        return Match(
            identifiers=frozenset(
                i for i in self.identifiers | self.numbers if _stands_in(plain(i), flat)
            ),
            subjects=frozenset(w for w in self.words if _has_stem(w, stems) or _in_chinese(w, text))
            | frozenset(p for p in self.pieces if _has_piece(p, text) or _in_english(p, stems)),
            concepts=frozenset(name for name in self.concepts if _speaks_of(name, text, stems)),
        )


def _is_error_class(word: str) -> bool:
    return _ERROR_CLASS.fullmatch(word) is not None


def _concept_of(word: str) -> str | None:
    return next((name for name, known in CONCEPTS.items() if _has_stem_in(word, known)), None)


def _has_stem_in(word: str, known: frozenset[str]) -> bool:
    return word.lower() in known or stem(word) in {stem(other) for other in known}


def _stands_in(identifier: str, flat: str) -> bool:
    pattern = rf"(?<![a-z0-9]){re.escape(identifier)}(?![a-z0-9])"
    return re.search(pattern, flat) is not None


def _has_stem(word: str, stems: frozenset[str]) -> bool:
    # one letter more is the same word: ssh and sshd, pod and pods
    return word in stems or any(other[:-1] == word for other in stems)


def _has_piece(piece: str, text: str) -> bool:
    """At least half of the piece's pairs of characters: Chinese has no spaces to split at."""
    pairs = [piece[i : i + 2] for i in range(len(piece) - 1)]
    return sum(pair in text for pair in pairs) * 2 >= len(pairs)


def _in_chinese(word: str, text: str) -> bool:
    return any(chinese in text for chinese in _CHINESE_OF_STEM.get(word, ()))


def _in_english(piece: str, stems: frozenset[str]) -> bool:
    """A known thing that a Chinese piece names stands in a text under its English name.

    One of several is enough: the text of an error seldom has every word that a question joins.
    """
    things = [english for chinese, english in ENGLISH_OF.items() if chinese in piece]
    return any(_has_stem(stem(word), stems) for english in things for word in english)


def _speaks_of(concept: str, text: str, stems: frozenset[str]) -> bool:
    return any(
        word in text if _CJK.search(word) else stem(word) in stems for word in CONCEPTS[concept]
    )
