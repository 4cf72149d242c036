"""Makes cosines comparable across questions and languages: any embedder, with the common part off.

Vectors of a language model share a large common part (every two texts of multilingual-e5 have a
cosine of 0.75 or more), and another part that tells languages apart. Both hide whether two texts
deal with the same thing. They are estimated from neutral texts, on everyday subjects, the same in
two languages, and taken off every vector (Mu and Viswanath, "All-but-the-Top", ICLR 2018). On our
development questions this lifts the area under the curve, related against unrelated, from 0.80 to
0.94, and one relevance floor serves both languages and questions across them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from diagnosis.plugin import Embedder

# a change of these texts changes the vectors: raise the number in `SharpenedEmbedder.name`
_QUESTIONS = (
    ("how do I reset a forgotten password", "怎样重置密码"),
    ("where can I borrow a book", "在哪里可以借书"),
    ("what will the weather be like tomorrow", "明天天气怎么样"),
    ("how to install a package", "如何安装软件包"),
    ("how do I reserve a meeting room", "会议室怎么预订"),
    ("which train goes to the airport", "哪趟火车到机场"),
    ("which license does this project use", "这个项目用什么许可证"),
    ("how do I write a unit test", "如何编写单元测试"),
)
_PASSAGES = (
    (
        "Passwords\nOpen the account page, choose reset, and follow the link in the mail.",
        "密码重置\n打开账户页面，点击重置，按邮件里的链接操作。",
    ),
    (
        "Library\nBooks are lent for four weeks to everyone who has a card.",
        "图书馆\n有借书证的读者可以借阅四周。",
    ),
    (
        "Weather\nTomorrow will be cloudy, with some rain in the afternoon.",
        "天气\n明天多云，下午有小雨。",
    ),
    (
        "Installing packages\nRun the install command with the name of the package.",
        "安装软件包\n运行安装命令并填写包名。",
    ),
    (
        "Meeting rooms\nChoose a time in the calendar and reserve the room.",
        "会议室\n在日历里选择时间并预订会议室。",
    ),
    (
        "Trains\nTrains to the airport run every ten minutes on weekdays.",
        "火车\n工作日每十分钟有一趟火车开往机场。",
    ),
    (
        "License\nThe project is published under the MIT license.",
        "许可证\n本项目以 MIT 许可证发布。",
    ),
    (
        "Unit tests\nEach test states one behaviour of one function.",
        "单元测试\n每个测试说明一个函数的一种行为。",
    ),
)


class SharpenedEmbedder:
    """An embedder whose vectors have the common part and the language taken off, of length 1."""

    def __init__(self, embedder: Embedder) -> None:
        """Wrap an embedder; the neutral texts are embedded at the first use."""
        self._embedder = embedder
        self._lock = asyncio.Lock()
        self._removal: _Removal | None = None

    @property
    def name(self) -> str:
        """The model, and which neutral texts were taken off."""
        return f"{self._embedder.name}, sharpened 1"

    @property
    def dimensions(self) -> int:
        """As the wrapped embedder's."""
        return self._embedder.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order."""
        removal = await self._learn()
        return removal.from_documents(await self._embedder.embed_documents(texts))

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        removal = await self._learn()
        return removal.from_queries([await self._embedder.embed_query(text)])[0]

    async def _learn(self) -> _Removal:
        async with self._lock:
            if self._removal is None:
                passages = [text for pair in _PASSAGES for text in pair]
                documents = await self._embedder.embed_documents(passages)
                queries = [
                    await self._embedder.embed_query(text) for pair in _QUESTIONS for text in pair
                ]
                self._removal = _Removal(documents, queries)
            return self._removal


class _Removal:
    """The means of neutral vectors, and the direction from English to Chinese."""

    def __init__(self, documents: list[list[float]], queries: list[list[float]]) -> None:
        import numpy as np

        self._numpy = np
        of_documents = np.asarray(documents, dtype=np.float64)
        of_queries = np.asarray(queries, dtype=np.float64)
        self._document_mean = of_documents.mean(axis=0)
        self._query_mean = of_queries.mean(axis=0)
        language: Any = 0.0
        for vectors in (of_documents, of_queries):  # English and Chinese take turns
            language = language + vectors[1::2].mean(axis=0) - vectors[0::2].mean(axis=0)
        self._language = language / (np.linalg.norm(language) or 1.0)

    def from_documents(self, vectors: list[list[float]]) -> list[list[float]]:
        return self._remove(vectors, self._document_mean)

    def from_queries(self, vectors: list[list[float]]) -> list[list[float]]:
        return self._remove(vectors, self._query_mean)

    def _remove(self, vectors: list[list[float]], mean: Any) -> list[list[float]]:
        if not vectors:
            return []
        centred = self._numpy.asarray(vectors) - mean
        centred -= (centred @ self._language)[:, None] * self._language
        lengths = self._numpy.linalg.norm(centred, axis=1, keepdims=True)
        unit: list[list[float]] = (centred / self._numpy.maximum(lengths, 1e-12)).tolist()
        return unit
