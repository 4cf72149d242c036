"""Misspelled names: what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(unknown: Iterable[str], known: Iterable[str]) -> str | None:
    """A sentence that names the nearest known names, or None where none is near."""
    candidates = sorted(known)
    near = [match for name in unknown for match in difflib.get_close_matches(name, candidates, 1)]
    return f"Did you mean {' and '.join(map(repr, dict.fromkeys(near)))}?" if near else None
