"""Turns text into search terms: CJK runs as bigrams, Latin words and identifiers whole.

Identifiers also give their parts, so that `HighCPUUsage` is found by "cpu usage", and `disk_full`
by "disk". SQLite's own tokenizers find no two-character Chinese word, hence bigrams made here.
"""

from __future__ import annotations

import difflib
import functools
import re
import unicodedata
from collections.abc import Iterable

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+(?:[.\-:/@][^\W{_CJK}]+)*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
_IS_CJK = re.compile(rf"[{_CJK}]")

# Words that ask or connect, and carry no subject.
_ENGLISH_STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being but by can could
    did do does doing for from get gets getting go goes going got had has have having he
    how i if in into is it its just keep keeps kept let like make many me might more most
    much must my need no not now of off on or our out over please she should so some such
    than that the their them then there these they thing this those to too under until up
    us was we were what when where which while who why will with would yet you your
    """.split()  # noqa: SIM905 - a list of 120 quoted words is no easier to read
)
_CHINESE_STOP_WORDS = re.compile(
    "怎么办|怎么样|怎么|怎样|如何|为什么|什么|哪些|哪个|哪里|多少|是否|是不是|能不能|可以|应该|应当"
    "|需要|请问|我们|你们|他们|这个|那个|一个|一下|进行|时候|以后|之后|之前|以及|或者|还是|并且|而且"
    "|因为|所以|如果|但是|已经|一直|的|了|吗|呢|吧|啊|和|与|及|或|是|在|被|把|就|都|也|还|很|该|要|会"
    "|让|使|对|从|向|给|等"
)
_CODE_DIGITS = 3
_MISSPELLED_LENGTH = 5
_LIKENESS = 0.84  # one wrong letter in six
_NAME_SHAPE = re.compile(r"[_\d.]|[a-z][A-Z]|[A-Z]{2}")


def terms(text: str) -> list[str]:
    """The terms of a document's text, in order, with repetitions."""
    found: list[str] = []
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text)):
        if _IS_CJK.match(token):
            found += _bigrams(token)
        else:
            found += _latin(token)
    return found


def query_terms(text: str) -> list[str]:
    """The distinct terms of a question, without words that carry no subject."""
    spaced = _CHINESE_STOP_WORDS.sub(" ", unicodedata.normalize("NFKC", text))
    found = [
        term
        for token in _TOKEN.findall(spaced)
        if token.casefold() not in _ENGLISH_STOP_WORDS  # before endings are off: "does" is "doe"
        for term in terms(token)
    ]
    return [term for term in dict.fromkeys(found) if term not in _ENGLISH_STOP_WORDS]


def names(text: str) -> list[list[str]]:
    """What a question names, each as its terms: Kafka, mod_jk, ImagePullBackOff, TLS, 502.

    In Chinese text every Latin word is a name; in English what is shaped like an identifier, and
    capitalised words. A number of three digits or more is one too: a status or an error code.
    """
    text = unicodedata.normalize("NFKC", text)
    chinese = is_bigram(text)
    found = []
    for token in _TOKEN.findall(text):
        if not token.isascii() or len(token) < 2 or token.casefold() in _ENGLISH_STOP_WORDS:
            continue
        code = token.isdigit() and len(token) >= _CODE_DIGITS
        word = any(c.isalpha() for c in token)
        if code or (word and (chinese or token[0].isupper() or _NAME_SHAPE.search(token))):
            found.append(terms(token))
    return found


def is_bigram(text: str) -> bool:
    """Whether a term is of Chinese, Japanese or Korean, or a text holds any."""
    return _IS_CJK.search(text) is not None


def meant(word: str, vocabulary: Iterable[str]) -> str | None:
    """The word that a misspelled one was probably meant as: "conections" is "connections"."""
    likely = [known for known in vocabulary if abs(len(known) - len(word)) <= 2]
    near = difflib.get_close_matches(word, likely, 1, _LIKENESS)
    return near[0] if near else None


def may_be_misspelled(word: str) -> bool:
    """Whether a word nothing holds can be looked for in other spellings: no code, not short."""
    return len(word) >= _MISSPELLED_LENGTH and word.isascii() and word.isalpha()


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


@functools.lru_cache(maxsize=32_768)  # texts say the same few thousand words again and again
def _latin(token: str) -> tuple[str, ...]:
    parts = _PART.findall(token)
    if len(parts) < 2:
        return (_stem(token.casefold()),)
    return (token.casefold(), *(_stem(part.casefold()) for part in parts))


def _stem(word: str) -> str:
    """Plural and verb endings off, as far as a rule can tell (after Harman's S-stemmer)."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 5 and word.endswith("ing"):
        return _undouble(word[:-3])
    if len(word) > 4 and word.endswith("ed") and not word.endswith("eed"):
        return _undouble(word[:-2])
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return _undouble(word[:-2])
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return _undouble(word[:-1])
    return _undouble(word)


def _undouble(stem: str) -> str:
    """The same stem for "filling", "filled" and "fill", for "cached", "caching" and "cache"."""
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "aeiou":
        stem = stem[:-1]
    return stem[:-1] if len(stem) > 3 and stem.endswith("e") else stem
