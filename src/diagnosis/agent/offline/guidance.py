"""Runbook passages that fit an error, and the actions they propose, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from diagnosis.agent.offline.history import Observation
from diagnosis.agent.offline.lexicon import GENERIC
from diagnosis.agent.offline.log_text import quotable
from diagnosis.agent.offline.words import stems_of
from diagnosis.contracts.draft import ActionRisk

_REMEDY = re.compile(
    r"(?i)mitigat|remed|fix|resol|recover|action|what to do|roll ?back"
    r"|处理|处置|方案|恢复|解决|措施|修复"
)
_LOOKING = re.compile(
    r"(?i)^(check|compare|look|find|group|verify|see|inspect)\b|^(检查|查看|核对|确认|统计)"
)
_GRAVE = re.compile(
    r"(?i)roll .{0,30}back|rollback|restart|reboot|delete|drop|truncat|migrat|fail ?over|kill|purge"
    r"|回滚|重启|删除|清空|迁移|切换|终止"
)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)、])\s+(.+)$")
_PART = re.compile(r"\n(?=\s*(?:[-*+#]|\d+[.)、])\s?)|\n\s*\n")
_CONTINUED = re.compile(r"^\s{2,}\S")
_LEAST, _MOST = 12, 400
_SHARED_WORDS = 3
_COMMON = stems_of(" ".join(GENERIC)) | stems_of("level first second each every its into than own")


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of the knowledge base, with the call that brought it."""

    tool_call_id: str
    document: str
    title: str
    section: str
    excerpt: str

    def quote(self, error: str) -> str | None:
        """Of its paragraphs and list items the one that shares most with an error, verbatim."""
        parts = [part.strip(" -*#>\t\n") for part in _PART.split(self.excerpt)]
        usable = [part for part in parts if _LEAST <= len(part) <= _MOST]
        best = max(usable, key=lambda part: shared_words(part, error), default=None)
        return best if best is not None and quotable(best) else None

    @property
    def actions(self) -> tuple[str, ...]:
        """What its list proposes, item by item, if it is a passage on what to do."""
        if not _REMEDY.search(self.section):
            return ()
        found: list[str] = []
        for line in self.excerpt.splitlines():
            if bullet := _BULLET.match(line):
                found.append(bullet[1].strip())
            elif found and _CONTINUED.match(line):
                found[-1] += f" {line.strip()}"
        return tuple(found)


def passages_of(observations: Iterable[Observation]) -> list[Passage]:
    """The passages of several lookups, each once, in order."""
    passages: dict[tuple[str, str], Passage] = {}
    for observation in observations:
        for item in observation.items:
            passage = Passage(
                tool_call_id=observation.tool_call_id,
                document=str(item.get("document_id") or item.get("source") or ""),
                title=str(item.get("title") or ""),
                section=_below_title(item),
                excerpt=str(item.get("excerpt") or ""),
            )
            passages.setdefault((passage.document, passage.excerpt), passage)
    return list(passages.values())


def fitting(passages: list[Passage], error: str) -> list[Passage]:
    """The passages of the one document that shares most with an error's words; none if too little.

    The lookup already ranks by meaning; shared words keep what is merely the nearest stranger out.
    """
    shared: dict[str, int] = {}
    for passage in passages:
        text = f"{passage.title}\n{passage.section}\n{passage.excerpt}"
        count = shared_words(text, error)
        shared[passage.document] = max(shared.get(passage.document, 0), count)
    best = max(shared, key=lambda document: shared[document], default=None)
    if best is None or shared[best] < _SHARED_WORDS:
        return []
    return [passage for passage in passages if passage.document == best]


def shared_words(text: str, error: str) -> int:
    """How many telling words, or pairs of Chinese characters, of an error stand in a text."""
    pairs = {error[i : i + 2] for i in range(len(error) - 1) if not error[i : i + 2].isascii()}
    words = stems_of(error) - _COMMON
    return len(words & stems_of(text)) + sum(pair in text for pair in pairs)


def risk_of(action: str) -> ActionRisk:
    """How much harm an action's words suggest."""
    if _LOOKING.search(action):
        return ActionRisk.LOW
    return ActionRisk.HIGH if _GRAVE.search(action) else ActionRisk.MEDIUM


def _below_title(item: dict[str, Any]) -> str:
    """The section without the title that its path may begin with."""
    title, section = str(item.get("title") or ""), str(item.get("section") or "")
    below = section.removeprefix(title).strip(" />")
    return below or section
