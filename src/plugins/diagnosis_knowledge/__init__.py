"""Evidence plugin: passages of runbooks and other documents, found by meaning and by words.

    [plugins.knowledge]
    folder = "/var/lib/diagnosis/knowledge"     # default: the user's data directory

Public for the command line and applications: `KnowledgeBase`, `KnowledgeSettings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydantic import BaseModel

from diagnosis.plugin import EvidenceTool, HealthCheck, PluginServices, hookimpl
from diagnosis_knowledge.settings import KnowledgeSettings

if TYPE_CHECKING:
    from diagnosis_knowledge.base import KnowledgeBase

__all__ = ["KnowledgeBase", "KnowledgeSettings"]


def __getattr__(name: str) -> object:
    """Import `KnowledgeBase` when it is first asked for."""
    if name == "KnowledgeBase":
        from diagnosis_knowledge.base import KnowledgeBase

        return KnowledgeBase
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@hookimpl
def diagnosis_settings_model() -> type[BaseModel]:
    """Return the settings of `[plugins.knowledge]`."""
    return KnowledgeSettings


@hookimpl
def diagnosis_register_evidence_tools(
    settings: KnowledgeSettings, services: PluginServices
) -> Sequence[EvidenceTool]:
    """Return `lookup_knowledge` where there is something to look up."""
    if not settings.paths and not settings.has_index:
        return []
    for module in ("chromadb", "filelock"):
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
    from diagnosis_knowledge.documents import find_files
    from diagnosis_knowledge.tool import LookupKnowledge

    find_files(settings.paths)
    return [LookupKnowledge(settings, services.embedder, services.documents)]


@hookimpl
def diagnosis_describe_health(
    settings: KnowledgeSettings, services: PluginServices
) -> Sequence[HealthCheck]:
    """Return checks of the embedding and of the index."""
    from diagnosis_knowledge.health import EmbeddingHealth, IndexHealth

    return [EmbeddingHealth(services.embedder), IndexHealth(settings, services.documents)]
