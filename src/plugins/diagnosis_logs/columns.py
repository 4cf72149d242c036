"""The values that one key of structured lines has in a sample, and what they look like."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pydantic import JsonValue

from diagnosis_logs.civiltimes import MONTHS
from diagnosis_logs.structured import Path

_TYPES = frozenset(("stringValue", "intValue", "doubleValue", "boolValue"))
_CHINESE = re.compile("[\u4e00-\u9fff]")
_TIME_CHARACTERS = 40  # a longer text is more than a time
_ZONED = re.compile(r"(?:Z|[A-Z]{3,4}|[+-]\d\d:?\d\d)\Z")
_WORD = re.compile(r"[^\W\d_]{4,}")  # a zone is shorter
_DAYS = frozenset(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))


@dataclass(slots=True)
class Column:
    """The values of one path in the sample, and the instants of those that are times."""

    path: Path
    values: list[JsonValue] = field(default_factory=list)
    instants: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its keys with dots between."""
        return ".".join(self.path[:-1] if self.path[-1] in _TYPES else self.path)

    @property
    def last(self) -> str:
        """The key that names it: OpenTelemetry wraps each value in an object of its type."""
        return self.path[:-1][-1] if self.path[-1] in _TYPES and self.path[:-1] else self.path[-1]

    @property
    def texts(self) -> list[str]:
        """The values that are texts and not empty."""
        return [value for value in self.values if isinstance(value, str) and value]

    @property
    def words(self) -> float:
        """How much its texts look like prose: spaces, or characters of Chinese, for each."""
        count = sum(text.count(" ") + len(_CHINESE.findall(text)) // 2 for text in self.texts)
        return count / len(self.values)

    @property
    def is_said(self) -> bool:
        """Whether it holds texts that are more than a time, though they may begin with one."""
        texts = self.texts
        return bool(texts) and (
            not self.instants
            or sum(map(len, texts)) > _TIME_CHARACTERS * len(texts)
            or sum(map(_words_beside_a_time, texts)) >= len(texts)
        )

    @property
    def zoned(self) -> bool:
        """Whether its times tell their zone."""
        return not self.texts or all(
            text.isdecimal() or _ZONED.search(text) is not None for text in self.texts
        )

    @property
    def rising(self) -> float:
        """Share of its times that are not before the one before."""
        pairs = list(zip(self.instants, self.instants[1:], strict=False))
        return sum(a <= b for a, b in pairs) / len(pairs) if pairs else 1


def _words_beside_a_time(text: str) -> int:
    """How many words are no month, no day of the week and no zone."""
    words = (word.lower() for word in _WORD.findall(text))
    return sum(word[:3] not in _DAYS and word[:3] not in MONTHS for word in words)
