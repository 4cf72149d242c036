"""Floor 1: everything a plugin author imports.

    from diagnosis.plugin import EvidenceItem, EvidenceResult, evidence_tool, hookimpl

See the how-to "Write an evidence plugin" and `hookspecs.py`, which is the whole surface.
"""

from diagnosis.contracts.evidence import (
    EvidenceItem,
    EvidenceResult,
    QueryRejection,
    Truncation,
)
from diagnosis.errors import QueryRejected, SourceError, SourceNotFound, SourceUnavailable
from diagnosis.plugin.documents import (
    DocumentRecord,
    DocumentRegistry,
    IndexStatus,
    InMemoryDocuments,
)
from diagnosis.plugin.evidence_tool import EvidenceContext, EvidenceTool, evidence_tool
from diagnosis.plugin.health import Health, HealthCheck
from diagnosis.plugin.hookspecs import hookimpl
from diagnosis.plugin.observer import RunObserver
from diagnosis.plugin.services import Embedder, PluginServices

__all__ = [
    "DocumentRecord",
    "DocumentRegistry",
    "Embedder",
    "EvidenceContext",
    "EvidenceItem",
    "EvidenceResult",
    "EvidenceTool",
    "Health",
    "HealthCheck",
    "InMemoryDocuments",
    "IndexStatus",
    "PluginServices",
    "QueryRejected",
    "QueryRejection",
    "RunObserver",
    "SourceError",
    "SourceNotFound",
    "SourceUnavailable",
    "Truncation",
    "evidence_tool",
    "hookimpl",
]
