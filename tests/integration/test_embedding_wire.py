"""What PydanticAI's real OpenAI embedding client sends and is sent, well and badly."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from diagnosis import DiagnosisInput
from diagnosis.bootstrap import (
    configured_embedder,
    load_configured_plugins,
    open_diagnosis,
    open_services,
)
from diagnosis.errors import ConfigurationError, SourceError
from diagnosis.models.embedding import RemoteEmbedder
from diagnosis.models.embedding_settings import EmbeddingModelSettings
from diagnosis.settings import load_settings
from diagnosis.testing import ScriptedModel, answer, call, calls, draft_json

KEY = "sk-embedding-0000"
DIMENSIONS = 16


def vector(text: str, size: int = DIMENSIONS) -> list[float]:
    """The same vector for the same text: counts of hashed words, of no particular length."""
    counts = [0.25] * size
    for word in text.split():
        counts[hashlib.sha256(word.encode()).digest()[0] % size] += 1.0
    return counts


def embedding_list(inputs: list[str], size: int = DIMENSIONS) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": index, "embedding": vector(text, size)}
        for index, text in enumerate(inputs)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "data": data, "model": "BAAI/bge-m3", "usage": usage}


def embeds(
    chat: Any, edit: Callable[[dict[str, Any]], Any] = lambda body: None, delay_s: float = 0
) -> Callable[[Any], Awaitable[None]]:
    """Answers every request with the vectors of its inputs, after `edit` changed the body."""

    async def step(exchange: Any) -> None:
        await asyncio.sleep(delay_s)
        body = embedding_list(exchange.json["input"])
        edit(body)
        reply = chat.reply(200, json.dumps(body))
        await exchange.send(reply.head() + reply.payload)

    return step


@pytest.fixture
async def make(chat) -> AsyncIterator[Callable[..., RemoteEmbedder]]:
    """Makes embedders of the local server, and closes them at the end."""
    made: list[RemoteEmbedder] = []

    def make(**changes: Any) -> RemoteEmbedder:
        given = {"name": "openai:BAAI/bge-m3", "base_url": chat.url, "api_key": KEY} | changes
        embedder = configured_embedder(EmbeddingModelSettings.model_validate(given))
        assert embedder is not None
        made.append(embedder)
        return embedder

    yield make
    for each in made:
        await each.close()


# --- requests ------------------------------------------------------------------------------------


async def test_a_host_alone_is_enough_and_only_its_own_key_is_sent(
    chat, make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    chat.plays(embeds(chat))
    found = await make().embed_query("磁盘满了 disk full")
    [request] = chat.requests
    assert request.line == "POST /v1/embeddings HTTP/1.1"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json["model"] == "BAAI/bge-m3"
    assert request.json["input"] == ["磁盘满了 disk full"]
    assert "dimensions" not in request.json
    assert len(found) == DIMENSIONS
    assert sum(value * value for value in found) == pytest.approx(1.0)


async def test_many_texts_go_in_batches_and_come_back_in_order(chat, make) -> None:
    chat.plays(embeds(chat, delay_s=0.02))
    texts = [f"text number {number}" for number in range(150)]
    found = await make(batch=64).embed_documents(texts)
    assert sorted(len(request.json["input"]) for request in chat.requests) == [22, 64, 64]
    alone = await make().embed_documents([texts[100]])
    assert found[100] == pytest.approx(alone[0])
    assert len(found) == 150


async def test_few_requests_run_at_a_time(chat, make) -> None:
    running, most = 0, 0

    async def step(exchange: Any) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await embeds(chat, delay_s=0.03)(exchange)
        running -= 1

    chat.plays(step)
    await make(batch=1).embed_documents([f"text {number}" for number in range(20)])
    assert most == 4


async def test_dimensions_are_asked_for_where_they_are_set(chat, make) -> None:
    chat.plays(embeds(chat))
    embedder = make(dimensions=DIMENSIONS)
    await embedder.embed_query("x")
    assert chat.requests[0].json["dimensions"] == DIMENSIONS
    assert (embedder.dimensions, embedder.name) == (DIMENSIONS, "openai:BAAI/bge-m3, 16")


async def test_a_long_text_goes_in_pieces_and_nothing_of_it_is_lost(chat, make) -> None:
    chat.plays(embeds(chat))
    words = [f"word-{number}-磁盘" for number in range(200)]
    text = " ".join(words)
    [found] = await make(input_bytes=500).embed_documents([text])
    sent = [piece for request in chat.requests for piece in request.json["input"]]
    assert "".join(sent) == text
    assert all(len(piece.encode()) <= 500 for piece in sent)
    assert all(word in " ".join(sent).split() for word in words)  # cut at white space
    assert sum(value * value for value in found) == pytest.approx(1.0)


async def test_what_no_server_can_read_is_replaced(chat, make) -> None:
    chat.plays(embeds(chat))
    await make().embed_documents(["a\0b \ud800 c"])
    assert chat.requests[0].json["input"] == ["a b ? c"]


# --- failures ------------------------------------------------------------------------------------


def not_a_number(body: dict[str, Any]) -> None:
    body["data"][0]["embedding"][3] = float("nan")


def shorter(body: dict[str, Any]) -> None:
    body["data"][0]["embedding"].pop()


def zero(body: dict[str, Any]) -> None:
    body["data"][0]["embedding"] = [0.0] * DIMENSIONS


def one_missing(body: dict[str, Any]) -> None:
    body["data"].pop()


async def refusal(embedder: RemoteEmbedder) -> SourceError:
    with pytest.raises(SourceError) as refused:
        await embedder.embed_documents(["one", "two"])
    for sentence in (refused.value.problem, refused.value.mend):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert KEY not in sentence
        assert "detail of the server" not in sentence
    return refused.value


@pytest.mark.parametrize(
    ("status", "problem", "mend"),
    [
        (401, "HTTP 401", "embedding.api_key"),
        (403, "HTTP 403", "embedding.api_key"),
        (404, "HTTP 404", "name of the model"),
        (413, "HTTP 413", "embedding.input_bytes"),
        (429, "HTTP 429", "Wait a minute"),
        (500, "HTTP 500", "server"),
        (503, "HTTP 503", "server"),
    ],
)
async def test_a_refusal_is_told_once_and_not_tried_again(
    chat, make, status, problem, mend
) -> None:
    chat.plays(chat.reply(status, {"error": {"message": f"detail of the server {KEY}"}}))
    refused = await refusal(make())
    assert problem in refused.problem
    assert mend in refused.mend
    assert len(chat.requests) == 1


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (not_a_number, "without a direction"),
        (zero, "without a direction"),
        (shorter, "dimensions"),
        (one_missing, "sent 1 vectors for 2 texts"),
    ],
)
async def test_vectors_that_cannot_be_compared_are_refused(chat, make, edit, problem) -> None:
    chat.plays(embeds(chat, edit))
    assert problem in (await refusal(make())).problem


async def test_a_model_of_another_size_is_refused(chat, make) -> None:
    chat.plays(embeds(chat))
    refused = await refusal(make(dimensions=1024))
    assert "16 dimensions instead of 1024" in refused.problem


@pytest.mark.parametrize("body", ["<html>no server of embeddings</html>", "{}", '{"data": 5}'])
async def test_an_answer_that_is_none_cannot_be_read(chat, make, body) -> None:
    chat.plays(chat.reply(200, body))
    assert "could not be read" in (await refusal(make())).problem


async def test_a_server_that_hangs_is_given_up_in_time(chat, make) -> None:
    chat.plays(chat.hang)
    assert "did not answer in time" in (await refusal(make(timeout_s=0.2))).problem
    await chat.until_nobody_is_connected(within_s=5)


async def test_no_server_at_all(make) -> None:
    refused = await refusal(make(base_url="http://127.0.0.1:9"))
    assert "could not be reached" in refused.problem


async def test_cancelling_ends_the_request(chat, make) -> None:
    chat.plays(chat.hang)
    asking = asyncio.create_task(make(batch=1).embed_documents(["one", "two", "three"]))
    exchange = await chat.received(3)
    cancelled_at = time.monotonic()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await chat.until_nobody_is_connected(within_s=5)
    assert exchange.gone.is_set()
    assert exchange.closed_at is not None
    assert exchange.closed_at >= cancelled_at


# --- through the application ---------------------------------------------------------------------


async def command_line(chat, home: Path, *words: str, key: str = KEY) -> tuple[int, str, str]:
    """Runs `diagnosis knowledge ...` in a process of its own; status, output and errors."""
    environment = {
        **os.environ,
        "XDG_DATA_HOME": str(home),
        "DIAGNOSIS_EMBEDDING__NAME": "openai:BAAI/bge-m3",
        "DIAGNOSIS_EMBEDDING__BASE_URL": chat.url,
        "DIAGNOSIS_EMBEDDING__API_KEY": key,
    }
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("diagnosis"),
        *("knowledge", *words),
        env=environment,
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, problems = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), problems.decode()


async def test_adding_and_searching_by_settings_and_a_change_of_model(chat, tmp_path) -> None:
    document = tmp_path / "disk.md"
    document.write_text("# Disk full\n\nOld logs fill the volume. Rotate them.\n")
    chat.plays(embeds(chat))
    status, out, _ = await command_line(chat, tmp_path, "add", str(document))
    assert (status, out.split()[0]) == (0, "ADDED")
    assert {request.json["model"] for request in chat.requests} == {"BAAI/bge-m3"}
    texts = [text for request in chat.requests for text in request.json["input"]]
    assert any("Old logs fill the volume" in text for text in texts)
    before = len(chat.requests)
    status, out, problems = await command_line(chat, tmp_path, "search", "old logs fill the volume")
    assert (status, problems) == (0, "")
    assert "Rotate them" in out
    assert len(chat.requests) == before + 1  # the neutral texts are not sent again

    chat.plays(chat.reply(503, {}))
    status, out, problems = await command_line(chat, tmp_path, "search", "old logs fill the volume")
    assert status == 0
    assert "Rotate them" in out
    assert "words alone" in problems
    document.write_text("# Disk full\n\nSomething new.\n")
    status, _, problems = await command_line(chat, tmp_path, "add", str(document))
    assert status == 2
    assert "HTTP 503" in problems
    assert "Traceback" not in problems
    assert KEY not in problems

    chat.plays(embeds(chat))
    status, out, _ = await command_line(chat, tmp_path, "reindex")
    assert (status, out) == (0, "Embedded 1 passage anew.\n")

    folder = {"folder": str(tmp_path / "diagnosis" / "knowledge")}
    offline = load_settings(overrides={"plugins": {"knowledge": folder}})
    with pytest.raises(ConfigurationError, match="was built with the embedding") as refused:
        async with open_diagnosis(offline):
            pass
    assert "diagnosis knowledge reindex" in refused.value.mend


async def test_a_lookup_of_the_application_asks_the_named_model(chat, tmp_path) -> None:
    document = tmp_path / "disk.md"
    document.write_text("# Disk full\n\nOld logs fill the volume. Rotate them.\n")
    chat.plays(embeds(chat))
    given = {
        "embedding": {"name": "openai:BAAI/bge-m3", "base_url": chat.url, "api_key": KEY},
        "plugins": {"knowledge": {"paths": [str(document)]}},
    }
    query = {"query": "old logs fill the volume"}
    asks = json.dumps({"previous_observation": None, "input": query})
    model = ScriptedModel(calls(call("lookup_knowledge", raw=asks, id="a")), answer(draft_json()))
    async with open_diagnosis(load_settings(overrides=given), model=model) as diagnosis:
        outcome = await diagnosis.run(DiagnosisInput(query="why?"))
        [record] = await diagnosis.invocations(outcome.run_id)
    projection = json.loads(record.projection or "")
    assert projection["scope"]["retrieval"] == "MEANING_AND_WORDS"
    assert "Rotate them" in projection["items"][0]["excerpt"]
    sent = [text for request in chat.requests for text in request.json["input"]]
    assert "old logs fill the volume" in sent


async def test_the_health_check_asks_the_named_model_and_tells_what_it_says(chat, tmp_path) -> None:
    given = {
        "embedding": {"name": "openai:BAAI/bge-m3", "base_url": chat.url, "api_key": KEY},
        "plugins": {"knowledge": {"folder": str(tmp_path / "kb")}},
        "storage": {"file": str(tmp_path / "diagnosis.sqlite3")},
    }
    settings = load_settings(overrides=given)
    async with open_services(settings) as services:
        loaded = load_configured_plugins(settings, services)
        embedding, _ = loaded.health_checks["knowledge"]
        assert chat.requests == []
        chat.plays(embeds(chat))
        works = await embedding.check()
        chat.plays(chat.reply(401, {"error": KEY}))
        refused = await embedding.check()
    assert (works.ok, works.detail) == (True, "openai:BAAI/bge-m3 answers with 16 dimensions.")
    assert (refused.ok, "HTTP 401" in refused.detail) == (False, True)
    assert "embedding.api_key" in (refused.mend or "")
    assert KEY not in f"{refused}"
    assert len(chat.requests) == 2
    assert list(tmp_path.iterdir()) == []


# --- settings ------------------------------------------------------------------------------------


def test_the_offline_model_is_the_default_and_contacts_nobody() -> None:
    assert configured_embedder(EmbeddingModelSettings()) is None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"name": "bge-m3"}, "no embedding called"),
        ({"name": "openia:x"}, "no provider called"),
        ({"name": "openai:x"}, "OPENAI_API_KEY"),
        ({"name": "openai:x", "base_url": "ftp://host"}, "embedding.base_url"),
    ],
)
def test_settings_that_name_no_model_are_refused(given, problem) -> None:
    with pytest.raises(ConfigurationError, match=problem) as refused:
        configured_embedder(EmbeddingModelSettings.model_validate(given))
    assert "--model" not in refused.value.mend
