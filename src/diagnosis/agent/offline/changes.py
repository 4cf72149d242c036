"""Change events: log lines that tell of a deployment, new configuration, a restart and the like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from diagnosis.agent.offline.leads import Lead, log_begins, moment

# What the log is searched for: wide, in RE2's syntax, at most 500 characters.
SEARCH_PATTERN = (
    r"(?i)deploy|roll(ed|ing)?[ -]?(out|back)|\brelease\b|\breleasing\b|upgrad|migrat|schema"
    r"|alter table|config|feature.?flag|toggle|certificate|rotat|fail(ed)?.?over|maintenance"
    r"|patch(ed|ing)"
    r"|restart|\bstart(ed|ing)\b|\bstopp(ed|ing)\b|shut.?down|boot|\bversion\b|scal(ed|ing)"
    r"|部署|发布|上线|升级|迁移|变更|配置|开关|证书|回滚|切换|割接|重启|启动|停止|扩容|缩容|版本"
)
SEARCH_BEFORE = timedelta(minutes=45)

_STRONG = re.compile(
    r"(?i)\bdeploy(ed|ing|ments?|s)?\b|\broll(ed|ing)?[ -]?(out|back)\b|\brelease\b.{0,60}\d"
    r"|\breleasing\b|\bupgrad(e|ed|ing)\b|\bmigrat(e|ed|ing|ions?)\b|\balter table\b"
    r"|\bschema\b.{0,40}(chang|updat|version)"
    r"|\b(config\w*|settings?|propert(y|ies)|parameters?|polic(y|ies)|rules?)\b.{0,60}"
    r"(chang|updat|reload|appl(y|ied)|activ|switch|enabl|disabl|overrid|set to)"
    r"|(chang|updat|reload|appl(y|ied)|activ|load)\w* .{0,30}\bconfig"
    r"|feature.?flag.{0,60}(on|off|enabl|disabl|chang|true|false)"
    r"|certificate.{0,60}(renew|rotat|replac|install|expir)|\brotat(ed|ing)\b.{0,30}(key|secret|cred|pass)"
    r"|\bfail(ed)?.?over (to|complet|start)|\bmaintenance\b.{0,40}(start|begin|began)|\bpatched\b"
    r"|部署|发布|上线|升级|迁移|变更|回滚|割接|配置.{0,16}(更新|修改|加载|生效|切换|下发|推送|变)"
    r"|(更新|修改|加载|切换|下发|推送).{0,10}配置|开关.{0,16}(打开|关闭|开启|切换)|证书.{0,12}(更新|更换|替换|过期)"
)
_WEAK = re.compile(
    r"(?i)\brestart|\b(re)?start(ed|ing)\b|\bstopp(ed|ing)\b|\bshut(ting)?.?down\b|\bboot(ed|ing)\b"
    r"|\bscal(ed|ing)\b.{0,20}\b(up|down|in|out|to)\b|重启|启动|停止|扩容|缩容"
)
_NOTHING_CHANGED = re.compile(
    r"(?i)\b(0|no|zero) (change|update|new|pending|migration)|unchanged|up.to.date|nothing to"
    r"|无变更|没有变更|无变化|未变化|无更新"
)
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+)+|\d+(?:\.\d+)+")
_CLOSE = timedelta(minutes=5)
_NEAR = timedelta(minutes=15)
_FAR = timedelta(minutes=30)
_ROUTINE_COUNT = 3


@dataclass(frozen=True, slots=True)
class Change:
    """One change event before a failure.

    Attributes:
        at: when; not after the failure's first line.
        strong: its text says what changed, not only that something started or stopped.
        common: what both concern: the service, or what both texts name (versions, keys).
        behind: requests fail, and it is in the one other log, that of what answers them.
    """

    lead: Lead
    at: datetime
    strong: bool
    common: tuple[str, ...]
    behind: bool
    score: float

    @property
    def may_be_cause(self) -> bool:
        """Whether a conclusion may name it."""
        return bool(self.common) or self.behind


def changes_before(failure: Lead, onset: datetime, candidates: list[Lead]) -> list[Change]:
    """The change events shortly before `onset` that can matter for `failure`, best first."""
    changes = [
        change
        for candidate in candidates
        if (change := _change(failure, onset, candidate)) is not None
    ]
    return sorted(changes, key=lambda change: (-change.score, change.at))


def _change(failure: Lead, onset: datetime, candidate: Lead) -> Change | None:
    at = moment(candidate.last)
    first = moment(candidate.first)
    if at is None or first is None or _NOTHING_CHANGED.search(candidate.message):
        return None
    if candidate.message == failure.message or not timedelta() <= onset - at <= _FAR:
        return None
    strong = _STRONG.search(candidate.message) is not None
    weak = candidate.new and _WEAK.search(candidate.message) is not None
    routine = candidate.count >= _ROUTINE_COUNT and at - first > _NEAR
    if routine or not (strong or weak) or not _seen_without(failure, first, onset):
        return None
    shared = tuple(sorted(_tokens(candidate.message) & _tokens(_own_words(failure))))
    before = onset - at
    same_place = _same_place(failure, candidate)
    common = (*_places_in_common(failure, candidate), *shared)
    behind = strong and candidate.new and before <= _CLOSE and _answers(candidate, failure)
    score = (
        (4.0 if strong else 1.0)
        + (3.0 if same_place else 2.0 if common or behind else 0.0)
        + (2.0 if before <= _CLOSE else 1.0 if before <= _NEAR else 0.0)
        + (1.0 if candidate.new else 0.0)
        + (1.0 if shared else 0.0)
    )
    return Change(candidate, at, strong, common, behind and not common, score)


def _seen_without(failure: Lead, changed: datetime, onset: datetime) -> bool:
    """Whether the log shows the time before the change, at least as long as until the failure.

    What a log begins with is a process starting, not a change to one that worked.
    """
    begins = log_begins(failure.observation.scope, failure.source)
    return begins is None or changed - begins >= onset - changed


def _same_place(failure: Lead, candidate: Lead) -> bool:
    if failure.service or candidate.service:
        return failure.service.lower() == candidate.service.lower()
    return failure.source == candidate.source


def _places_in_common(failure: Lead, candidate: Lead) -> tuple[str, ...]:
    if _same_place(failure, candidate) or _names(candidate, failure):
        return (failure.place,)
    return (candidate.place,) if _names(failure, candidate) else ()


def _answers(candidate: Lead, failure: Lead) -> bool:
    """Whether a log of requests and one other were searched, and the change is in that other."""
    scope = failure.observation.scope
    sources = scope.get("sources")
    if not failure.request or not isinstance(sources, list) or scope.get("more_sources"):
        return False
    names = {s.get("source") for s in sources if isinstance(s, dict)}
    return names - {failure.source} == {candidate.source}


def _names(one: Lead, other: Lead) -> bool:
    """Whether the text of one names the service of the other."""
    name = other.service.lower()
    return len(name) > 2 and name in one.message.lower()


def _own_words(failure: Lead) -> str:
    # what a client sends along with a request names nothing that failed
    return failure.message if failure.request else failure.example


def _tokens(text: str) -> set[str]:
    """Names and versions; of a dotted one also its parts: shop_api.web speaks of shop-api."""
    tokens = {token.lower().replace("_", "-") for token in _TOKEN.findall(text)}
    return tokens | {part for token in tokens for part in token.split(".") if "-" in part}
