"""Leads: patterns of log lines, weighed by the question's words and by how new they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from diagnosis.agent.offline.failure import says_failure
from diagnosis.agent.offline.history import Observation
from diagnosis.agent.offline.log_text import is_request, message_of, speech_of
from diagnosis.agent.offline.pattern import same_kind
from diagnosis.agent.offline.times import Onset
from diagnosis.agent.offline.words import Match, Topic, asks_for_explanation, is_chinese

_ERRORS = ("ERROR", "FATAL")
# How long before the stated time a failure may have begun: people say "about half past".
_BEFORE_STATED = timedelta(minutes=20)
# A pattern whose first line comes within so many of its usual gaps after the log's first line may
# well be older than the log.
_GAPS = 3
# An application logs an error and its proxy the failed request within so much of each other.
_TOGETHER = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Lead:
    """One pattern of lines, as the log tool counted it.

    Attributes:
        first, last: times as the tool wrote them; they are quoted as they stand.
        known_before: the tool saw such lines in the window before.
        new: not in the window before, nor from the very beginning of the log.
    """

    observation: Observation
    example: str
    message: str
    level: str | None
    service: str
    source: str
    count: int
    first: str
    last: str
    known_before: bool
    new: bool

    @property
    def error(self) -> bool:
        """ERROR or worse, or without a level and its text says that something failed."""
        if self.level is not None:
            return self.level in _ERRORS
        # a search for a level lets a line without one through only because its text says so
        return "min_level" in self.observation.request or says_failure(self.message)

    @property
    def request(self) -> bool:
        """A line of an access log: a symptom, where an application says why."""
        return is_request(self.example)

    @property
    def first_at(self) -> datetime | None:
        """When its first line in the window was written."""
        return moment(self.first)

    @property
    def place(self) -> str:
        """The service, or the source where no service is named."""
        return self.service or self.source


@dataclass(frozen=True, slots=True)
class Standing:
    """What a lead is worth for a question.

    Attributes:
        relevant: it answers to the question's words.
        compared: False where question and log are in different languages and nothing ties them.
        may_be_cause: it may carry a conclusion.
        score: higher is followed first.
    """

    lead: Lead
    text: Match
    place: Match
    relevant: bool
    compared: bool
    may_be_cause: bool
    score: float


def moment(text: Any) -> datetime | None:
    """An aware time of a result, or None."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return at if at.tzinfo is not None else None


def leads_of(observation: Observation) -> list[Lead]:
    """The patterns of one result of mode `templates`, in its order."""
    leads = []
    for item in observation.items:
        example, count = item.get("example"), item.get("count")
        if not isinstance(example, str) or not example.strip() or not isinstance(count, int):
            continue
        first, last = str(item.get("first") or ""), str(item.get("last") or "")
        source = str(item.get("source") or "")
        begins = log_begins(observation.scope, source)
        new = item.get("new_in_window")
        leads.append(
            Lead(
                observation=observation,
                example=example,
                message=message_of(example),
                level=item.get("level"),
                service=str(item.get("service") or ""),
                source=source,
                count=count,
                first=first,
                last=last,
                known_before=new is False,
                new=new is True and not _from_the_beginning(first, last, count, begins),
            )
        )
    return leads


def weigh(lead: Lead, topic: Topic, question: str, onset: Onset | None) -> Standing:
    """Judge one lead by the question's words, its level, its newness and the stated time."""
    place = topic.match(f"{lead.service} {lead.source}")
    text = topic.match(speech_of(lead.example)).without(place)
    relevant, compared = _relevance(lead, topic, text, place, question)
    fresh = lead.new and _not_before(lead, onset)
    # an old error that the question only supposes to explain another failure is not shown to
    supposed = asks_for_explanation(question) and bool(topic.named - text.named)
    asked_for = compared and not supposed and _asked_for(topic, text, place, onset)
    may_be_cause = lead.error and relevant and (fresh or asked_for)
    score = (
        6.0 * len(text.identifiers)
        + 4.0 * min(len(text.subjects), 2)
        + 2.0 * min(len(text.concepts), 2)
        + (2.0 if place.named else 0.0)
        + (5.0 if fresh else 0.0)
        + (1.0 if lead.level == "FATAL" else 0.0)
        + min(math.log2(lead.count + 1), 8.0) / 2
        + (2.0 if fresh and onset and _close_to(lead, onset) else 0.0)
        - (0.0 if lead.error else 8.0)
        - (6.0 if lead.request else 0.0)
    )
    return Standing(lead, text, place, relevant, compared, may_be_cause, score)


def with_what_requests_meet(standings: list[Standing]) -> list[Standing]:
    """An application's new error that begins together with failing requests stands before them.

    The question may name the request only: what the application says of it then answers it too.
    """
    symptoms = [s for s in standings if s.lead.request and s.lead.new and s.may_be_cause]
    result = []
    for standing in standings:
        met = [s for s in symptoms if _breaks_together(standing.lead, s.lead)]
        if met:
            best = max(met, key=lambda symptom: symptom.score)
            score = max(standing.score, best.score + 1.0)
            met_it = replace(standing, relevant=True, may_be_cause=True, score=score)
            result.append(replace(met_it, compared=best.compared))
        else:
            result.append(standing)
    return result


def first_such_line(result: Observation | None, lead: Lead) -> dict[str, Any] | None:
    """The first line that a search for the lead's like brought and that is one; else None.

    A search finds more than was meant: only what has the lead's pattern and level is told of.
    """
    if result is None or not result.found or result.answer.get("truncated") == "SCAN":
        return None
    for item in result.items:
        text = item.get("text")
        same_level = item.get("level") == lead.level
        if isinstance(text, str) and same_level and same_kind(text, lead.example):
            return item
    return None


def log_begins(scope: dict[str, Any], source: str | None = None) -> datetime | None:
    """The first time in the searched logs, or in one source; None where the scope says none."""
    return min(_times(scope, "first", source), default=None)


def log_ends(scope: dict[str, Any]) -> datetime | None:
    """The last time in the searched logs; None where the scope says none."""
    return max(_times(scope, "last", None), default=None)


def log_span(scope: dict[str, Any]) -> tuple[str, str]:
    """The first and the last time in the searched logs, as the tool wrote them."""
    first, last = _times(scope, "first", None), _times(scope, "last", None)
    return first[min(first)], last[max(last)]


def _breaks_together(lead: Lead, symptom: Lead) -> bool:
    first, other = lead.first_at, symptom.first_at
    if lead.request or lead.level not in _ERRORS or not lead.new or first is None or other is None:
        return False
    return abs(first - other) <= _TOGETHER and 2 * lead.count >= symptom.count


def _times(scope: dict[str, Any], key: str, source: str | None) -> dict[datetime, str]:
    sources = scope.get("sources")
    if not isinstance(sources, list):
        return {}
    wanted = [s for s in sources if isinstance(s, dict) and source in (None, s.get("source"))]
    return {at: entry[key] for entry in wanted if (at := moment(entry.get(key))) is not None}


def _from_the_beginning(first: str, last: str, count: int, begins: datetime | None) -> bool:
    first_at, last_at = moment(first), moment(last)
    if begins is None or first_at is None or last_at is None:
        return False
    usual_gap = (last_at - first_at) / max(count - 1, 1)
    return first_at - begins <= _GAPS * usual_gap


def _relevance(
    lead: Lead, topic: Topic, text: Match, place: Match, question: str
) -> tuple[bool, bool]:
    """Whether a lead answers to the question, and whether their words could be compared at all."""
    if topic.error_classes and not (topic.error_classes & text.identifiers or text.concepts):
        return False, True  # it asks for one kind of error, and this is another
    if text.named or place.named:
        return True, True
    same_language = is_chinese(question) == is_chinese(lead.message)
    if not topic.has_subject:
        if topic.concepts:
            return _speaks_of_it(topic, text, place), True
        # "what is wrong?" is answered by whatever is new
        return lead.new, same_language
    # what is named is not in the text; in another language it may be called otherwise
    return False, same_language or bool(topic.identifiers)


def _asked_for(topic: Topic, text: Match, place: Match, onset: Onset | None) -> bool:
    """Whether an old error may be meant: the question names it, and claims no later beginning."""
    if text.identifiers:
        return True
    if onset is not None:
        return False
    about = bool(place.named) or not topic.has_subject
    return bool(text.subjects) or (about and _speaks_of_it(topic, text, place))


def _speaks_of_it(topic: Topic, text: Match, place: Match) -> bool:
    """Whether it shares the question's concepts, and what fails among them if one says that."""
    if not topic.things:
        return bool(text.concepts)
    return bool(topic.things & (text.concepts | place.concepts))


def _not_before(lead: Lead, onset: Onset | None) -> bool:
    first = lead.first_at
    return onset is None or first is None or first >= onset.at - _BEFORE_STATED


def _close_to(lead: Lead, onset: Onset) -> bool:
    first = lead.first_at
    return first is not None and abs(first - onset.at) <= _BEFORE_STATED
