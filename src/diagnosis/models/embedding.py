"""An embedding model behind PydanticAI as the embedder that plugins are lent.

One call is one HTTP request, within a time; nothing is tried again. Requests are small enough for
every host known (32 inputs), and a few run at a time.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRateLimitError,
    ModelTimeoutError,
)

from diagnosis.errors import SourceError
from diagnosis.models.routing import embedding_model

if TYPE_CHECKING:
    from pydantic_ai.embeddings import EmbeddingSettings

    from diagnosis.models.embedding_settings import EmbeddingModelSettings

_AT_A_TIME = 4
_QUERY_S = 8.0  # a lookup has 30 s and can go on by words alone
_Kind = Literal["query", "document"]


class RemoteEmbedder:
    """The embedding model that settings name. For one event loop; `close` it at the end.

    Every failure is a `SourceError` of two sentences, without a key or what the server wrote.
    """

    def __init__(self, settings: EmbeddingModelSettings) -> None:
        """Take the settings; nothing is contacted.

        Raises:
            ConfigurationError: no such provider, its API key or its package is missing.
        """
        key = settings.api_key.get_secret_value() if settings.api_key else None
        self._model, self._provider = embedding_model(
            settings.name, base_url=settings.base_url, api_key=key
        )
        client: Any = self._provider.client
        if hasattr(client, "max_retries"):
            client.max_retries = 0
        self._settings = settings
        self._slots = asyncio.Semaphore(_AT_A_TIME)
        self._dimensions = settings.dimensions

    @property
    def name(self) -> str:
        """The model as settings name it, with its dimensions where they chose them."""
        chosen = self._settings.dimensions
        return self._settings.name if chosen is None else f"{self._settings.name}, {chosen}"

    @property
    def dimensions(self) -> int:
        """Length of every vector; 0 before the first answer where settings chose none."""
        return self._dimensions or 0

    async def close(self) -> None:
        """Close the connections."""
        async with self._provider:
            pass  # leaving it closes them

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 a text, in order; a long text's is the mean of its pieces'."""
        pieces = [_pieces(text, self._settings.input_bytes) for text in texts]
        vectors = await self._embed([piece for some in pieces for piece in some], "document")
        ends = iter(vectors)
        return [_mean([next(ends) for _ in some], [len(p) for p in some]) for some in pieces]

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """As `embed_query`, for several at once."""
        heads = [_pieces(text, self._settings.input_bytes)[0] for text in texts]
        return await self._embed(heads, "query")

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question, of length 1."""
        return (await self.embed_queries([text]))[0]

    async def _embed(self, texts: Sequence[str], kind: _Kind) -> list[list[float]]:
        size = self._settings.batch
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        tasks = [asyncio.create_task(self._request(batch, kind)) for batch in batches]
        try:
            answers = await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        return [vector for answer in answers for vector in answer]

    async def _request(self, texts: Sequence[str], kind: _Kind) -> list[list[float]]:
        wanted: EmbeddingSettings = {}
        if self._settings.dimensions is not None:
            wanted["dimensions"] = self._settings.dimensions
        limit = self._settings.timeout_s
        async with self._slots:
            try:
                async with asyncio.timeout(min(limit, _QUERY_S) if kind == "query" else limit):
                    answer = await self._model.embed(texts, input_type=kind, settings=wanted)
            except TimeoutError:
                raise self._late() from None
            except Exception as error:  # noqa: BLE001 - each provider's client fails in its own way
                raise self._failure(error) from None
        return self._checked(answer.embeddings, len(texts))

    def _checked(self, vectors: Sequence[Sequence[float]], count: int) -> list[list[float]]:
        """The vectors at length 1, if they are what was asked for."""
        problem = None
        if len(vectors) != count:
            problem = f"sent {len(vectors)} vectors for {count} texts"
        elif {len(vector) for vector in vectors} - {self._dimensions or len(vectors[0])}:
            sizes = ", ".join(sorted({str(len(vector)) for vector in vectors}))
            wanted = self._dimensions or "the same number of"
            problem = f"sent vectors of {sizes} dimensions instead of {wanted}"
        unit = [_unit(vector) for vector in vectors]
        if problem is None and not all(unit):
            problem = "sent a vector without a direction (zero, infinite or no number)"
        if problem is not None:
            raise SourceError(
                f"The embedding model {self._settings.name} {problem}.",
                "Check the model's name and embedding.dimensions, or use another model.",
            )
        self._dimensions = len(vectors[0])
        return unit

    def _late(self) -> SourceError:
        return SourceError(
            f"The embedding model {self._settings.name} did not answer in time.",
            "Check its server, raise embedding.timeout_s, or lower embedding.batch.",
        )

    def _failure(self, error: Exception) -> SourceError:
        name = f"The embedding model {self._settings.name}"
        if isinstance(error, ModelHTTPError):
            return SourceError(f"{name} answered HTTP {error.status_code}.", _advice(error))
        if isinstance(error, ModelTimeoutError):
            return self._late()
        if isinstance(error, ModelConnectionError):
            return SourceError(
                f"{name} could not be reached.", "Check embedding.base_url and the network."
            )
        # what is no JSON, or has no `data`, is an error of many types inside the client
        what = "" if isinstance(error, ModelAPIError) else f" ({type(error).__name__})"
        return SourceError(
            f"The answer of the embedding model {self._settings.name} could not be read{what}.",
            "Check that embedding.base_url is the address of a server that makes embeddings.",
        )


def _advice(error: ModelHTTPError) -> str:
    if isinstance(error, ModelAuthenticationError) or error.status_code in (401, 403):
        return "Check embedding.api_key, or the variable of the provider."
    if isinstance(error, ModelRateLimitError) or error.status_code == 429:
        return "Wait a minute and do the same again: what is indexed already is not sent twice."
    if isinstance(error, ModelNotFoundError) or error.status_code == 404:
        return "Check the name of the model and embedding.base_url."
    if error.status_code in (400, 413, 422):
        return "Lower embedding.input_bytes and embedding.batch to what the model takes."
    return "Look at the server, and do the same again when it works."


def _pieces(text: str, limit: int) -> list[str]:
    """The text in pieces of at most `limit` bytes of UTF-8, cut at white space where there is."""
    text = text.replace("\0", " ").encode(errors="replace").decode()
    pieces = []
    while len(text.encode()) > limit:
        head = text.encode()[:limit].decode(errors="ignore")
        border = max(head.rfind(" "), head.rfind("\n")) + 1
        head = head[:border] if border > len(head) // 2 else head
        pieces.append(head)
        text = text[len(head) :]
    return [*pieces, text] if text.strip() or not pieces else pieces


def _mean(vectors: Sequence[Sequence[float]], weights: Sequence[int]) -> list[float]:
    if len(vectors) == 1:
        return list(vectors[0])
    summed = [
        math.fsum(weight * value for weight, value in zip(weights, column, strict=True))
        for column in zip(*vectors, strict=True)
    ]
    return _unit(summed) or list(vectors[0])


def _unit(vector: Sequence[float]) -> list[float]:
    """The vector at length 1, or none where it has no direction."""
    length = math.sqrt(math.fsum(value * value for value in vector))
    return [value / length for value in vector] if length > 0 and math.isfinite(length) else []
