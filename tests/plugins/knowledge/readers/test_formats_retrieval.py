"""The same runbooks are found as well in every format as in Markdown."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diagnosis_knowledge.base import KnowledgeBase
from diagnosis_knowledge.documents import DocumentReader, find_files
from diagnosis_knowledge.settings import KnowledgeSettings

HERE = Path(__file__).parents[1]
Converters = dict[str, Callable[[str], bytes]]


def converted(source: Path, target: Path, converters: Converters) -> Path:
    """The runbooks of a folder, each in the next one of the formats."""
    formats = itertools.cycle(converters.items())
    for path in sorted(source.rglob("*.md")):
        suffix, convert = next(formats)
        to = target / path.relative_to(source).with_suffix(suffix)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(convert(path.read_text(encoding="utf-8")))
    return target


async def recall(paths: Path, embedder: Any, questions: list[dict[str, Any]]) -> float:
    """The share of questions whose section is among the first five, whatever the suffix."""
    base = await KnowledgeBase.open(KnowledgeSettings(paths=(paths,)), embedder)
    await base.add([paths])
    hits = 0
    for case in questions:
        found = (await base.search(case["query"], top_k=5)).chunks
        right = {(Path(one["file"]).stem, one["section"]) for one in _answers(case)}
        hits += any((Path(chunk.source).stem, chunk.section) in right for chunk in found)
    await base.close()
    return hits / len(questions)


def _answers(case: dict[str, Any]) -> list[dict[str, str]]:
    answers: list[dict[str, str]] = case.get("relevant_sections") or [case]
    return answers


@pytest.mark.parametrize("suffix", [".html", ".rst", ".pdf"])
@pytest.mark.parametrize("folder", ["runbooks", "operations", "runbooks-zh"])
def test_sections_titles_and_text_are_those_of_the_markdown(
    tmp_path: Path, converters: Converters, request: pytest.FixtureRequest, folder: str, suffix: str
) -> None:
    source = HERE / folder
    if folder == "runbooks-zh":
        source = request.getfixturevalue("shared_data") / folder
    converted(source, tmp_path, {suffix: converters[suffix]})
    with DocumentReader() as reader:
        for file in find_files([tmp_path]):
            document = reader.read(file)
            (original,) = (
                reader.read(each)
                for each in find_files([source])
                if each.path.with_suffix("").name == file.path.with_suffix("").name
            )
            assert document.title == original.title
            sections = list(dict.fromkeys(chunk.section for chunk in document.chunks))
            assert sections == list(dict.fromkeys(chunk.section for chunk in original.chunks))
            assert _words(document) == _words(original)


def _words(document: Any) -> str:
    """What a reader reads: without the marks of lists and code, line ends and spaces."""
    text = "\n".join(chunk.text for chunk in document.chunks)
    text = re.sub(r"^\s*(?:\d+\.|`{3}\w*)(?:\s|$)", "", text, flags=re.MULTILINE)
    return "".join(c for c in text if c.isalnum() or c in "%<>=$")


@pytest.mark.timeout(300)
async def test_english(tmp_path: Path, converters: Converters, offline: Any) -> None:
    questions = [
        case
        for case in json.loads((HERE / "english-cases.json").read_text())["answerable"]
        if case["file"].endswith(".md")
    ]
    originals = converted(HERE / "runbooks", tmp_path / "md", {".md": str.encode})
    mixed = converted(HERE / "runbooks", tmp_path / "mixed", converters)
    expected = await recall(originals, offline, questions)
    assert await recall(mixed, offline, questions) >= expected - 0.05


@pytest.mark.timeout(300)  # 104 passages to embed
async def test_chinese(
    tmp_path: Path, shared_data: Path, converters: Converters, offline: Any
) -> None:
    given = json.loads((shared_data / "retrieval-cases.json").read_text())
    mixed = converted(shared_data / "runbooks-zh", tmp_path, converters)
    questions = [case for case in given if case["answerable"]]
    assert await recall(mixed, offline, questions) >= 0.90
