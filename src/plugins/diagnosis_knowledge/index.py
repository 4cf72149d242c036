"""The index itself: registry and vectors together, for one thread.

`KnowledgeBase` is the asynchronous face of it.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from diagnosis.errors import SourceError
from diagnosis_knowledge.chroma_vectors import ChromaVectors, folder_client, server_client
from diagnosis_knowledge.documents import Document
from diagnosis_knowledge.folder_lock import FolderInUse, folder_lock
from diagnosis_knowledge.registry import OtherFormat, PublishedDocument, Registry
from diagnosis_knowledge.relevance import FLOOR
from diagnosis_knowledge.search import Found, Search
from diagnosis_knowledge.settings import (
    LOCK_NAME,
    REGISTRY_NAME,
    VECTORS_NAME,
    KnowledgeSettings,
)
from diagnosis_knowledge.sharpening import QuestionVector
from diagnosis_knowledge.trouble import index_trouble, other_format
from diagnosis_knowledge.vectors import MemoryVectors, Vectors, VectorsUnavailable

NO_EMBEDDING = "none"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChromaServer:
    """Where the vectors of a folder live if not in it.

    Attributes:
        collection: belongs to one folder; other names beginning so are used while reindexing.
    """

    url: str
    collection: str


class Index:
    """Documents that can be found. Every method runs on the thread that made it.

    With vectors in the folder one process holds it. With a Chroma server several processes read
    one folder, and one at a time writes: within `begin_writing` and `end_writing`.
    """

    def __init__(
        self,
        folder: Path | None,
        embedding: str | None,
        floor: float = FLOOR,
        server: ChromaServer | None = None,
        *,
        reindexing: bool = False,
    ) -> None:
        """Open the index of a folder, or an empty one in memory.

        Args:
            folder: made where there is none, and locked until `close`; None for memory.
            embedding: the name of the embedding model, or None for word search only.
            floor: the score below which a chunk is a stranger.
            server: where the vectors live; None for the folder itself.
            reindexing: whether another model than the index's own is about to replace that.

        Raises:
            SourceError: the folder is in use, cannot be used, or belongs to another model.
        """
        self._floor = floor
        self._folder = folder
        self._server = server if folder is not None else None
        self._exit = ExitStack()
        self._writing = ExitStack()
        self._writers = 0
        self._is_new = False
        try:
            if folder is not None and server is None:
                self._exit.enter_context(folder_lock(folder, LOCK_NAME))
            elif folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self.registry = _open_registry(folder)
            self._exit.callback(self.registry.close)
            self.built_with = self._agree_on_model(folder, embedding, reindexing)
            self._vectors: Vectors | None = None
            if self.built_with != NO_EMBEDDING and embedding is not None:
                self._vectors = self._open_vectors()
                self._exit.callback(self._vectors.close)
        except VectorsUnavailable as error:
            self._exit.close()
            raise self._vectors_trouble(error) from error
        except sqlite3.Error as error:
            self._exit.close()
            raise index_trouble(folder, error) from error
        except BaseException:
            self._exit.close()
            raise

    def close(self) -> None:
        """Let go of files and lock."""
        self._writing.close()
        self._exit.close()

    def begin_writing(self) -> None:
        """Keep other processes from writing until `end_writing`.

        Raises:
            FolderInUse: another process writes now.
        """
        if self._server is not None and self._folder is not None and self._writers == 0:
            self._writing.enter_context(folder_lock(self._folder, LOCK_NAME))
        self._writers += 1

    def end_writing(self) -> None:
        """Let other processes write again."""
        self._writers -= 1
        if self._writers == 0:
            self._writing.close()

    @property
    def folder(self) -> Path | None:
        """Where it is; None for memory."""
        return self._folder

    @property
    def identity(self) -> str:
        """What tells this index from every other one; made with it and kept in it."""
        return self.registry.about("owner") or ""

    @property
    def searches_meaning(self) -> bool:
        """Whether questions are compared by embedding, and not by words alone."""
        return self._vectors is not None

    @property
    def calibration(self) -> str | None:
        """What is known of the embedding model, as `SharpenedEmbedder.remember` takes it."""
        return self.registry.about(f"calibration of {self.built_with}")

    def keep_calibration(self, calibration: str | None) -> None:
        """Keep what was learned of the embedding model for later processes."""
        if calibration is not None and calibration != self.calibration:
            self.registry.describe({f"calibration of {self.built_with}": calibration})

    def start(self, document: Document) -> list[str]:
        """Begin to index a document; return the texts to embed."""
        self.registry.expect(_chunk_ids(document))
        return [embedded_text(document.title, c.section, c.text) for c in document.chunks]

    def finish(self, document: Document, vectors: Sequence[Sequence[float]]) -> None:
        """Store the vectors and make the document visible, whole.

        Raises:
            SourceError: the vectors cannot be stored.
        """
        chunk_ids = _chunk_ids(document)
        if self._vectors is not None:
            try:
                self._vectors.add(chunk_ids, vectors, document.category)
            except VectorsUnavailable as error:
                raise SourceError(
                    f"The vectors of {document.source} cannot be stored: {error}.",
                    "Look at the place of the vectors, and add the document again.",
                ) from error
        self.registry.publish(document, chunk_ids)
        self._sweep()

    def settle(self) -> list[PublishedDocument]:
        """Clean up after documents that were started and are given up; return what is published."""
        self._sweep()
        return self.registry.documents()

    def remove(self, document_id: str) -> bool:
        """Make a document invisible; return whether it could be found."""
        removed = self.registry.withdraw(document_id)
        self._sweep()
        return removed

    def search(
        self, query: str, vector: QuestionVector | None, top_k: int, category: str | None
    ) -> Found:
        """Find the relevant chunks of one category or of all."""
        search = Search(self.registry, self._vectors, self._floor)
        return search.run(query, vector, top_k, category)

    def replacement(self) -> Vectors:
        """An empty place for the vectors of another model, beside the one in use."""
        if not isinstance(self._vectors, ChromaVectors):
            raise SourceError(
                "Documents that are indexed in memory are embedded anew each time.",
                "Reindex the knowledge folder, without `plugins.knowledge.paths`.",
            )
        self._vectors.drop_others(self._base_name)
        return self._vectors.beside(f"{self._base_name}-{uuid.uuid4().hex[:8]}")

    def replace_vectors(self, vectors: Vectors, embedding: str, calibration: str | None) -> None:
        """Search by the vectors of another model from now on, all at once."""
        assert isinstance(vectors, ChromaVectors), "made by `replacement`"  # noqa: S101 - narrows
        facts = {"embedding": embedding, f"collection {self._base_name}": vectors.name}
        if calibration is not None:
            facts[f"calibration of {embedding}"] = calibration
        self.registry.describe(facts)
        self.built_with, self._vectors = embedding, vectors
        vectors.drop_others(self._base_name)

    @property
    def _base_name(self) -> str:
        return "chunks" if self._server is None else self._server.collection

    def _open_vectors(self) -> Vectors:
        if self._folder is None:
            return MemoryVectors()
        name = self.registry.about(f"collection {self._base_name}") or self._base_name
        if self._server is None:
            vectors = ChromaVectors.opened(folder_client(self._folder / VECTORS_NAME), name)
        else:
            vectors = ChromaVectors.opened(server_client(self._server.url), name, self.identity)
        if self._is_new:
            vectors.drop_others(self._base_name)
        return vectors

    def _agree_on_model(self, folder: Path | None, embedding: str | None, reindexing: bool) -> str:
        """The model the index is built with; an empty index takes the one that is there now."""
        known, wanted = self.registry.about("embedding"), embedding or NO_EMBEDDING
        if known is None:
            self.registry.describe({"embedding": wanted})
        elif known != wanted and not self._takes_if_empty(wanted):
            if embedding is not None and known != NO_EMBEDDING and not reindexing:
                raise SourceError(
                    f"The knowledge folder {folder} was built with the embedding {known!r}, not "
                    f"{embedding!r}.",
                    "Embed its documents anew with `diagnosis knowledge reindex`, or set that "
                    "embedding again.",
                )
            return wanted if reindexing else known
        return wanted

    def _takes_if_empty(self, embedding: str) -> bool:
        """Whether nothing can be found and nobody adds anything, so that any model will do."""
        try:
            self.begin_writing()
        except FolderInUse:
            return False
        try:
            if self.registry.documents():
                return False
            # vectors of another length do not fit into a collection that ever had some
            place = f"{self._base_name}-{uuid.uuid4().hex[:8]}"
            self.registry.describe({"embedding": embedding, f"collection {self._base_name}": place})
            self._is_new = True
            return True
        finally:
            self.end_writing()

    def recover(self) -> list[PublishedDocument]:
        """Clean up what a killed process left; return what is published.

        Only for whoever may write: what looks unfinished could be another process's work.

        Raises:
            SourceError: all vectors are missing, or they cannot be read.
        """
        try:
            self._recover()
        except VectorsUnavailable as error:
            raise self._vectors_trouble(error) from error
        return self.registry.documents()

    def _recover(self) -> None:
        self._sweep()
        if self._vectors is None:
            return
        published, there = set(self.registry.chunk_ids()), self._vectors.ids()
        lost = published - there
        if self._server is not None and lost and lost == published:
            raise SourceError(
                f"The Chroma collection {self._base_name!r} holds no vector of the knowledge "
                f"folder {self._folder}.",
                "Correct plugins.knowledge.chroma_url or collection, or embed the documents anew "
                "with `diagnosis knowledge reindex`.",
            )
        for document_id in {chunk.document_id for chunk in self.registry.chunks([*lost]).values()}:
            self.registry.withdraw(document_id)
        self.registry.expect([*(there - published)])  # of a folder that was restored, say
        self._sweep()

    def _vectors_trouble(self, error: VectorsUnavailable) -> SourceError:
        return SourceError(
            f"The vectors of the knowledge folder {self._folder} cannot be opened: {error}.",
            "Look at the Chroma server, or at the folder's files and their permissions.",
        )

    def _sweep(self) -> None:
        """Delete vectors that belong to no published chunk."""
        strays = self.registry.stray_vectors()
        if not strays or (self._vectors is None and self.built_with != NO_EMBEDDING):
            return  # without the model the vectors cannot be opened: a later process sweeps
        if self._vectors is not None:
            published = set(self.registry.chunk_ids())
            try:
                self._vectors.delete([i for i in strays if i not in published])
            except VectorsUnavailable as error:
                _log.warning("Old vectors stay for now: %s.", error)
                return
        self.registry.forget_strays(strays)


def server_of(settings: KnowledgeSettings) -> ChromaServer | None:
    """The Chroma server that settings name, or None for the folder."""
    if settings.chroma_url is None or settings.paths:
        return None
    return ChromaServer(settings.chroma_url, settings.collection)


def embedded_text(title: str, section: str, text: str) -> str:
    """What of a chunk is embedded: where it stands, and its text."""
    return f"{section}\n{text}" if section.startswith(title) else f"{title}\n{section}\n{text}"


def _open_registry(folder: Path | None) -> Registry:
    try:
        return Registry(None if folder is None else folder / REGISTRY_NAME)
    except OtherFormat:
        raise other_format(folder) from None


def _chunk_ids(document: Document) -> list[str]:
    """Document, place and content: the same passage has the same id in every index."""
    ids = []
    for chunk in document.chunks:
        content = hashlib.sha256(f"{chunk.section}\n{chunk.text}".encode()).hexdigest()
        ids.append(f"{document.document_id}-{chunk.ordinal}-{content[:12]}")
    return ids
