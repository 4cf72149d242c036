"""The knowledge base as the command line and the tool use it: add, list, search, remove.

Everything that blocks runs on one thread of its own, in the order it was asked for; so a cancelled
call leaves that thread to finish its short step, and the clean-up waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from diagnosis.errors import SourceError
from diagnosis.plugin import DocumentRegistry, Embedder, IndexStatus, InMemoryDocuments
from diagnosis_knowledge.adding import (
    AddedFile,
    AddStage,
    AddStatus,
    AddStep,
    Sorting,
    missing_files,
    same_content,
    skipped_files,
)
from diagnosis_knowledge.documents import Document, DocumentReader, SourceFile, Survey, survey
from diagnosis_knowledge.embedding import offline_embedder
from diagnosis_knowledge.folder_lock import FolderInUse
from diagnosis_knowledge.index import Index, server_of
from diagnosis_knowledge.search import Found
from diagnosis_knowledge.settings import KnowledgeSettings
from diagnosis_knowledge.sharpening import SharpenedEmbedder
from diagnosis_knowledge.statuses import INTERRUPTED, KnownDocument, Statuses
from diagnosis_knowledge.trouble import index_trouble

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger(__name__)
_AT_ONCE = 256  # passages handed to the embedder, so that progress can be seen
_AHEAD = 8  # documents handed to the embedder at a time, so that it never waits for the loop


class KnowledgeBase:
    """Documents that can be looked up. Made by `open`; for one event loop."""

    def __init__(
        self,
        thread: ThreadPoolExecutor,
        index: Index,
        embedder: SharpenedEmbedder | None,
        statuses: Statuses,
    ) -> None:
        """Take an open index, the thread it lives on, and the statuses of its documents."""
        self._thread = thread
        self._index = index
        self._embedder = embedder
        self._statuses = statuses
        self._giving_up: set[asyncio.Task[None]] = set()
        self._closed = False

    @classmethod
    async def open(
        cls,
        settings: KnowledgeSettings,
        embedder: Embedder | None = None,
        documents: DocumentRegistry | None = None,
    ) -> Self:
        """Open the index of `settings.index_folder`, or one in memory where paths are given.

        The folder stays locked until `close`. Paths are not indexed here: `add` them. What a
        killed process left is cleaned up.

        Args:
            settings: where it is.
            embedder: the embedding model; None for the offline one, where it runs here.
            documents: keeps the status of every document; None to keep it with this object. It is
                not asked where paths are given.

        Raises:
            SourceError: the folder is in use, cannot be used, or belongs to another model.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="diagnosis-knowledge")
        folder = None if settings.paths else settings.index_folder

        def open_both() -> tuple[Index, str, SharpenedEmbedder | None]:
            model = embedder or offline_embedder()
            chosen = None if model is None else SharpenedEmbedder(model)
            name = None if chosen is None else chosen.name
            index = Index(folder, name, settings.relevance_floor, server_of(settings))
            if chosen is not None and index.calibration is not None:
                chosen.remember(index.calibration)
            return index, index.identity, chosen

        opening = asyncio.get_running_loop().run_in_executor(thread, open_both)
        try:
            index, identity, chosen = await asyncio.shield(opening)
        except BaseException:
            # cancelled while it opens: close what the thread is about to hand over
            opening.add_done_callback(lambda done: _close_unused(thread, done))
            raise
        registry = InMemoryDocuments() if folder is None or documents is None else documents
        base = cls(thread, index, chosen, Statuses(registry, identity))
        try:
            await base._recover()
        except BaseException:
            await asyncio.shield(base.close())
            raise
        return base

    @property
    def embedding(self) -> str | None:
        """The name of the model that compares meanings, or None: words only."""
        return self._embedder.name if self._embedder and self._index.searches_meaning else None

    async def close(self) -> None:
        """Let go of the folder. Closing again does nothing."""
        if not self._closed:
            self._closed = True
            if self._giving_up:
                await asyncio.wait(self._giving_up)
            await self._run(self._index.close)
            self._thread.shutdown(wait=False)

    async def add(
        self,
        paths: Iterable[Path],
        progress: Callable[[AddedFile], None] | None = None,
        watch: Callable[[AddStep], None] | None = None,
        reader: DocumentReader | None = None,
    ) -> tuple[AddedFile, ...]:
        """Index files and folders; a file that fails stops no other.

        Args:
            paths: files, or folders that are searched for documents.
            progress: called after each file.
            watch: called as often as there is something to be seen of the work under way.
            reader: the reader that has read some of them already; it is closed.

        Raises:
            SourceError: a path does not exist or holds nothing; nothing is indexed then. Or the
                index needs an embedding model that is missing here.
        """
        report: list[AddedFile] = []

        def tell(file: AddedFile) -> None:
            report.append(file)
            if progress is not None:
                progress(file)

        with reader or DocumentReader() as open_reader:
            self._refuse_without_model()
            found = await self._run(survey, tuple(paths))
            async with self._writing():
                await self._add(found, open_reader, tell, watch or (lambda _: None))
        return tuple(report)

    async def list(self) -> tuple[KnownDocument, ...]:
        """All documents with their status, by source name."""
        return await self._statuses.known(await self._run(self._index.registry.documents))

    async def search(self, query: str, top_k: int = 5, category: str | None = None) -> Found:
        """The passages relevant enough to the query, best first; none where nothing is.

        Where the embedding model cannot be asked, words alone are compared (`Found.by_meaning`).
        """
        vector = None
        if self._embedder is not None and self._index.searches_meaning:
            try:
                vector = await self._embedder.embed_query(query)
            except SourceError as error:
                _log.warning("%s The lookup goes by words alone.", error.problem)
        return await self._run(self._index.search, query, vector, top_k, category)

    async def remove(self, document_id: str) -> bool:
        """Take a document out; return whether there was one."""
        async with self._writing():
            # in this order: killed in between, the document is there as before
            recorded = await self._statuses.forget(document_id)
            return await self._run(self._index.remove, document_id) or recorded

    async def _recover(self) -> None:
        try:
            async with self._writing():
                published = await self._run(self._index.recover)
                await self._statuses.carry_over(self._index.registry.carried_over)
                await self._statuses.settle(published, INTERRUPTED)
        except FolderInUse:
            pass  # on a Chroma server: what looks unfinished is that process's work

    @asynccontextmanager
    async def _unfinished(self, documents: Sequence[Document]) -> AsyncIterator[None]:
        """Enter the documents as PENDING; whatever ends this, none of them stays unfinished."""
        try:
            await self._statuses.enter(documents, IndexStatus.PENDING)
            yield
        except BaseException as error:
            cancelled = isinstance(error, asyncio.CancelledError | GeneratorExit)
            reason = f"indexing {'was cancelled' if cancelled else 'failed'}; add the file again"
            giving_up = asyncio.create_task(self._give_up(documents, reason))
            self._giving_up.add(giving_up)
            giving_up.add_done_callback(self._giving_up.discard)
            await asyncio.shield(giving_up)
            raise

    async def _give_up(self, documents: Sequence[Document], reason: str) -> None:
        """Record what became of documents, after the last step under way on the thread."""
        try:
            published = await self._run(self._index.settle)
            ids = {document.document_id for document in documents}
            await self._statuses.settle(published, reason, ids)
        except SourceError as error:
            _log.warning(
                "%s The statuses are settled when the index is opened again.", error.problem
            )

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        await self._run(self._index.begin_writing)
        try:
            yield
        finally:
            # queued whatever happens; the next writer, maybe of this process, need not be refused
            await asyncio.shield(asyncio.wrap_future(self._thread.submit(self._index.end_writing)))

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, lambda: work(*args, **kwargs))
        except sqlite3.Error as error:
            raise index_trouble(self._index.folder, error) from error

    def _refuse_without_model(self) -> None:
        if self._index.built_with != "none" and not self._index.searches_meaning:
            raise SourceError(
                f"The index needs the embedding {self._index.built_with!r}, which is missing here.",
                "Install it with the extra `knowledge`, or set that embedding.",
            )

    async def _add(
        self,
        found: Survey,
        reader: DocumentReader,
        tell: Callable[[AddedFile], None],
        watch: Callable[[AddStep], None],
    ) -> None:
        sorted_out = await self._new_documents(found.files, reader, tell, watch)
        documents, twins = tuple(sorted_out.new.values()), sorted_out.twins
        for file in skipped_files(found):
            tell(file)
        replaced = {d.document_id for d in await self.list() if d.chunks}
        async with (
            self._unfinished([*documents, *(twin for some in twins.values() for twin in some)]),
            aclosing(self._index_all(documents, watch)) as indexed,
        ):
            async for document in indexed:
                again = document.document_id in replaced
                done = AddStatus.REPLACED if again else AddStatus.ADDED
                count = len(document.chunks)
                tell(AddedFile(document.source, document.document_id, done, count, document.note))
                for twin in twins.get(document.document_id, ()):
                    await self._statuses.forget(twin.document_id)
                    tell(same_content(twin.source, document))
        for file in await self._run(missing_files, self._index.registry, await self.list(), found):
            tell(file)

    async def _new_documents(
        self,
        files: Sequence[SourceFile],
        reader: DocumentReader,
        tell: Callable[[AddedFile], None],
        watch: Callable[[AddStep], None],
    ) -> Sorting:
        """Read the files; tell at once of those that need no indexing or cannot be."""
        sorting = Sorting(await self.list())
        try:
            for number, file in enumerate(files):
                watch(AddStep(AddStage.READING, number, len(files), file.source))
                # not on the thread of the index: reading a hostile file may take a minute
                told = await asyncio.to_thread(sorting.take, file, reader)
                if told is not None:
                    tell(told)
        finally:
            reader.close()
        for document, status, reason in sorting.recorded:
            await self._statuses.enter([document], status, reason)
        for document_id in sorting.obsolete:
            await self._statuses.forget(document_id)
        return sorting

    async def _index_all(
        self, documents: Sequence[Document], watch: Callable[[AddStep], None]
    ) -> AsyncGenerator[Document, None]:
        """Index documents, a few at a time, and yield each in order when it can be found."""
        ahead: deque[tuple[Document, asyncio.Task[None]]] = deque()
        done, total = 0, sum(len(document.chunks) for document in documents)

        def embedded(document: Document, passages: int) -> None:
            nonlocal done
            done += passages
            watch(AddStep(AddStage.INDEXING, done, total, document.source))

        try:
            for document in documents:
                indexing = asyncio.create_task(self._index_document(document, embedded))
                ahead.append((document, indexing))
                if len(ahead) == _AHEAD:
                    yield await _first_done(ahead)
            while ahead:
                yield await _first_done(ahead)
        finally:
            for _, task in ahead:
                task.cancel()
            await asyncio.gather(*(task for _, task in ahead), return_exceptions=True)

    async def _index_document(
        self, document: Document, embedded: Callable[[Document, int], None]
    ) -> None:
        await self._statuses.enter([document], IndexStatus.PROCESSING)
        texts = await self._run(self._index.start, document)
        vectors: list[Sequence[float]] = []
        if self._embedder is not None and self._index.searches_meaning:
            for start in range(0, len(texts), _AT_ONCE):
                part = texts[start : start + _AT_ONCE]
                vectors += await self._embedder.embed_documents(part)
                embedded(document, len(part))
            await self._run(self._index.keep_calibration, self._embedder.calibration)
        await self._run(self._index.finish, document, vectors)
        await self._statuses.enter([document], IndexStatus.INDEXED)


async def _first_done(ahead: deque[tuple[Document, asyncio.Task[None]]]) -> Document:
    await ahead[0][1]
    return ahead.popleft()[0]


def _close_unused(
    thread: ThreadPoolExecutor, done: asyncio.Future[tuple[Index, str, SharpenedEmbedder | None]]
) -> None:
    if not done.cancelled() and done.exception() is None:
        thread.submit(done.result()[0].close)
    thread.shutdown(wait=False)
