"""Runbook passages that fit an error, and the actions they propose, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from diagnosis.agent.offline_history import Observation
from diagnosis.agent.offline_log_text import quote_of
from diagnosis.agent.offline_words import stems_of
from diagnosis.contracts.draft import ActionRisk

_REMEDY = re.compile(
    r"(?i)mitigat|remed|fix|resol|recover|action|what to do|roll ?back|处理|处置|方案|恢复|解决|措施|修复"
)
_LOOKING = re.compile(
    r"(?i)^(check|compare|look|find|group|verify|see|inspect)\b|^(检查|查看|核对|确认|统计)"
)
_GRAVE = re.compile(
    r"(?i)roll .{0,30}back|rollback|restart|reboot|delete|drop|truncat|migrat|fail ?over|kill|purge"
    r"|回滚|重启|删除|清空|迁移|切换|终止"
)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)、])\s+(.+)$")
_CONTINUED = re.compile(r"^\s{2,}\S")
_SAID = 200
_SHARED_WORDS = 3
_COMMON = stems_of(
    """a about after all also an and any are as at be before but by can could did do does each every for
    from had has have how if in into is it its may more most new no not now of on one only or other out
    over per same so some still than that the their then there these they this to too up use was were
    what when where which who why will with first level log time error service name"""
)


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of the knowledge base, with the call that brought it."""

    tool_call_id: str
    document: str
    title: str
    section: str
    excerpt: str

    @property
    def quote(self) -> str | None:
        """Its most telling line, verbatim."""
        lines = [line.strip(" -*#>\t") for line in self.excerpt.splitlines()]
        best = max((line for line in lines if not line.endswith(":")), key=len, default="")
        quote = quote_of(best) if best and best in self.excerpt else None
        return quote[:_SAID].rstrip() if quote else None

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
                section=str(item.get("section") or ""),
                excerpt=str(item.get("excerpt") or ""),
            )
            passages.setdefault((passage.document, passage.excerpt), passage)
    return list(passages.values())


def fitting(passages: list[Passage], error: str) -> list[Passage]:
    """The passages of the one document that shares most with an error's words; none if too little.

    The lookup already ranks by meaning; shared words keep what is merely the nearest stranger out.
    """
    words = stems_of(error) - _COMMON
    pairs = {error[i : i + 2] for i in range(len(error) - 1) if not error[i : i + 2].isascii()}
    shared: dict[str, int] = {}
    for passage in passages:
        text = f"{passage.title}\n{passage.section}\n{passage.excerpt}"
        count = len(words & stems_of(text)) + sum(pair in text for pair in pairs)
        shared[passage.document] = max(shared.get(passage.document, 0), count)
    best = max(shared, key=lambda document: shared[document], default=None)
    if best is None or shared[best] < _SHARED_WORDS:
        return []
    return [passage for passage in passages if passage.document == best]


def risk_of(action: str) -> ActionRisk:
    """How much harm an action's words suggest."""
    if _LOOKING.search(action):
        return ActionRisk.LOW
    return ActionRisk.HIGH if _GRAVE.search(action) else ActionRisk.MEDIUM
