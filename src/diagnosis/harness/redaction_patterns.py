"""All the rules by which secrets are found in text, each behind a hint that costs next to nothing.

Every rule has a hint, a test whose failure proves that the rule finds nothing: ordinary log text
passes the hints only. Rules see the text and a lower-cased copy of the same length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from diagnosis.harness import redaction_cloud as cloud
from diagnosis.harness import redaction_pairs as pairs
from diagnosis.harness import redaction_shapes as shapes
from diagnosis.harness.redaction_names import (
    MASK,
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


def _in_text(*patterns: str) -> Callable[[str, str], bool]:
    searches = tuple(re.compile(pattern).search for pattern in patterns)

    def hint(text: str, low: str) -> bool:
        return any(search(text) is not None for search in searches)

    return hint


def _in_low(pattern: str) -> Callable[[str, str], bool]:
    search = re.compile(pattern).search

    def hint(text: str, low: str) -> bool:
        return search(low) is not None

    return hint


def _in_low_any(*patterns: str) -> Callable[[str, str], bool]:
    searches = tuple(re.compile(pattern).search for pattern in patterns)

    def hint(text: str, low: str) -> bool:
        return any(search(low) is not None for search in searches)

    return hint


def _line_below(text: str, low: str) -> bool:
    # a line's end, in a text or in the JSON text of an item: most items have none
    return ("\n" in low or "\\" in low) and _LINE_BELOW.search(low) is not None


def _address(text: str, low: str) -> bool:
    return "://" in low


def _source(text: str, low: str) -> bool:
    return "@" in low and ("(" in low or "oracle:" in low)


def _wide(text: str, low: str) -> bool:
    return not text.isascii() and any(word in text for word in ("密", "口令", "令牌"))


_LINE_BELOW = re.compile(r":[ \t]{0,4}(?:[|>][-+0-9]{0,2})?[ \t]{0,4}(?:\r|\\r)?(?:\n|\\n)")

# The hints are patterns that begin with one plain letter, rare where there is a choice: such a
# search is the fastest there is, faster than `in` for a word that is absent.
RULES: tuple[Rule, ...] = (
    Rule(_address, shapes.urls),
    Rule(_in_text(r"J(?<=eyJ)"), shapes.jwts),
    Rule(_in_text(*shapes.PREFIX_HINTS), shapes.prefixed_tokens),
    Rule(_in_text(*shapes.FIXED_HINTS), shapes.fixed_tokens),
    Rule(_in_low(cloud.NAME_HINT), cloud.named_secrets),
    Rule(_in_low(r"z(?<=authoriz)"), shapes.authorization),
    Rule(_in_low(r"bearer"), shapes.bearer),
    Rule(_in_low(r"basic"), shapes.basic),
    Rule(_in_low(r"k(?<=cook)"), shapes.cookies),
    Rule(
        _in_low(r"=(?:(?<=jsessionid=)|(?<=phpsessid=)|(?<=net_sessionid=)|(?<=ct\.sid=))"),
        shapes.sessions,
    ),
    Rule(_in_low(r"val(?:ue)?[\\\"'` \t]{0,10}[:=]"), pairs.values_beside),
    Rule(_in_low(r">(?:(?<=[\"']>)|(?<=<value>)|(?<=<string>))"), pairs.element_texts),
    Rule(_line_below, pairs.next_lines),
    *(Rule(_in_low(hint), assignments(word)) for hint, word in WORDS),
    Rule(_in_low(r"d\((?:(?<=word\()|(?<=wd\())"), pairs.calls),
    Rule(_in_low(r"%3[ad]"), pairs.encoded),
    Rule(
        _in_low_any(r"w(?:(?<=passw)|(?<=pw)d )", r"h(?<=passph)rase ", r"c(?<=passc)ode "),
        pairs.prose,
    ),
    Rule(
        _in_low(r"=(?:(?<=sig=)|(?<=sign=)|(?<=signature=)|(?<=key=)|(?<=auth=))"), shapes.queries
    ),
    Rule(_source, shapes.sources),
    Rule(_in_low(r" -[pua]"), shapes.commands),
    Rule(_in_low(r"fied (?<=identified )"), shapes.identified),
    Rule(_in_low(r"ks(?:/(?<=webhooks/)|\.slack)"), shapes.hooks),
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
