"""What `diagnosis plugins` tells of the knowledge base, in sentences."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

import diagnosis_knowledge as plugin
from diagnosis.plugin import (
    DocumentRecord,
    Health,
    HealthCheck,
    IndexStatus,
    InMemoryDocuments,
    PluginServices,
    SourceError,
)
from diagnosis_knowledge.base import KnowledgeBase
from diagnosis_knowledge.settings import REGISTRY_NAME, KnowledgeSettings


class Silent:
    """A model whose server does not answer."""

    name, dimensions = "openai:silent", 2

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        raise SourceError("The embedding model could not be reached.", "Check the network.")

    async def embed_query(self, text: str) -> list[float]:
        return (await self.embed_documents([text]))[0]


@pytest.fixture
def settings(tmp_path: Path) -> KnowledgeSettings:
    return KnowledgeSettings(folder=tmp_path / "kb")


@pytest.fixture
def registry() -> InMemoryDocuments:
    return InMemoryDocuments()


@pytest.fixture
def checks(settings, registry, word_embedder) -> Sequence[HealthCheck]:
    return plugin.diagnosis_describe_health(settings, PluginServices(word_embedder, registry))


def sentences(health: Health) -> Iterator[str]:
    for text in (health.detail, health.mend):
        if text is not None:
            assert text.endswith(".")
            assert text[0].isupper() or text.split()[0] == "words"  # the name of a model
            yield text


async def test_the_model_that_settings_name_is_asked(checks, word_embedder) -> None:
    health = await checks[0].check()
    assert health == Health(ok=True, detail="words answers with 128 dimensions.")


async def test_a_model_that_does_not_answer_is_told() -> None:
    services = PluginServices(embedder=Silent())
    embedding, _ = plugin.diagnosis_describe_health(KnowledgeSettings(), services)
    assert await embedding.check() == Health(
        ok=False, detail="The embedding model could not be reached.", mend="Check the network."
    )


async def test_without_one_the_offline_model_is_tried(offline) -> None:
    embedding, _ = plugin.diagnosis_describe_health(KnowledgeSettings(), PluginServices())
    health = await embedding.check()
    assert (health.ok, health.detail) == (True, f"{offline.name} runs on this machine.")


async def test_documents_are_counted_by_status(
    checks, settings, registry, word_embedder, english_runbooks
) -> None:
    index = checks[1]
    assert await index.check() == Health(ok=True, detail="Nothing was added yet.")
    base = await KnowledgeBase.open(settings, word_embedder, registry)
    await base.add([english_runbooks / "messaging"])
    # while the base holds the folder
    assert await index.check() == Health(ok=True, detail="Documents: 1 INDEXED.")
    [added] = await base.list()
    failed = DocumentRecord("other", "other.md", "0" * 64, IndexStatus.FAILED, "why")
    await registry.record(base._statuses._index, [failed])
    health = await index.check()
    assert (health.ok, health.detail) == (False, "Documents: 1 INDEXED, 1 FAILED.")
    assert len(list(sentences(health))) == 2
    await base.remove("other")
    await base.remove(added.document_id)
    assert await index.check() == Health(ok=True, detail="Documents: none.")
    await base.close()


async def test_an_index_without_records_is_counted_all_the_same(
    checks, settings, word_embedder, english_runbooks
) -> None:
    base = await KnowledgeBase.open(settings, word_embedder, InMemoryDocuments())
    await base.add([english_runbooks / "messaging"])
    await base.close()
    assert await checks[1].check() == Health(ok=True, detail="Documents: 1 INDEXED.")


@pytest.mark.parametrize("content", [b"broken" * 1_000, None])
async def test_a_file_that_is_no_index_is_told(checks, settings, content) -> None:
    settings.index_folder.mkdir()
    file = settings.index_folder / REGISTRY_NAME
    if content is None:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE customers (name TEXT)")
    else:
        file.write_bytes(content)
    health = await checks[1].check()
    assert not health.ok
    assert len(list(sentences(health))) == 2
