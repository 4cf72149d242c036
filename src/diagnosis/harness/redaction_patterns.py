"""All the rules by which secrets are found in text, each behind a hint that costs next to nothing.

Every rule has a hint, a test whose failure proves that the rule finds nothing: ordinary log text
passes the hints only. Rules see the text and a lower-cased copy of the same length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from diagnosis.harness import redaction_shapes as shapes
from diagnosis.harness.redaction_names import (
    MASK,
    TAIL,
    WORDS,
    Finder,
    SecretKind,
    assignments,
    chinese,
    lowered,
)

# Masking may bring a text into a shape that another rule knows; more rounds than this never happen
# on real text.
_ROUNDS = 4


class Rule(NamedTuple):
    """One family of secrets; both functions take the text and its lower-cased copy."""

    hint: Callable[[str, str], bool]
    find: Finder


def _words(*words: str) -> Callable[[str, str], bool]:
    def hint(text: str, low: str) -> bool:
        return any(word in low for word in words)

    return hint


def _pattern(pattern: re.Pattern[str]) -> Callable[[str, str], bool]:
    def hint(text: str, low: str) -> bool:
        return pattern.search(text) is not None

    return hint


def _wide(text: str, low: str) -> bool:
    return not text.isascii() and any(word in text for word in ("密", "口令", "令牌"))


RULES: tuple[Rule, ...] = (
    Rule(_words("://"), shapes.urls),
    Rule(_words("eyj"), shapes.jwts),
    Rule(_pattern(shapes.PREFIX_HINT), shapes.prefixed_tokens),
    Rule(_pattern(shapes.FIXED_HINT), shapes.fixed_tokens),
    Rule(_words("ltai", "key-", ":aa"), shapes.fixed_tokens),
    Rule(_pattern(shapes.FIXED_HINT_2), shapes.fixed_tokens),
    Rule(_words("authoriz"), shapes.authorization),
    Rule(_words("bearer"), shapes.bearer),
    Rule(_words("basic "), shapes.basic),
    Rule(_words("cookie"), shapes.cookies),
    Rule(_words("sess", "connect.sid"), shapes.sessions),
    *(
        Rule(_words(word), assignments(re.compile(f"(?P<word>{pattern}){TAIL}")))
        for word, pattern in WORDS.items()
    ),
    Rule(_words("sig", "key=", "auth="), shapes.queries),
    Rule(_words("@tcp(", "@unix(", "oracle:thin"), shapes.sources),
    Rule(_words(" -p", " -u", " -a"), shapes.commands),
    Rule(_words("identified "), shapes.identified),
    Rule(_words("webhooks/", "hooks.slack"), shapes.hooks),
    Rule(_wide, chinese),
)


def mask(kind: SecretKind) -> str:
    """What stands where a secret stood."""
    return f"[REDACTED:{kind}]"


def hinted(text: str, rules: Sequence[Rule] = RULES) -> tuple[Rule, ...]:
    """The rules that may find something in a text; the others find nothing for certain."""
    low = lowered(text)
    return tuple(rule for rule in rules if rule.hint(text, low))


def apply(text: str, rules: Sequence[Rule] = RULES) -> str:
    """The text with every secret that a rule finds masked."""
    for _ in range(_ROUNDS):
        masked = _once(text, rules)
        if masked == text:
            break
        text = masked
    return text


def _once(text: str, rules: Sequence[Rule]) -> str:
    low = lowered(text)
    for rule in rules:
        if not rule.hint(text, low):
            continue
        pieces: list[str] = []
        position = 0
        for start, end, kind in rule.find(text, low):
            if start < position or MASK.fullmatch(text, start, end):
                continue
            pieces += (text[position:start], mask(kind))
            position = end
        if pieces:
            text = "".join(pieces) + text[position:]
            low = lowered(text)
    return text
