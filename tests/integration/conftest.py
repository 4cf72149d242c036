"""A local server that speaks the chat-completions protocol, well or badly, as its script says.

A step of the script is a `ModelResponse` of `diagnosis.testing` (sent as the protocol writes it),
a `Reply`, or an async function that does with the connection what it wants. The last step is
repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, override_allow_model_requests

from diagnosis.models.routing import chat_model
from diagnosis.settings import Settings

MODEL_NAME = "openai:test-model"
API_KEY = "sk-test-0000"


@dataclass(frozen=True)
class Reply:
    """One HTTP answer, byte for byte."""

    status: int = 200
    body: bytes | str = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def payload(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else self.body

    def head(self) -> bytes:
        lines = [
            f"HTTP/1.1 {self.status} Whatever",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.payload)}",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


@dataclass
class Exchange:
    """One request as the server received it, and its end of the connection."""

    line: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client closed the connection."""
    closed_at: float | None = None

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)

    def messages(self, role: str) -> list[dict[str, Any]]:
        return [message for message in self.json["messages"] if message["role"] == role]

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


Step = ModelResponse | Reply | Callable[[Exchange], Awaitable[None]]


class ChatServer:
    """The server; `requests` holds every request it received, in order."""

    def __init__(self) -> None:
        self.script: tuple[Step, ...] = ()
        self.requests: list[Exchange] = []
        self.url = ""
        self._models: list[Model] = []
        self._arrived = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self._quiet = asyncio.Event()

    def plays(self, *script: Step) -> None:
        """Answer with these steps from now on."""
        self.script = script

    def model(self, name: str = MODEL_NAME) -> Model:
        """The application's own model for this server: PydanticAI's OpenAI chat client."""
        model = chat_model(name, base_url=self.url, api_key=API_KEY)
        self._models.append(model)
        return model

    def settings(self) -> Settings:
        """Settings that name this server."""
        return Settings.model_validate(
            {"model": {"name": MODEL_NAME, "base_url": self.url, "api_key": API_KEY}}
        )

    def wire(self) -> str:
        """Every byte received, escapes resolved, as one text to look for secrets in."""
        return "\n".join(json.dumps(each.json, ensure_ascii=False) for each in self.requests)

    async def received(self, count: int, within_s: float = 20) -> Exchange:
        """Wait for the request of that number."""
        async with asyncio.timeout(within_s), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def until_nobody_is_connected(self, within_s: float) -> None:
        """Wait until every client has closed its connections."""
        async with asyncio.timeout(within_s):
            await self._quiet.wait()

    # --- steps that no honest server plays -----------------------------------------------------

    @staticmethod
    def reply(status: int = 200, body: Any = b"", **options: Any) -> Reply:
        """An answer of these bytes, of this text, or of this value as JSON."""
        body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return Reply(status, body, **options)

    @staticmethod
    def edited(response: ModelResponse, edit: Callable[[dict[str, Any]], Any]) -> Reply:
        """A completion after `edit` changed it in place."""
        body = completion(response)
        edit(body)
        return Reply(200, json.dumps(body))

    @staticmethod
    async def hang(exchange: Exchange) -> None:
        """Answer nothing at all until the client goes."""
        await exchange.gone.wait()

    @staticmethod
    def hang_inside(response: ModelResponse) -> Step:
        """Send the headers and half of the body, then nothing until the client goes."""
        reply = _reply(response)

        async def step(exchange: Exchange) -> None:
            await exchange.send(reply.head() + reply.payload[: len(reply.payload) // 2])
            await exchange.gone.wait()

        return step

    @staticmethod
    def drip(response: ModelResponse, every_s: float = 0.05) -> Step:
        """Send the body byte by byte: no read ever waits long, and the whole takes minutes."""
        reply = Reply(200, _reply(response).payload + b" " * 10_000)

        async def step(exchange: Exchange) -> None:
            await exchange.send(reply.head())
            for number in range(len(reply.payload)):
                await exchange.send(reply.payload[number : number + 1])
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(exchange.gone.wait(), every_s)
                if exchange.gone.is_set():
                    return

        return step

    @staticmethod
    def drop(response: ModelResponse) -> Step:
        """Close the connection in the middle of the body."""
        reply = _reply(response)

        async def step(exchange: Exchange) -> None:
            await exchange.send(reply.head() + reply.payload[: len(reply.payload) // 2])
            exchange.writer.transport.abort()

        return step

    # --- the connection ------------------------------------------------------------------------

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self._quiet.clear()
        try:
            while (exchange := await _read_request(reader, writer)) is not None:
                async with self._arrived:
                    self.requests.append(exchange)
                    step = self.script[min(len(self.requests), len(self.script)) - 1]
                    self._arrived.notify_all()
                watching = asyncio.create_task(_watch(reader, exchange))
                try:
                    await _play(step, exchange)
                finally:
                    watching.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await watching
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            self._tasks.discard(task)
            if not self._tasks:
                self._quiet.set()
            writer.close()

    async def stop(self) -> None:
        for model in self._models:
            async with model:
                pass  # leaving it closes its connections
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks)


async def _read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Exchange | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    fields = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Exchange(head[0], headers, body, writer)


async def _watch(reader: asyncio.StreamReader, exchange: Exchange) -> None:
    """A client sends nothing while it waits for its answer: all that can be read is its end."""
    try:
        over = not await reader.read(1)
    except ConnectionError:
        over = True
    if over:
        exchange.closed_at = time.monotonic()
        exchange.gone.set()


async def _play(step: Step, exchange: Exchange) -> None:
    if isinstance(step, ModelResponse):
        step = _reply(step)
    if isinstance(step, Reply):
        await exchange.send(step.head() + step.payload)
    else:
        await step(exchange)


# --- completions ---------------------------------------------------------------------------------


def completion(response: ModelResponse) -> dict[str, Any]:
    """The chat completion that says what the response says."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": call.tool_call_id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": call.args},
            }
            for call in calls
        ]
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "test-model",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        ],
    }
    if not response.usage.unmeasured_requests:
        tokens = response.usage
        body["usage"] = {
            "prompt_tokens": tokens.input_tokens,
            "completion_tokens": tokens.output_tokens,
            "total_tokens": tokens.total_tokens,
        }
    return body


def _reply(response: ModelResponse) -> Reply:
    return Reply(200, json.dumps(completion(response)))


# --- fixtures ------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _requests_to_loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with override_allow_model_requests(True):
        yield


@pytest.fixture
async def chat() -> AsyncIterator[ChatServer]:
    """A chat server on a free loopback port."""
    chat = ChatServer()
    listening = await asyncio.start_server(chat.serve, "127.0.0.1", 0)
    chat.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield chat
    listening.close()
    await chat.stop()
