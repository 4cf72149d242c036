"""The evidence tool `query_logs`."""

from __future__ import annotations

import asyncio
from datetime import datetime, tzinfo

from pydantic import BaseModel, JsonValue

from diagnosis.plugin import (
    EvidenceContext,
    EvidenceResult,
    QueryRejected,
    QueryRejection,
    SourceNotFound,
    SourceUnavailable,
    Truncation,
)
from diagnosis_logs import lines, templates
from diagnosis_logs.collecting import Collector
from diagnosis_logs.cursor import read_cursor, write_cursor
from diagnosis_logs.filters import text_filter
from diagnosis_logs.histogram import HistogramCollector
from diagnosis_logs.logfile import LogFile
from diagnosis_logs.page import page_of, shortened
from diagnosis_logs.question import Coverage, Question
from diagnosis_logs.reading import Halt
from diagnosis_logs.request import LogQuery, Window, window_of
from diagnosis_logs.scan import scan
from diagnosis_logs.settings import LogsSettings
from diagnosis_logs.sources import LogSources, named
from diagnosis_logs.spans import describe_sources
from diagnosis_logs.timestamps import iso, to_instant

_DESCRIPTION = (
    "Searches the log files of the affected systems in a time window. Use it to see what the "
    "services said: mode `templates` first for an overview of a window (worst and new patterns on "
    "top), `histogram` to see when something began, `lines` with filters for the exact lines to "
    "quote. An empty result means that no line of the searched sources matches the filters in the "
    "window that the scope names; it does not mean that nothing happened. Compare the window with "
    "each source's first and last time in the scope."
)
_DESCRIBED_BYTES = 1_024
_SOURCES_SHOWN = 20
_LEFT_OUT_SHOWN = 10
_NAME_CHARACTERS = 120


class QueryLogs:
    """Searches the configured logs.

    Args:
        settings: which logs.
        sources: the same, checked.
    """

    name = "query_logs"
    description = _DESCRIPTION
    request: type[BaseModel] = LogQuery

    def __init__(self, settings: LogsSettings, sources: LogSources) -> None:
        self._settings = settings
        self._sources = sources

    def describe(self) -> str:
        """The sources with their first and last times, at most 1 KiB."""
        return describe_sources(self._sources, self._settings, _DESCRIBED_BYTES)

    def normalise(self, request: LogQuery) -> dict[str, JsonValue]:
        """The request without what makes no difference: defaults, case, notation of times."""
        scope: dict[str, JsonValue] = request.model_dump(mode="json", exclude_defaults=True)
        for name in ("contains", "exclude", "service"):
            if isinstance(text := scope.get(name), str):
                scope[name] = text.lower()
        for name in ("start", "end"):
            if isinstance(text := scope.get(name), str):
                scope[name] = _normalised_time(text)
        if request.mode != "lines":
            scope.pop("context_lines", None)
        return scope

    async def collect(self, request: LogQuery, context: EvidenceContext) -> EvidenceResult:
        """Search; the scanning thread ends at the next record after the call is cancelled.

        Raises:
            QueryRejected: a time, a window, a pattern or a cursor is refused.
            SourceNotFound: `source` names none of the sources.
            SourceUnavailable: none of the sources can be read.
        """
        window = window_of(request, context, self._settings.window_minutes)
        collector = _collector(request, window)
        question = Question(
            window=window,
            text=text_filter(request),
            least=request.least,
            service=None if request.service is None else request.service.strip().lower(),
            zone=self._settings.zone_or(context.zone),
        )
        # ends before the call is cut off, so that what was found is not lost
        halt = Halt(max(0.05, min(context.remaining_s * 0.9, context.remaining_s - 0.5)))
        try:
            return await asyncio.to_thread(
                self._search, request, context, question, collector, halt
            )
        finally:
            halt.cancel()

    def _search(
        self,
        request: LogQuery,
        context: EvidenceContext,
        question: Question,
        collector: Collector,
        halt: Halt,
    ) -> EvidenceResult:
        files, complete, left_out = self._sources.files()
        if request.source is not None:
            files = named(files, request.source)
            if not files and complete:
                raise SourceNotFound(request.source)
            left_out = []

        def relist(source: str) -> list[LogFile]:
            members = self._sources.members(source)
            return members if request.source is None else named(members, request.source)

        coverages = scan(files, question, collector, halt, relist)
        left_out = [*left_out, *(each for coverage in coverages for each in coverage.left_out)]
        coverages = [coverage for coverage in coverages if coverage.log]
        if all(coverage.failed and not coverage.reached for coverage in coverages):
            raise SourceUnavailable("no log file can be read")
        searched_all = (
            complete and not collector.overflowed and all(coverage.read for coverage in coverages)
        )
        scope = _scope(request, question.window, context.zone, coverages)
        scope |= collector.scope()
        if without_level := sum(coverage.without_level for coverage in coverages):
            scope["lines_without_level_left_out"] = without_level
        scope |= _left_out_scope(left_out)
        items = collector.items(context.zone)
        page = page_of(items, scope, request.limit, context.byte_budget)
        if page.last is not None:
            scope["next_cursor"] = write_cursor(request, question.window, page.last)
        return EvidenceResult(
            items=page.items,
            scope=scope,
            matched=collector.matched if searched_all else None,
            truncated=page.truncated if searched_all else Truncation.SCAN,
        )


def _collector(request: LogQuery, window: Window) -> Collector:
    if request.mode == "histogram":
        if request.cursor is not None:
            raise QueryRejected(QueryRejection.COMBINATION_NOT_ALLOWED)
        return HistogramCollector(window, request.limit)
    if request.mode == "templates":
        after = read_cursor(request, window, templates.KEY_SHAPE)
        return templates.TemplateCollector(after)
    after = read_cursor(request, window, lines.KEY_SHAPE)
    return lines.LineCollector(request.limit, after, request.context_lines)


def _scope(
    request: LogQuery, window: Window, zone: tzinfo, coverages: list[Coverage]
) -> dict[str, JsonValue]:
    scope: dict[str, JsonValue] = {
        "start": iso(window.start, zone),
        "end": iso(window.end, zone),
        "mode": request.mode,
        "limit": request.limit,
    }
    for name in ("source", "service", "min_level", "contains", "regex", "exclude", "trace_id"):
        if (value := getattr(request, name)) is not None:
            scope[name] = value
    # the sources that reach into the window are the ones to know of
    shown = sorted(coverages, key=lambda coverage: not _overlaps(coverage, window))[:_SOURCES_SHOWN]
    scope["sources"] = [
        _source_scope(coverage, zone) for coverage in sorted(shown, key=lambda shown: shown.source)
    ]
    if len(coverages) > len(shown):
        scope["more_sources"] = len(coverages) - len(shown)
    return scope


def _overlaps(coverage: Coverage, window: Window) -> bool:
    if coverage.first is None or coverage.last is None:
        return not coverage.timed
    return coverage.first < window.end and coverage.last >= window.start


def _source_scope(coverage: Coverage, zone: tzinfo) -> dict[str, JsonValue]:
    scope: dict[str, JsonValue] = {
        "source": coverage.source,
        "first": None if coverage.first is None else iso(coverage.first, zone),
        "last": None if coverage.last is None else iso(coverage.last, zone),
    }
    if not coverage.read:
        scope["searched"] = "in part" if coverage.reached else "no"
    elif coverage.empty:
        scope["searched"] = "whole: it is empty"
    elif not coverage.timed:
        scope["searched"] = "whole: its lines carry no time"
    elif not coverage.ordered:
        scope["searched"] = "whole: its lines are not in order of time"
    return scope


def _left_out_scope(left_out: list[tuple[str, str]]) -> dict[str, JsonValue]:
    """The files that are not searched, and why."""
    scope: dict[str, JsonValue] = {}
    if shown := left_out[:_LEFT_OUT_SHOWN]:
        scope["files_left_out"] = [
            {"file": shortened(file, _NAME_CHARACTERS), "why": why} for file, why in shown
        ]
    if len(left_out) > len(shown):
        scope["more_files_left_out"] = len(left_out) - len(shown)
    return scope


def _normalised_time(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text.strip())
        # an instant where the text is one; a local time keeps its notation
        return moment.isoformat() if moment.tzinfo is None else str(to_instant(moment))
    except (ValueError, OverflowError):
        return text
