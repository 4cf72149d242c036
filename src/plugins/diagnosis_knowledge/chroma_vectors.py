"""Vectors in Chroma: in a folder of this process alone, or on a server that several share.

Chroma corrupts a folder that two processes use: the caller holds the lock. Nothing is contacted but
the server that settings name; the import of Chroma takes 1.5 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from diagnosis.errors import SourceError
from diagnosis_knowledge.vectors import MemoryVectors, VectorsUnavailable

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

_BATCH = 1_000  # Chroma refuses batches over about 5,400
_CONNECT_S = 5.0
_REQUEST_S = 10.0  # Chroma's own client would wait for ever
_OWNER = "knowledge_folder"


def folder_client(folder: Path) -> ClientAPI:
    """Chroma in a folder, which is made where there is none."""
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))


def server_client(url: str) -> ClientAPI:
    """A Chroma server.

    Raises:
        SourceError: the address is none, or no Chroma server answers there.
    """
    import chromadb
    import httpx
    from chromadb.config import Settings

    address = urlsplit(url)
    secure = address.scheme == "https"
    place = f"{address.hostname}:{address.port or (443 if secure else 80)}"
    try:
        # asked first, since Chroma's client connects without a time limit
        httpx.get(f"{url.rstrip('/')}/api/v2/heartbeat", timeout=_CONNECT_S).raise_for_status()
        client = chromadb.HttpClient(
            str(address.hostname),
            address.port or (443 if secure else 80),
            ssl=secure,
            settings=Settings(anonymized_telemetry=False),
        )
    except Exception as error:
        raise SourceError(
            f"No Chroma server answers at {place} ({type(error).__name__}).",
            "Start it (chroma run --path FOLDER), or correct plugins.knowledge.chroma_url.",
        ) from error
    for session in _sessions(client):
        session.timeout = httpx.Timeout(_REQUEST_S)
    return client


def _sessions(client: ClientAPI) -> list[Any]:
    """The HTTP clients inside, which Chroma neither bounds nor closes; none with a folder."""
    holders = (client, getattr(client, "_admin_client", None))
    sessions = (getattr(getattr(each, "_server", None), "_session", None) for each in holders)
    return [session for session in sessions if session is not None]


class ChromaVectors:
    """One collection of a Chroma client."""

    def __init__(self, client: ClientAPI, name: str, owner: str = "") -> None:
        """Open the collection, and make it where there is none.

        Args:
            client: closed with this.
            name: of the collection.
            owner: the index it belongs to; another one's collection is refused.

        Raises:
            SourceError: the collection belongs to another index.
            VectorsUnavailable: it cannot be opened.
        """
        self._client = client
        self._owner = owner
        self.name = name
        with _asked():
            # no embedding function: Chroma's default one would download a model
            self._collection = client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={_OWNER: owner},
                configuration={"hnsw": {"space": "cosine"}},
            )
            # read again: a collection that was there already keeps what it was made with
            known = client.get_collection(name, embedding_function=None).metadata or {}
        if known.get(_OWNER, owner) != owner:
            raise SourceError(
                f"The Chroma collection {name!r} belongs to another knowledge folder.",
                "Use that folder (plugins.knowledge.folder), or name another "
                "plugins.knowledge.collection.",
            )

    @classmethod
    def opened(cls, client: ClientAPI, name: str, owner: str = "") -> ChromaVectors:
        """The collection, or a closed client and the error."""
        try:
            return cls(client, name, owner)
        except BaseException:
            _close(client)
            raise

    def beside(self, name: str) -> ChromaVectors:
        """Another collection of the same client and owner."""
        return ChromaVectors(self._client, name, self._owner)

    def drop_others(self, prefix: str) -> None:
        """Delete the owner's collections whose names begin so, but this one."""
        with _asked():
            for collection in self._client.list_collections():
                owned = (collection.metadata or {}).get(_OWNER, "") == self._owner
                if owned and collection.name.startswith(prefix) and collection.name != self.name:
                    self._client.delete_collection(collection.name)

    def add(
        self, ids: Sequence[str], vectors: Sequence[Sequence[float]], category: str | None
    ) -> None:
        """See `Vectors`."""
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            with _asked():
                self._collection.upsert(
                    ids=list(some),
                    embeddings=list(vectors[start : start + _BATCH]),
                    metadatas=[{"category": category or ""} for _ in some],
                )

    def nearest(
        self, vector: Sequence[float], count: int, category: str | None
    ) -> dict[str, float]:
        """See `Vectors`."""
        vectors: list[Sequence[float] | Sequence[int]] = [vector]
        with _asked():
            found = self._collection.query(
                query_embeddings=vectors,
                n_results=count,
                where=None if category is None else {"category": category},
                include=["distances"],
            )
        distances = (found["distances"] or [[]])[0]
        return {
            chunk_id: 1.0 - float(distance)
            for chunk_id, distance in zip(found["ids"][0], distances, strict=True)
        }

    def compare(self, vector: Sequence[float], ids: Sequence[str]) -> dict[str, float]:
        """See `Vectors`."""
        if not ids:
            return {}
        with _asked():
            found = self._collection.get(ids=list(ids), include=["embeddings"])
        memory = MemoryVectors()
        embeddings: Any = found["embeddings"]
        memory.add(found["ids"], [] if embeddings is None else embeddings, None)
        return memory.compare(vector, ids)

    def ids(self) -> set[str]:
        """See `Vectors`."""
        with _asked():
            return set(self._collection.get(include=[])["ids"])

    def delete(self, ids: Sequence[str]) -> None:
        """See `Vectors`."""
        for start in range(0, len(ids), _BATCH):
            with _asked():
                self._collection.delete(ids=list(ids[start : start + _BATCH]))

    def close(self) -> None:
        """See `Vectors`."""
        _close(self._client)


def _close(client: ClientAPI) -> None:
    close: Any = getattr(client, "close", None)  # not part of Chroma's interface type
    if close is not None:
        close()
    for session in _sessions(client):
        session.close()


@contextmanager
def _asked() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # folder, server and network each fail with types of their own
        raise VectorsUnavailable(f"Chroma failed ({type(error).__name__})") from error
