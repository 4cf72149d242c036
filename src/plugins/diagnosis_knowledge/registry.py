"""What can be found, in SQLite: the published documents, their chunks, and the word index.

It alone decides what is visible: a document's chunks are published, and those they replace
withdrawn, in one transaction. Vectors live elsewhere and cannot take part in it, so ids of
vectors that belong to no published chunk stand in `stray_vectors` from before they are written
until after they are deleted; a killed process leaves nothing that the next one cannot clean up.
How far the other documents are is for people, and kept by `statuses`.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from diagnosis.plugin import DocumentRecord, IndexStatus
from diagnosis_knowledge.documents import Document
from diagnosis_knowledge.words import terms

SCHEMA_VERSION = "2"

_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE documents (
    document_id TEXT PRIMARY KEY, source TEXT NOT NULL, title TEXT NOT NULL, category TEXT,
    sha256 TEXT NOT NULL, chunks INTEGER NOT NULL
) STRICT;
CREATE TABLE chunks (
    number INTEGER PRIMARY KEY, chunk_id TEXT NOT NULL UNIQUE, document_id TEXT NOT NULL,
    section TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_of_document ON chunks (document_id);
CREATE TABLE stray_vectors (chunk_id TEXT PRIMARY KEY) STRICT;
CREATE VIRTUAL TABLE words USING fts5 (
    heading, body, tokenize = "unicode61 remove_diacritics 0 tokenchars '_.-:/@'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
"""
# Format 1 kept the status of every document; those of documents that cannot be found moved away.
_LEAVE_1 = """
DELETE FROM documents WHERE chunks = 0;
ALTER TABLE documents DROP COLUMN status;
ALTER TABLE documents DROP COLUMN reason;
"""


class OtherFormat(Exception):
    """The file is of another version, or another application's."""


@dataclass(frozen=True, slots=True)
class PublishedDocument:
    """A document that can be found.

    Attributes:
        chunks: how many chunks it has.
    """

    document_id: str
    source: str
    title: str
    category: str | None
    sha256: str
    chunks: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A published chunk with what is known of its document."""

    chunk_id: str
    document_id: str
    title: str
    source: str
    category: str | None
    section: str
    text: str


class Registry:
    """The SQLite file beside the vectors, or in memory. For one thread."""

    def __init__(self, path: Path | None) -> None:
        """Open the registry and make its tables where there are none.

        Args:
            path: the file, or None for one in memory.

        Raises:
            sqlite3.Error: the file is no database, or cannot be used.
            OtherFormat: it is no registry, or one of another version.
        """
        self.carried_over: tuple[DocumentRecord, ...] = ()  # what format 1 knew of the others
        self._connection = sqlite3.connect(":memory:" if path is None else path)
        try:
            if path is not None:
                self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._agree_on_schema()
        except BaseException:
            self._connection.close()
            raise

    def _agree_on_schema(self) -> None:
        if self._schema() == SCHEMA_VERSION:
            return
        # another process may do the same at this moment: look again once it cannot
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:
            schema = self._schema()
            if schema == SCHEMA_VERSION:
                return
            if schema == "1":
                self.carried_over = self._unpublished()
            elif schema is not None:
                raise OtherFormat
            for statement in (_SCHEMA if schema is None else _LEAVE_1).split(";"):
                self._connection.execute(statement)
            facts = [("owner", uuid.uuid4().hex), ("schema", SCHEMA_VERSION)]
            self._connection.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", facts[0])
            self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", facts[1])

    def _schema(self) -> str | None:
        """The version of the format, "" where the file is something else; None for a new file."""
        tables = {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master")}
        if "about" in tables:
            return self.about("schema") or ""
        return "" if tables else None

    def _unpublished(self) -> tuple[DocumentRecord, ...]:
        rows = self._connection.execute(
            "SELECT document_id, source, sha256, status, reason FROM documents WHERE chunks = 0"
        )
        return tuple(
            DocumentRecord(document_id, source, sha256, IndexStatus(status), reason)
            for document_id, source, sha256, status, reason in rows
        )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def about(self, name: str) -> str | None:
        """A fact about the index itself: `schema`, `owner`, `embedding`."""
        row = self._connection.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def describe(self, facts: Mapping[str, str]) -> None:
        """Set facts about the index itself, all at once."""
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", facts.items())

    # --- documents ---------------------------------------------------------------------------

    def documents(self) -> list[PublishedDocument]:
        """All that can be found, by source name."""
        rows = self._connection.execute(
            "SELECT document_id, source, title, category, sha256, chunks"
            " FROM documents ORDER BY source"
        )
        return [PublishedDocument(*row) for row in rows]

    def expect(self, vector_ids: Sequence[str]) -> None:
        """Note the vectors about to be written as stray."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO stray_vectors VALUES (?)", [(i,) for i in vector_ids]
            )

    def publish(self, document: Document, vector_ids: Sequence[str]) -> None:
        """Make all chunks of a document visible at once, instead of its earlier ones."""
        with self._transaction() as connection:
            self._withdraw(document.document_id)
            connection.executemany(
                "DELETE FROM stray_vectors WHERE chunk_id = ?", [(i,) for i in vector_ids]
            )
            for chunk_id, chunk in zip(vector_ids, document.chunks, strict=True):
                number = connection.execute(
                    "INSERT INTO chunks (chunk_id, document_id, section, text) VALUES (?, ?, ?, ?)",
                    (chunk_id, document.document_id, chunk.section, chunk.text),
                ).lastrowid
                heading = " ".join(terms(f"{document.title}\n{chunk.section}"))
                body = " ".join(terms(chunk.text))
                connection.execute(
                    "INSERT INTO words (rowid, heading, body) VALUES (?, ?, ?)",
                    (number, heading, body),
                )
            connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)",
                (document.document_id, document.source, document.title, document.category,
                 document.sha256, len(document.chunks)),
            )  # fmt: skip

    def withdraw(self, document_id: str) -> bool:
        """Make a document invisible; return whether it could be found."""
        with self._transaction():
            return self._withdraw(document_id)

    def stray_vectors(self) -> list[str]:
        """Ids of vectors that may exist and belong to no published chunk."""
        return [row[0] for row in self._connection.execute("SELECT chunk_id FROM stray_vectors")]

    def forget_strays(self, vector_ids: Sequence[str]) -> None:
        """Note that these vectors are deleted."""
        with self._transaction() as connection:
            connection.executemany(
                "DELETE FROM stray_vectors WHERE chunk_id = ?", [(i,) for i in vector_ids]
            )

    # --- chunks ------------------------------------------------------------------------------

    def counts(self, category: str | None) -> tuple[int, int]:
        """How many documents and chunks can be found, in one category or in all."""
        row = self._connection.execute(
            "SELECT count(*), coalesce(sum(chunks), 0) FROM documents"
            " WHERE ?1 IS NULL OR category = ?1",
            (category,),
        ).fetchone()
        return int(row[0]), int(row[1])

    def chunk_ids(self) -> list[str]:
        """The ids of all published chunks."""
        return [row[0] for row in self._connection.execute("SELECT chunk_id FROM chunks")]

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, StoredChunk]:
        """Published chunks by id; an id that is not published is left out."""
        found: dict[str, StoredChunk] = {}
        for chunk_id in chunk_ids:
            row = self._connection.execute(
                "SELECT chunk_id, document_id, title, source, category, section, text"
                " FROM chunks JOIN documents USING (document_id) WHERE chunk_id = ?",
                (chunk_id,),
            ).fetchone()
            if row is not None:
                found[chunk_id] = StoredChunk(*row)
        return found

    def matching(self, words: Sequence[str], count: int, category: str | None) -> list[str]:
        """Ids of the chunks that hold any of the words, best first (BM25, headings weigh 2)."""
        if not words:
            return []
        rows = self._connection.execute(
            "SELECT chunk_id FROM words JOIN chunks ON number = words.rowid"
            " JOIN documents USING (document_id)"
            " WHERE words MATCH ?1 AND (?2 IS NULL OR category = ?2)"
            " ORDER BY bm25(words, 2.0, 1.0), number LIMIT ?3",
            (" OR ".join(f'"{word}"' for word in words), category, count),
        )
        return [row[0] for row in rows]

    def frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """In how many chunks each word stands; 0 where in none."""
        found = dict.fromkeys(words, 0)
        for word in words:
            row = self._connection.execute(
                "SELECT doc FROM vocabulary WHERE term = ?", (word,)
            ).fetchone()
            found[word] = 0 if row is None else int(row[0])
        return found

    def vocabulary(self, prefix: str) -> list[str]:
        """Every word that stands in a chunk and begins so."""
        rows = self._connection.execute(
            "SELECT term FROM vocabulary WHERE term >= ?1 AND term < ?1 || char(1114111)", (prefix,)
        )
        return [row[0] for row in rows]

    # --- inside a transaction ----------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connection:
            yield self._connection

    def _withdraw(self, document_id: str) -> bool:
        owned = "SELECT number FROM chunks WHERE document_id = ?"
        for statement in (
            "INSERT OR IGNORE INTO stray_vectors SELECT chunk_id FROM chunks WHERE document_id = ?",
            f"DELETE FROM words WHERE rowid IN ({owned})",  # noqa: S608 - a constant
            "DELETE FROM chunks WHERE document_id = ?",
        ):
            self._connection.execute(statement, (document_id,))
        gone = self._connection.execute(
            "DELETE FROM documents WHERE document_id = ?", (document_id,)
        )
        return gone.rowcount > 0
