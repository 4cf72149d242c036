"""How well the real offline retrieval answers, on questions of ours and of others.

Figures at the time of writing (offline model, floor 1.1), the section (or document) among the
first five, and strangers refused:

    given Chinese cases          34 of 35     4 of 4
    development questions       125 of 139   86 of 92   (the given ones among them)
    held-out questions           74 of 81    62 of 67

In floats the same model reaches 127 and 86, 74 and 63, and takes half as long again.

Weights, floor and neutral texts were chosen on the development questions, so those flatter. The
held-out ones (`held-out-cases.json` and the halves of that name in `operations-cases.json`) were
written before and never used to choose anything. Before the ruler of `sharpening` they were 71 of
81 and 59 of 67. The bounds below leave room for the differences between machines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diagnosis_knowledge.base import KnowledgeBase
from diagnosis_knowledge.registry import StoredChunk
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_knowledge.sharpening import SharpenedEmbedder, calibrate

HERE = Path(__file__).parent


def cases(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((HERE / name).read_text())
    return loaded


async def answered(base: KnowledgeBase, questions: list[dict[str, Any]]) -> float:
    """The share of questions whose document (and section, where given) is among the first five."""
    hits = 0
    for case in questions:
        found = await base.search(case["query"], top_k=5)
        hits += any(_answers(chunk, case) for chunk in found.chunks)
    return hits / len(questions)


def _answers(chunk: StoredChunk, case: dict[str, Any]) -> bool:
    if "sections" in case:  # the last headings of any that answer
        return chunk.source == case["file"] and chunk.section.split("/")[-1] in case["sections"]
    return any(
        chunk.source == one["file"] and one.get("section") in (None, chunk.section)
        for one in case.get("relevant_sections") or [case]
    )


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


@pytest.mark.timeout(300)
@pytest.mark.parametrize("half", ["development", "held_out"])
@pytest.mark.parametrize("language", ["chinese", "english"])
async def test_operations_questions(shared_data, offline, language, half) -> None:
    folders = {"chinese": shared_data / "runbooks-zh", "english": HERE / "operations"}
    base = await opened(folders[language], offline)
    questions = cases("operations-cases.json")[language]
    assert await answered(base, questions["answerable"][half]) >= 0.83
    assert await refused(base, questions["strangers"][half]) >= 0.80
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
    computed = await calibrate(offline)
    [packaged_vector] = await sharpened.embed_documents(["Disk full\nOld logs fill the volume."])
    raw = await offline.embed_documents(["Disk full\nOld logs fill the volume."])
    [computed_vector] = computed.documents(raw)
    # processors multiply bytes in ways of their own: the last digits are theirs
    assert packaged_vector == pytest.approx(computed_vector, abs=2e-3)
    alike = sum(one * other for one, other in zip(packaged_vector, computed_vector, strict=True))
    assert alike == pytest.approx(1.0, abs=1e-4)
    assert sum(value * value for value in packaged_vector) == pytest.approx(1.0)
    packaged = await sharpened.embed_query("disk full")
    assert (packaged.zero, packaged.one) == pytest.approx((computed.zero, computed.one), abs=2e-3)
