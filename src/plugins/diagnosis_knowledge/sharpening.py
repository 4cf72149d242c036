"""Makes similarities comparable across questions, languages and embedding models.

Vectors of a language model share a large common part (every two texts of multilingual-e5 have a
cosine of 0.75 or more), and another part that tells languages apart. Both hide whether two texts
deal with the same thing. They are estimated from neutral texts, the same in two languages, and
taken off every vector (Mu and Viswanath, "All-but-the-Top", ICLR 2018).

What then counts as similar still differs from model to model. So the same neutral texts are a
ruler: questions against passages of other topics give the cosines of what is unrelated, and a
similarity is told in their spread: 0 as their median, 1 as their closest hundredth. One relevance
floor then serves every model, both languages, and questions across them, and needs no labelled
data of the user.

The estimate of the offline model is part of the package (`neutral_vectors.json`, written by
`python -m diagnosis_knowledge.sharpening`), which saves seconds in every process; a test compares
it with what the model computes. Those of other models are kept with their index.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from diagnosis.errors import SourceError
from diagnosis.plugin import Embedder
from diagnosis_knowledge.neutral_texts import FORMS, TOPICS

_UNRELATED = (50.0, 99.0)  # percentiles of the cosines of unrelated texts, told as 0 and 1


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """The vector of a question, and how its cosines are read.

    Attributes:
        values: of length 1.
        zero, one: the cosines that are told as the similarities 0 and 1.
    """

    values: Sequence[float]
    zero: float
    one: float

    def similarity(self, cosine: float) -> float:
        """What a cosine with this vector means: 1 is as close as unrelated texts ever come."""
        return (cosine - self.zero) / max(self.one - self.zero, 1e-9)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was learned of a model from its vectors of the neutral texts.

    Attributes:
        document_mean, query_mean: what all its vectors have in common.
        language: the unit direction from English to Chinese.
        zero, one: as `QuestionVector`.
    """

    document_mean: Any
    query_mean: Any
    language: Any
    zero: float = 0.0
    one: float = 1.0

    def documents(self, vectors: Sequence[Sequence[float]]) -> list[list[float]]:
        """Sharpened vectors of passages, of length 1."""
        return _sharpened(vectors, self.document_mean, self.language)

    def question(self, vector: Sequence[float]) -> QuestionVector:
        """The sharpened vector of a question."""
        return QuestionVector(
            _sharpened([vector], self.query_mean, self.language)[0], self.zero, self.one
        )

    def to_json(self, model: str) -> str:
        """For `from_json`."""
        return json.dumps(
            {
                "model": model,
                "texts_sha256": _texts_sha256(),
                "document_mean": [round(float(value), 7) for value in self.document_mean],
                "query_mean": [round(float(value), 7) for value in self.query_mean],
                "language": [round(float(value), 7) for value in self.language],
                "zero": round(self.zero, 5),
                "one": round(self.one, 5),
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str, model: str) -> Calibration | None:
        """The one that `to_json` wrote, where it is of this model and these neutral texts."""
        import numpy as np

        known = json.loads(text)
        if (known.pop("model"), known.pop("texts_sha256")) != (model, _texts_sha256()):
            return None
        return cls(
            document_mean=np.asarray(known["document_mean"]),
            query_mean=np.asarray(known["query_mean"]),
            language=np.asarray(known["language"]),
            zero=known["zero"],
            one=known["one"],
        )


class SharpenedEmbedder:
    """An embedder whose vectors have the common part and the language taken off, of length 1."""

    def __init__(self, embedder: Embedder) -> None:
        """Wrap an embedder; it is calibrated at the first use."""
        self._embedder = embedder
        self._lock = asyncio.Lock()
        self._calibration: Calibration | None = None

    @property
    def name(self) -> str:
        """The model, and which neutral texts were taken off."""
        return f"{self._embedder.name}, sharpened 2"

    @property
    def dimensions(self) -> int:
        """As the wrapped embedder's."""
        return self._embedder.dimensions

    @property
    def calibration(self) -> str | None:
        """What was learned of the model, for `remember` in another process; None until then."""
        learned = self._calibration
        return None if learned is None else learned.to_json(self._embedder.name)

    def remember(self, calibration: str) -> None:
        """Take what another process learned of the same model, which spares the neutral texts."""
        self._calibration = Calibration.from_json(calibration, self._embedder.name)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order."""
        calibration, vectors = await asyncio.gather(
            self._calibrated(), self._embedder.embed_documents(texts)
        )
        return calibration.documents(vectors)

    async def embed_query(self, text: str) -> QuestionVector:
        """The vector of a question."""
        calibration = await self._calibrated()
        return calibration.question(await self._embedder.embed_query(text))

    async def _calibrated(self) -> Calibration:
        async with self._lock:
            if self._calibration is None:
                packaged = await asyncio.to_thread(_packaged, self._embedder.name)
                self._calibration = packaged or await calibrate(self._embedder)
            return self._calibration


async def calibrate(embedder: Embedder) -> Calibration:
    """Learn what to take off the vectors of a model, and how to read its cosines."""
    entries = [*TOPICS, *FORMS]
    passages = [text for entry in entries for text in entry[:2]]  # English and Chinese take turns
    questions = [text for entry in entries for text in entry[2:]]
    documents, queries = await asyncio.gather(
        embedder.embed_documents(passages), _embed_queries(embedder, questions)
    )
    import numpy as np

    of_documents, of_queries = np.asarray(documents), np.asarray(queries)
    language: Any = 0.0
    for vectors in (of_documents, of_queries):
        language = language + vectors[1::2].mean(axis=0) - vectors[0::2].mean(axis=0)
    language = language / (np.linalg.norm(language) or 1.0)
    means = of_documents.mean(axis=0), of_queries.mean(axis=0)
    topics = 2 * len(TOPICS)
    cosines = (
        np.asarray(_sharpened(of_queries[:topics], means[1], language))
        @ np.asarray(_sharpened(of_documents[:topics], means[0], language)).T
    )
    topic = np.arange(topics) // 2
    zero, one = np.percentile(cosines[topic[:, None] != topic[None, :]], _UNRELATED)
    return Calibration(*means, language, float(zero), float(one))


async def _embed_queries(embedder: Embedder, texts: Sequence[str]) -> Sequence[Sequence[float]]:
    together: Any = getattr(embedder, "embed_queries", None)
    if together is not None:
        vectors: Sequence[Sequence[float]] = await together(texts)
        return vectors
    return await asyncio.gather(*(embedder.embed_query(text) for text in texts))


def _sharpened(vectors: Any, mean: Any, language: Any) -> list[list[float]]:
    if not len(vectors):
        return []
    import numpy as np

    if len(vectors[0]) != len(mean):
        raise SourceError(
            f"The embedding model gave vectors of {len(vectors[0])} dimensions, and the index has "
            f"{len(mean)}.",
            "Set the model and the dimensions of the index, or run `diagnosis knowledge reindex`.",
        )
    centred = np.asarray(vectors) - mean
    centred -= (centred @ language)[:, None] * language
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    unit: list[list[float]] = (centred / np.maximum(lengths, 1e-12)).tolist()
    return unit


def _texts_sha256() -> str:
    return hashlib.sha256(json.dumps([TOPICS, FORMS]).encode()).hexdigest()


def _packaged(model: str) -> Calibration | None:
    """The estimate that is part of the package, where it is of this model and these texts."""
    text = files("diagnosis_knowledge").joinpath("neutral_vectors.json").read_text()
    return Calibration.from_json(text, model)


async def packaged_text() -> str:
    """What belongs into `neutral_vectors.json`."""
    from diagnosis_knowledge.embedding import OfflineEmbedder

    embedder = OfflineEmbedder()
    return (await calibrate(embedder)).to_json(embedder.name) + "\n"


if __name__ == "__main__":
    print(asyncio.run(packaged_text()), end="")  # noqa: T201 - a generator's output
