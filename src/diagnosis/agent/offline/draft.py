"""The draft that the rules write: only what the evidence says, each statement with its quote."""

from __future__ import annotations

from typing import Any

from diagnosis.agent.offline.category import category_of
from diagnosis.agent.offline.changes import Change
from diagnosis.agent.offline.guidance import Passage, risk_of
from diagnosis.agent.offline.investigation import KNOWLEDGE_TOOL, LOG_TOOL, Investigation
from diagnosis.agent.offline.leads import Lead, Standing, log_begins, log_ends, log_span, moment
from diagnosis.agent.offline.log_text import (
    exception_said,
    quote_of,
    said,
    whole_message,
)
from diagnosis.agent.offline.phrases import Phrases
from diagnosis.agent.offline.statements import Statements
from diagnosis.contracts.draft import (
    Action,
    ActionRisk,
    AnalysisItem,
    Conclusion,
    Confidence,
    DiagnosisDraft,
    Limitation,
    Quote,
    StatementKind,
)

_MOST_LEADS = 4
_MOST_CHANGES = 4
_MOST_ACTIONS = 4


def write_draft(investigation: Investigation) -> DiagnosisDraft:
    """The answer: with a cause where a relevant error and its lines carry one, else without."""
    writer = _Writer(investigation, Phrases(chinese=investigation.chinese))
    cause = investigation.answer
    if cause is not None and quote_of(cause.lead.example) is not None:
        conclusion = writer.with_cause(cause)
    else:
        conclusion = None
        writer.without_cause()
    writer.unused_tools()
    return DiagnosisDraft(
        conclusion=conclusion,
        analysis=tuple(writer.analysis),
        limitations=tuple(writer.limitations),
        recommended_actions=tuple(writer.actions[:_MOST_ACTIONS]),
    )


class _Writer(Statements):
    """Decides what a draft says, and in which order."""

    # --- with a cause ------------------------------------------------------------------------

    def with_cause(self, cause: Standing) -> Conclusion:
        """Observations, what follows from them, what stays open, and the conclusion."""
        lead = cause.lead
        self.lead(lead)
        self.first_line(lead)
        changes = [change for change in self.investigation.changes if change.may_be_cause]
        named = changes[:_MOST_CHANGES]
        for change in sorted(named, key=lambda change: change.at):
            self.change(change)
        if named:
            self.inference(cause, named[0])
        self.earlier()
        for symptom in self.symptoms(lead):
            self.lead(symptom)
        self.empty_search("changes", "no_changes")
        self.guidance(lead, named)
        self.open_questions(cause, named)
        return self.conclusion(cause, named)

    def conclusion(self, cause: Standing, changes: list[Change]) -> Conclusion:
        lead = cause.lead
        facts: dict[str, Any] = {
            "error": self.error(lead),
            "place": lead.place,
            "first": lead.first,
        }
        if changes:
            best = changes[0]
            facts |= {"change": said(best.lead.example), "at": best.lead.last}
            others = [c for c in changes[1:] if c.strong and c.lead.place == best.lead.place]
            if others:
                facts["other"] = said(others[0].lead.example)
            name = "cause_changes" if others else "cause_change"
        else:
            name = f"cause_{self.age(lead)}"
            facts["count"] = lead.count
        tied = bool(changes) and not changes[0].behind
        sure = tied and cause.compared and (lead.count > 1 or bool(cause.text))
        identifiers = sorted(cause.text.identifiers)
        source = changes[0].lead.place if changes else identifiers[0] if identifiers else lead.place
        return Conclusion(
            root_cause=self.phrases.say(name, **facts),
            fault_category=category_of(
                lead.example, *(change.lead.message for change in changes[:1])
            ),
            fault_source=source or None,
            fault_target=lead.place or None,
            confidence=Confidence.MEDIUM if sure else Confidence.LOW,
        )

    def error(self, lead: Lead) -> str:
        """The error's own words in quotation marks, with what was thrown."""
        thrown = exception_said(lead.example)
        name = "error" if thrown is None else "error_thrown"
        return self.phrases.say(name, said=said(lead.example), thrown=thrown)

    def inference(self, cause: Standing, change: Change) -> None:
        facts = {"said": said(change.lead.example), "place": change.lead.place}
        subject = ", ".join(dict.fromkeys(change.common))
        self.state(
            StatementKind.INFERENCE,
            self.phrases.say("behind" if change.behind else "tied", subject=subject, **facts),
            (change.lead.observation, cause.lead.observation),
        )

    def symptoms(self, cause: Lead) -> list[Lead]:
        """What else on the question is new in the window, if the failure is."""
        if not cause.new:
            return []
        standings = self.investigation.standings(cause.observation)
        relevant = [s.lead for s in standings if s.lead.new and s.relevant]
        return [lead for lead in relevant if lead.example != cause.example][:2]

    def age(self, lead: Lead) -> str:
        """`new`, `standing` where such a line was seen before, `open` where that is not known."""
        if lead.known_before or self.investigation.seen_before:
            return "standing"
        return "new" if lead.new and lead.first else "open"

    def open_questions(self, cause: Standing, changes: list[Change]) -> None:
        missing = "order_only" if changes else f"since_{self.age(cause.lead)}"
        self.limit(cause.lead.observation, missing)
        if not cause.compared:
            self.limit(cause.lead.observation, "not_compared")
        if not changes:
            facts = {"place": cause.lead.place, "said": said(cause.lead.example)}
            self.actions.append(
                Action(
                    action=self.phrases.say("more_context", **facts),
                    risk=ActionRisk.LOW,
                    rationale=self.phrases.say("more_context_why"),
                )
            )

    def guidance(self, lead: Lead, changes: list[Change]) -> None:
        """What the knowledge base adds; it supports nothing, so it comes after the evidence."""
        if changes:
            self.actions.append(
                Action(
                    action=self.phrases.say("review_change", said=said(changes[0].lead.example)),
                    risk=ActionRisk.HIGH,
                    rationale=self.phrases.say("review_change_why"),
                )
            )
        passages = self.investigation.passages
        text = whole_message(lead.example)
        described = next((p for p in passages if p.quote(text) and not p.actions), None)
        if described is not None:
            self.passage(described, lead)
        for passage in passages:
            for action in passage.actions:
                why = self.phrases.say("from_runbook", title=passage.title, section=passage.section)
                self.actions.append(Action(action=action, risk=risk_of(action), rationale=why))

    def passage(self, passage: Passage, lead: Lead) -> None:
        quote = passage.quote(whole_message(lead.example))
        if quote is None:
            return
        said_there = " ".join(quote.split())
        facts = {"title": passage.title, "section": passage.section, "said": said_there}
        self.analysis.append(
            AnalysisItem(
                kind=StatementKind.INFERENCE,
                statement=self.phrases.say("runbook", **facts),
                tool_call_ids=(passage.tool_call_id, lead.observation.tool_call_id),
                quotes=(Quote(tool_call_id=passage.tool_call_id, text=quote),),
            )
        )

    # --- without a cause ---------------------------------------------------------------------

    def without_cause(self) -> None:
        """What was seen, what was searched in vain, and what is missing."""
        searches = self.investigation.searches
        seen: set[str] = set()
        standings = [s for search in searches for s in self.investigation.standings(search)]
        standings.sort(key=lambda s: (not s.relevant, not s.lead.error, -s.score))
        for standing in standings:
            if len(seen) < _MOST_LEADS and standing.lead.message not in seen:
                seen.add(standing.lead.message)
                self.lead(standing.lead)
        for name in ("recent", "stated", "wide"):
            self.empty_search(name, "no_lines")
        self.empty_search("unlevelled", "no_failures")
        self.empty_search("changes", "no_changes")
        self.empty_search("knowledge", "no_knowledge")
        self.what_is_missing(standings)

    def what_is_missing(self, standings: list[Standing]) -> None:
        investigation = self.investigation
        searches = investigation.searches
        if LOG_TOOL not in investigation.tools:
            self.limit(None, "no_log_tool", ask_user=True)
            return
        failed = next((s for s in searches if not s.ready), None)
        if failed is not None or not searches:
            code = failed.answer.get("error_code") if failed else None
            self.limit(None, "log_failed", code=code or "-") if failed else self.limit(
                None, "stopped"
            )
            if not any(search.ready for search in searches):
                return
        search = next(s for s in searches if s.ready)
        begins, ends = log_begins(search.scope), log_ends(search.scope)
        start, end = moment(search.scope.get("start")), moment(search.scope.get("end"))
        if begins and ends and start and end and (ends < start or begins >= end):
            first, last = log_span(search.scope)
            self.limit(search, "outside", ask_user=True, first=first, last=last)
        elif not standings:
            self.limit(search, "nothing")
        elif investigation.cause is not None and not investigation.cause.compared:
            self.limit(search, "general")
        elif any(standing.relevant for standing in standings):
            self.limit(search, "only_weak")
        elif not any(standing.compared for standing in standings):
            self.limit(search, "other_language", ask_user=True, asked=self.asked())
        else:
            self.limit(search, "not_about", asked=self.asked())

    def unused_tools(self) -> None:
        """Say which tools the rules cannot use, so that nobody takes them for searched."""
        unused = sorted(self.investigation.tools - {KNOWLEDGE_TOOL, LOG_TOOL})
        if unused:
            names = ", ".join(unused)
            text = self.phrases.say("not_used", tools=names)
            self.limitations.append(
                Limitation(scope=names, missing_information=text, ask_user=False)
            )

    def asked(self) -> str:
        topic = self.investigation.topic
        words = sorted(topic.identifiers) + sorted(topic.pieces) + sorted(topic.words)
        return ", ".join(words) or self.phrases.say("the_question")
