"""Any embedding model will do: another scale, a failing server, another length, another model."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from diagnosis.plugin import SourceError
from diagnosis_knowledge.base import KnowledgeBase
from diagnosis_knowledge.reindexing import reindex
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_knowledge.sharpening import SharpenedEmbedder
from diagnosis_knowledge.tool import KnowledgeRequest, LookupKnowledge
from diagnosis_knowledge.words import query_terms

HERE = Path(__file__).parent
OFF_DOMAIN = [
    "who painted the ceiling of the chapel",
    "a recipe for mushroom risotto",
    "when does the museum open on sunday",
    "今天股市收盘多少点",
    "怎么给小狗洗澡",
    "how tall is the highest mountain",
    "learn to play the guitar",
    "周末去哪里爬山",
]


class HashedWords:
    """Cosines of 0.0 to 0.4: counts of hashed words that carry a subject, and of trigrams."""

    name, dimensions = "hashed", 512

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for word in query_terms(text):
            for part, weight in [(word, 1.0)] + [(word[i : i + 3], 0.3) for i in range(len(word))]:
                number = int.from_bytes(hashlib.sha256(part.encode()).digest()[:4], "big")
                vector[number % self.dimensions] += weight if number & 1 << 31 else -weight
        return vector


class Crowded(HashedWords):
    """The same, but every two texts have a cosine of 0.8 or more."""

    name = "crowded"

    def _vector(self, text: str) -> list[float]:
        vector = super()._vector(text)
        length = math.sqrt(sum(value * value for value in vector)) or 1.0
        common = 2.2 / math.sqrt(self.dimensions)
        return [value / length + common for value in vector]


class Failing(HashedWords):
    """Works until it is told not to."""

    name = "failing"
    works = True

    def _vector(self, text: str) -> list[float]:
        if not self.works:
            raise SourceError("The embedding model failing answered HTTP 503.", "Look at it.")
        return super()._vector(text)


class Longer(HashedWords):
    """The same name with vectors of another length."""

    dimensions = 700


@pytest.fixture
def operations() -> Path:
    return HERE / "operations"


@pytest.fixture
def settings(tmp_path: Path) -> KnowledgeSettings:
    return KnowledgeSettings(folder=tmp_path / "kb")


async def filled(settings: KnowledgeSettings, embedder, documents: Path) -> KnowledgeBase:
    base = await KnowledgeBase.open(settings, embedder)
    await base.add([documents])
    return base


# --- one floor for every model -------------------------------------------------------------------


@pytest.mark.parametrize("embedder", [HashedWords(), Crowded()], ids=lambda each: each.name)
async def test_strangers_are_refused_whatever_the_scale_of_the_model(embedder, operations) -> None:
    raw = await embedder.embed_documents(["disk full", "a recipe for soup"])
    lengths = [math.sqrt(sum(value * value for value in vector)) for vector in raw]
    cosine = sum(a * b for a, b in zip(*raw, strict=True)) / (lengths[0] * lengths[1])
    assert (cosine > 0.7) == (embedder.name == "crowded")
    base = await filled(KnowledgeSettings(paths=(operations,)), embedder, operations)
    cases = json.loads((HERE / "operations-cases.json").read_text())["english"]
    answered = 0
    questions = [*cases["answerable"]["development"], *cases["answerable"]["held_out"]]
    for case in questions:
        found = await base.search(case["query"])
        answered += any(chunk.source == case["file"] for chunk in found.chunks)
    refused = [not (await base.search(stranger)).chunks for stranger in OFF_DOMAIN]
    strangers = [not (await base.search(stranger)).chunks for stranger in
                 [*cases["strangers"]["development"], *cases["strangers"]["held_out"]]]  # fmt: skip
    await base.close()
    assert answered / len(questions) >= 0.6  # words are all that this model knows
    assert sum(refused) / len(refused) >= 0.85
    assert sum(strangers) / len(strangers) >= 0.8


async def test_what_was_learned_of_a_model_is_kept_with_the_index(settings, operations) -> None:
    base = await filled(settings, Crowded(), operations)
    await base.close()
    asked: list[str] = []

    class Watched(Crowded):
        async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            asked.extend(texts)
            return await super().embed_documents(texts)

    base = await KnowledgeBase.open(settings, Watched())
    assert (await base.search("redis evicts keys")).chunks
    await base.close()
    assert asked == []


async def test_a_calibration_of_another_model_is_not_taken() -> None:
    first, second = SharpenedEmbedder(HashedWords()), SharpenedEmbedder(Crowded())
    await first.embed_query("x")
    assert first.calibration is not None
    second.remember(first.calibration)
    assert second.calibration is None


# --- a model that cannot be asked ----------------------------------------------------------------


async def test_a_lookup_goes_by_words_and_says_so_while_the_model_is_down(
    settings, operations, context
) -> None:
    embedder = Failing()
    await (await filled(settings, embedder, operations)).close()
    tool = LookupKnowledge(settings, embedder)
    await tool.open()
    request = KnowledgeRequest(query="Redis evicts keys without expiry")
    whole = await tool.collect(request, context)
    embedder.works = False
    words = await tool.collect(request, context)
    stranger = await tool.collect(KnowledgeRequest(query="Terraform state is locked"), context)
    await tool.close()
    assert whole.scope["retrieval"] == "MEANING_AND_WORDS"
    assert words.scope["retrieval"] == "WORDS_ONLY"
    assert words.items[0].fields["source"] == "redis-eviction.md"
    assert stranger.items == ()


async def test_adding_fails_while_the_model_is_down_and_leaves_the_rest_as_it_was(
    settings, operations, tmp_path
) -> None:
    embedder = Failing()
    base = await filled(settings, embedder, operations)
    before = await base.list()
    new = tmp_path / "new.md"
    new.write_text("# New\n\nSomething about queues.\n")
    embedder.works = False
    with pytest.raises(SourceError, match="HTTP 503"):
        await base.add([new])
    embedder.works = True
    after = {document.source: document for document in await base.list()}
    assert after.pop("new.md").status == "FAILED"
    assert sorted(after) == sorted(document.source for document in before)
    assert [file.status for file in await base.add([new])] == ["ADDED"]
    await base.close()


async def test_vectors_of_another_length_are_refused(settings, operations, tmp_path) -> None:
    await (await filled(settings, HashedWords(), operations)).close()
    new = tmp_path / "new.md"
    new.write_text("# New\n\nSomething about queues.\n")
    other = Longer()
    other.name = HashedWords.name
    base = await KnowledgeBase.open(settings, other)
    with pytest.raises(SourceError, match="700 dimensions, and the index has 512"):
        await base.add([new])
    found = await base.search("Redis evicts keys")
    await base.close()
    assert (found.by_meaning, bool(found.chunks)) == (False, True)


# --- another model -------------------------------------------------------------------------------


async def ids(settings: KnowledgeSettings, embedder, query: str) -> list[str]:
    base = await KnowledgeBase.open(settings, embedder)
    found = await base.search(query)
    await base.close()
    assert found.by_meaning
    return [chunk.chunk_id for chunk in found.chunks]


async def test_reindexing_changes_the_model_and_keeps_documents_and_ids(
    settings, operations
) -> None:
    await (await filled(settings, HashedWords(), operations)).close()
    with pytest.raises(SourceError) as refused:
        await KnowledgeBase.open(settings, Crowded())
    assert "diagnosis knowledge reindex" in refused.value.mend
    before = await ids(settings, HashedWords(), "redis evicts keys")
    told: list[tuple[int, int]] = []
    count = await reindex(settings, Crowded(), lambda done, total: told.append((done, total)))
    assert told[-1] == (count, count)
    assert set(before) & set(await ids(settings, Crowded(), "redis evicts keys"))
    with pytest.raises(SourceError, match="was built with"):
        await KnowledgeBase.open(settings, HashedWords())
    assert await reindex(settings, Longer()) == count  # of another length, too
    assert await ids(settings, Longer(), "redis evicts keys")


async def test_reindexing_that_fails_leaves_the_old_vectors_in_use(settings, operations) -> None:
    await (await filled(settings, HashedWords(), operations)).close()
    before = await ids(settings, HashedWords(), "redis evicts keys")
    failing = Failing()
    failing.works = False
    with pytest.raises(SourceError, match="HTTP 503"):
        await reindex(settings, failing)
    assert await ids(settings, HashedWords(), "redis evicts keys") == before


async def test_documents_of_one_use_cannot_be_reindexed(operations) -> None:
    with pytest.raises(SourceError, match="in memory"):
        await reindex(KnowledgeSettings(paths=(operations,)), HashedWords())
