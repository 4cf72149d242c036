"""Secret access keys, which nothing marks but what stands before: their name, or their key id."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnosis.harness.redaction_names import SecretKind, Span, is_plain, looks_random

# Begins with one plain letter, as the hints do.
NAME_HINT = r"k(?:(?<=access[_\-. ]k)|(?<=accessk))ey"
_NAMED = re.compile(
    r"""secret[_\-. ]?access[_\-. ]?key(?:\\{0,8}["'`])?(?:[ \t]{1,40}|\\{1,8}t)"""
    r"""(?:\\{0,8}["'`])?([a-z0-9/+=_\-]{16,128})(?![a-z0-9/+=_\-])"""
)
_ID = re.compile(r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])")
# An equals sign may stand before it, and an escaped line end or tab, whose letter is not part of it
_SECRET = re.compile(
    r"(?:(?<![A-Za-z0-9/+])|(?<=\\[nrt]))[A-Za-z0-9/+][A-Za-z0-9/+=]{39}(?![A-Za-z0-9/+=])"
)
_LENGTH = 40
_NOT_A_WORD = re.compile(r"[0-9A-Z+]")


def named_secrets(text: str, low: str) -> Iterator[Span]:
    """Find secret access keys behind their name and white space."""
    for found in _NAMED.finditer(low):
        start, end = found.span(1)
        value = text[start:end]
        long = len(value) == _LENGTH and _NOT_A_WORD.search(value) is not None
        if (long or looks_random(value)) and not is_plain(value):
            yield start, end, SecretKind.CLOUD_KEY


def secrets_behind_ids(text: str) -> Iterator[Span]:
    """Find what is as long as a secret access key on a line, behind an access key's id."""
    position = 0
    while found := _ID.search(text, position):
        position = text.find("\n", found.end())
        if position < 0:
            position = len(text)
        for secret in _SECRET.finditer(text, found.end(), position):
            if _NOT_A_WORD.search(secret[0]):
                yield secret.start(), secret.end(), SecretKind.CLOUD_KEY
