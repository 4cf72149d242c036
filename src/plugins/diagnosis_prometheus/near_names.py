"""Names of metrics that are much like one that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from diagnosis_prometheus.stoppable import Halt

_SHOWN = 5
_COMPARED = 400
_ALIKE = 0.6
_NAME_CHARACTERS = 200


def near_names(name: str, known: Iterable[str], halt: Halt) -> list[str]:
    """The known names most like a name, the nearest first; at most five.

    Raises:
        Stopped: the caller is gone.
    """
    words = _words(name)
    shared: list[tuple[int, int, str]] = []
    for candidate in known:
        halt.look()
        if len(candidate) > _NAME_CHARACTERS:
            continue
        common = len(words & _words(candidate))
        if common or candidate[:2] == name[:2]:
            shared.append((-common, abs(len(candidate) - len(name)), candidate))
    matcher = SequenceMatcher(b=name, autojunk=False)
    alike: list[tuple[float, str]] = []
    for _, _, candidate in sorted(shared)[:_COMPARED]:
        halt.look()
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE:
            alike.append((-matcher.ratio(), candidate))
    return [candidate for _, candidate in sorted(alike)[:_SHOWN]]


def _words(name: str) -> set[str]:
    return set(re.split(r"[_:.]+", name.lower())) - {""}
