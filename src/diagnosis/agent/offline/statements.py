"""The single statements and limitations of a draft, each bound to the result it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from diagnosis.agent.offline.changes import Change
from diagnosis.agent.offline.history import Observation
from diagnosis.agent.offline.investigation import KNOWLEDGE_TOOL, Investigation
from diagnosis.agent.offline.leads import Lead, first_such_line
from diagnosis.agent.offline.log_text import exception_quote_of, exception_said, quote_of, said
from diagnosis.agent.offline.phrases import Phrases
from diagnosis.contracts.draft import Action, AnalysisItem, Limitation, Quote, StatementKind


@dataclass
class Statements:
    """Collects the parts of one draft."""

    investigation: Investigation
    phrases: Phrases
    analysis: list[AnalysisItem] = field(default_factory=list)
    limitations: list[Limitation] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)

    def lead(self, lead: Lead) -> None:
        """A pattern: how often, since when, and whether it is new."""
        level = self.phrases.say("level", level=lead.level) if lead.level else ""
        name = "untimed" if not lead.first else "once" if lead.count == 1 else "often"
        statement = self.phrases.say(
            name,
            place=lead.place,
            said=said(lead.example),
            count=lead.count,
            level=level,
            first=lead.first,
        )
        thrown = exception_quote_of(lead.example)
        if thrown is not None:
            statement += self.phrases.say("thrown", thrown=exception_said(lead.example))
        if lead.first:
            statement += self.phrases.say("new") if lead.new else self.old(lead)
        self.observe(statement, lead.observation, lead.example, thrown)

    def old(self, lead: Lead) -> str:
        """That such a line was there before, where the tool saw one."""
        return self.phrases.say("not_new") if lead.known_before else ""

    def first_line(self, lead: Lead) -> None:
        """Since when there are such lines, where one was found."""
        result = self.investigation.results.get("lines")
        line = first_such_line(result, lead)
        if result is not None and line is not None and line.get("timestamp"):
            statement = self.phrases.say("first_line", at=line["timestamp"])
            self.observe(statement, result, str(line["text"]))

    def change(self, change: Change) -> None:
        """A change event."""
        lead = change.lead
        facts = {"at": lead.last, "place": lead.place, "said": said(lead.example)}
        self.observe(self.phrases.say("change", **facts), lead.observation, lead.example)

    def earlier(self) -> None:
        """The loudest old error, with a line from before: how it is told apart from the failure."""
        result, lead = self.investigation.results.get("earlier"), self.investigation.old_and_loud
        line = first_such_line(result, lead) if lead else None
        if result is not None and line is not None and line.get("timestamp"):
            text = str(line["text"])
            statement = self.phrases.say("earlier", at=line["timestamp"], said=said(text))
            self.observe(statement, result, text)

    def observe(
        self, statement: str, observation: Observation, text: str, more: str | None = None
    ) -> None:
        """An observation with a quote from `text`, a field of one of the result's items.

        Args:
            more: a second passage of the same field to quote.
        """
        quotes = tuple(
            Quote(tool_call_id=observation.tool_call_id, text=quote)
            for quote in (quote_of(text), more)
            if quote is not None
        )
        if quotes:
            self.analysis.append(
                AnalysisItem(
                    kind=StatementKind.OBSERVATION,
                    statement=statement,
                    tool_call_ids=(observation.tool_call_id,),
                    quotes=quotes,
                )
            )

    def empty_search(self, name: str, phrase: str) -> None:
        """What was searched to the end in vain, by the name of its step."""
        result = self.investigation.results.get(name)
        if result is not None and result.empty:
            scope = result.scope
            facts = {"start": scope.get("start"), "end": scope.get("end")}
            if result.tool_name == KNOWLEDGE_TOOL or all(facts.values()):
                self.state(
                    StatementKind.NEGATIVE_OBSERVATION, self.phrases.say(phrase, **facts), (result,)
                )

    def state(
        self, kind: StatementKind, statement: str, observations: tuple[Observation, ...]
    ) -> None:
        """A statement without a quote."""
        ids = tuple(dict.fromkeys(observation.tool_call_id for observation in observations))
        self.analysis.append(AnalysisItem(kind=kind, statement=statement, tool_call_ids=ids))

    def limit(
        self, search: Observation | None, missing: str, *, ask_user: bool = False, **facts: Any
    ) -> None:
        """What is missing, and where it was looked for."""
        scope = self.phrases.say("logs")
        if search is not None:
            sources = search.scope.get("sources")
            names = [str(s.get("source")) for s in sources] if isinstance(sources, list) else []
            start, end = search.scope.get("start"), search.scope.get("end")
            scope = self.phrases.say(
                "scope", what=", ".join(names[:5]) or scope, start=start, end=end
            )
        text = self.phrases.say(missing, **facts)
        self.limitations.append(
            Limitation(scope=scope, missing_information=text, ask_user=ask_user)
        )
