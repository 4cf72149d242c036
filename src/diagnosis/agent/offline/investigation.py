"""The order of the search: which call comes next, given what the calls before it brought.

Nothing is remembered between requests: the steps are decided anew from the history each time, so
one model serves any number of runs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from diagnosis.agent.offline.changes import SEARCH_BEFORE, SEARCH_PATTERN, Change, changes_before
from diagnosis.agent.offline.failure import FAILURE_PATTERN
from diagnosis.agent.offline.guidance import Passage, fitting, passages_of
from diagnosis.agent.offline.history import History, Observation
from diagnosis.agent.offline.leads import (
    Lead,
    Standing,
    first_such_line,
    leads_of,
    moment,
    weigh,
    with_what_requests_meet,
)
from diagnosis.agent.offline.log_text import exception_of, whole_message, words_only
from diagnosis.agent.offline.pattern import search_regex
from diagnosis.agent.offline.times import Onset, stated_onset, without_times
from diagnosis.agent.offline.words import Topic, is_chinese

KNOWLEDGE_TOOL = "lookup_knowledge"
LOG_TOOL = "query_logs"
_BEFORE_STATED = timedelta(minutes=15)
_WIDE = timedelta(hours=24)
_MOST_REPAIRS = 2
_QUESTION_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """One call to make.

    Attributes:
        name: what it is for; the key of its result.
    """

    name: str
    tool: str
    request: dict[str, Any]


@dataclass
class Investigation:
    """Everything the rules know at one point of a run."""

    history: History
    tools: frozenset[str]
    results: dict[str, Observation] = field(default_factory=dict)
    refused: Observation | None = None

    @classmethod
    def resume(cls, history: History, tools: Iterable[str]) -> Investigation:
        """Go through the steps again and give each answer to the step that asked for it."""
        self = cls(history, frozenset(tools))
        repairs = 0
        for observation in history.observations:
            step = self.next_step()
            if step is None:
                break
            self.refused = observation if observation.repair else None
            repairs = repairs + 1 if observation.repair else 0
            if not observation.repair or repairs >= _MOST_REPAIRS:
                self.results[step.name] = observation
                vars(self).pop("cause", None)
        return self

    # --- what is asked -----------------------------------------------------------------------

    @property
    def question(self) -> str:
        """The question; one that names nothing is read together with the one before it."""
        asked = self.history.question
        before = self.history.previous_question
        topic = Topic.of(without_times(asked))
        if before and not (topic.has_subject or topic.concepts):
            return f"{before} {asked}"
        return asked

    @property
    def chinese(self) -> bool:
        """Whether to answer in Chinese."""
        return is_chinese(self.history.question)

    @cached_property
    def topic(self) -> Topic:
        """What the question is about."""
        return Topic.of(without_times(self.question))

    @property
    def onset(self) -> Onset | None:
        """The time the question states; read once the first search tells what "now" means."""
        recent = self.results.get("recent")
        now = moment(recent.scope.get("end")) if recent else None
        return stated_onset(self.question, now) if now else None

    # --- what was found ----------------------------------------------------------------------

    @property
    def searches(self) -> list[Observation]:
        """The overviews of log patterns, latest first."""
        names = ("unlevelled", "wide", "stated", "recent")
        return [self.results[name] for name in names if name in self.results]

    def standings(self, search: Observation) -> list[Standing]:
        """The patterns of one overview, weighed, best first."""
        onset = self.onset
        weighed = [weigh(lead, self.topic, self.question, onset) for lead in leads_of(search)]
        weighed = with_what_requests_meet(weighed)
        return sorted(weighed, key=lambda standing: (-standing.score, standing.lead.first))

    @cached_property
    def cause(self) -> Standing | None:
        """The strongest lead that may carry a conclusion."""
        for search in self.searches:
            for standing in self.standings(search):
                # far from the time asked about, only what the question speaks of itself counts
                spoken_of = standing.text.named or (standing.place.named and standing.text.concepts)
                if standing.may_be_cause and (spoken_of or self._asked_about(search, standing)):
                    return standing
        return None

    @property
    def answer(self) -> Standing | None:
        """The lead that carries the conclusion.

        Where question and log are in different languages and nothing in the question can be
        compared, a new error answers it only together with a change shortly before.
        """
        cause = self.cause
        if cause is None or cause.compared or any(c.may_be_cause for c in self.changes):
            return cause
        return None

    @property
    def seen_before(self) -> bool:
        """Whether the day searched holds a line like the lead's from before its first one."""
        cause = self.cause
        line = first_such_line(self.results.get("lines"), cause.lead) if cause else None
        at = moment(line.get("timestamp")) if line else None
        first = cause.lead.first_at if cause else None
        return at is not None and first is not None and at < first

    @property
    def old_and_loud(self) -> Lead | None:
        """The most frequent error that was there before: what a hasty reader would blame."""
        cause = self.cause
        if cause is None or not cause.lead.new:
            return None
        old = [
            lead
            for lead in leads_of(cause.lead.observation)
            if lead.error and not lead.new and lead.count > 1
        ]
        return max(old, key=lambda lead: lead.count, default=None)

    @property
    def changes(self) -> list[Change]:
        """Change events shortly before the failure, best first."""
        cause, result = self.cause, self.results.get("changes")
        if cause is None or result is None or cause.lead.first_at is None:
            return []
        return changes_before(cause.lead, cause.lead.first_at, leads_of(result))

    @property
    def passages(self) -> list[Passage]:
        """The passages of the one document that fits the error, if any."""
        names = ("guidance", "remedy", "knowledge")
        lookups = [self.results[name] for name in names if name in self.results]
        cause = self.cause
        return (
            []
            if cause is None
            else fitting(passages_of(lookups), whole_message(cause.lead.example))
        )

    def gained(self, observation: Observation) -> bool:
        """Whether a result is of use: for the answer, or for where to look next."""
        if not observation.found:
            return False
        name = next((n for n, result in self.results.items() if result is observation), "")
        if name in ("recent", "stated", "wide", "unlevelled"):
            return any(standing.relevant for standing in self.standings(observation))
        if name == "changes":
            return bool(self.changes)
        return name in ("knowledge", "guidance", "remedy", "lines", "earlier")

    # --- what comes next ---------------------------------------------------------------------

    def next_step(self) -> Step | None:
        """The next call, or None when the draft is due."""
        steps: tuple[Callable[[], Step | None], ...] = (
            self._knowledge,
            self._recent,
            self._stated,
            self._wide,
            self._unlevelled,
            self._lines,
            self._changes,
            self._guidance,
            self._remedy,
            self._earlier,
        )
        for make in steps:
            step = make()
            if step is not None and step.tool in self.tools and step.name not in self.results:
                return step
        return None

    def next_steps(self) -> list[Step]:
        """The next calls: the first two need not wait for each other."""
        first = self.next_step()
        if first is None:
            return []
        recent = self._recent()
        together = first.name == "knowledge" and not self.history.observations
        return [first, recent] if together and recent.tool in self.tools else [first]

    def _knowledge(self) -> Step:
        return Step(
            "knowledge", KNOWLEDGE_TOOL, {"query": self.question[:_QUESTION_CHARACTERS], "top_k": 5}
        )

    def _recent(self) -> Step:
        return Step("recent", LOG_TOOL, {"mode": "templates", "min_level": "WARN"})

    def _stated(self) -> Step | None:
        """The time the question states, where the default window does not reach well before it."""
        onset, window = self.onset, self._window("recent")
        if onset is None or window is None:
            return None
        start, end = window
        begin = onset.at - _BEFORE_STATED
        if start <= begin or onset.at >= end:
            return None
        request = {"mode": "templates", "min_level": "WARN"}
        return Step("stated", LOG_TOOL, {**request, "start": _iso(begin), "end": _iso(end)})

    def _wide(self) -> Step | None:
        """Once, a day back, where the window asked about brought nothing to go on."""
        window = self._window("recent")
        if window is None or ("wide" not in self.results and self.cause is not None):
            return None
        if self.onset is not None and not self.topic.identifiers:
            return None  # the question says when; errors of other times would not answer it
        request = {"mode": "templates", "min_level": "WARN"}
        start, end = _iso(window[1] - _WIDE), _iso(window[1])
        return Step("wide", LOG_TOOL, {**request, "start": start, "end": end})

    def _unlevelled(self) -> Step | None:
        """Once, lines that tell of a failure without a level, as a kernel or a script writes."""
        searches = [self.results[name] for name in ("recent", "stated") if name in self.results]
        if not searches or any(search.found or not search.ready for search in searches):
            return None
        window = self._window("wide") or self._window("stated") or self._window("recent")
        if window is None or ("unlevelled" not in self.results and self.cause is not None):
            return None
        request = {"mode": "templates", "regex": FAILURE_PATTERN}
        start, end = _iso(window[0]), _iso(window[1])
        return Step("unlevelled", LOG_TOOL, {**request, "start": start, "end": end})

    def _lines(self) -> Step | None:
        """The lead's first lines of the last day: since when, and exactly what."""
        cause = self.cause
        return None if cause is None else self._first_lines("lines", cause.lead, limit=5)

    def _changes(self) -> Step | None:
        """What changed before the first line of a new error."""
        cause = self.cause
        if cause is None or not cause.lead.new or cause.lead.first_at is None:
            return None
        onset = cause.lead.first_at
        request = {"mode": "templates", "regex": SEARCH_PATTERN, "limit": 60}
        # the end is exclusive, and a change in the very millisecond of the error counts
        end = onset + timedelta(milliseconds=1)
        return Step(
            "changes",
            LOG_TOOL,
            {**request, "start": _iso(onset - SEARCH_BEFORE), "end": _iso(end)},
        )

    def _guidance(self) -> Step | None:
        """What the knowledge base says of the error found, in the error's own words."""
        knowledge, cause = self.results.get("knowledge"), self.cause
        if cause is None or knowledge is None or not knowledge.ready:
            return None
        thrown = exception_of(cause.lead.example) or ""
        words = f"{words_only(cause.lead.example)} {thrown}".strip()[:_QUESTION_CHARACTERS]
        if not words:
            return None
        return Step("guidance", KNOWLEDGE_TOOL, {"query": words, "top_k": 5})

    def _remedy(self) -> Step | None:
        """What the document that fits the error says to do, where only its symptoms were shown."""
        passages = self.passages if "guidance" in self.results else []
        if not passages or ("remedy" not in self.results and any(p.actions for p in passages)):
            return None
        title = passages[0].title
        words = f"{title} 处理方案" if is_chinese(title) else f"{title} mitigation"
        return Step("remedy", KNOWLEDGE_TOOL, {"query": words[:_QUESTION_CHARACTERS], "top_k": 5})

    def _earlier(self) -> Step | None:
        """A line that shows that the loudest old error came before the failure."""
        lead = self.old_and_loud
        if lead is None:
            return None
        begin = moment(lead.observation.scope.get("start"))
        return None if begin is None else self._first_lines("earlier", lead, limit=5, end=begin)

    def _first_lines(
        self, name: str, lead: Lead, *, limit: int, end: datetime | None = None
    ) -> Step | None:
        regex = search_regex(lead.example)
        end = end or moment(lead.observation.scope.get("end"))
        if regex is None or end is None:
            return None
        request: dict[str, Any] = {"mode": "lines", "regex": regex, "limit": limit}
        if lead.service:
            request["service"] = lead.service
        if lead.level:
            request["min_level"] = lead.level
        return Step(name, LOG_TOOL, {**request, "start": _iso(end - _WIDE), "end": _iso(end)})

    def _asked_about(self, search: Observation, standing: Standing) -> bool:
        """Whether a search was of the time asked about, or brought a line of that time."""
        if search is not self.results.get("unlevelled"):
            return search is not self.results.get("wide")
        window, last = self._window("stated") or self._window("recent"), moment(standing.lead.last)
        return window is None or last is None or last >= window[0]

    def _window(self, name: str) -> tuple[datetime, datetime] | None:
        scope = self.results[name].scope if name in self.results else {}
        start, end = moment(scope.get("start")), moment(scope.get("end"))
        return (start, end) if start and end else None


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")
