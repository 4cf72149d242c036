"""What every reader makes of a document: its text in sections, each below its headings."""

from __future__ import annotations

from dataclasses import dataclass

TEXT_BYTES = 4 * 1024 * 1024
"""The text of one document in UTF-8, whatever its file holds beside it."""


class DocumentUnreadable(Exception):
    """A file cannot be indexed.

    Attributes:
        reason: says why, as the end of a sentence about the file, without a machine path.
        mend: what its owner can do about that very file, or None.
    """

    def __init__(self, reason: str, mend: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.mend = mend

    @property
    def told(self) -> str:
        """Both, for a list of files."""
        return self.reason if self.mend is None else f"{self.reason}. {self.mend}"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, table or code block: what is better not cut.

    Attributes:
        code: kept whole although it is longer than a chunk.
    """

    text: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """The text below one heading, up to the next one.

    Attributes:
        headings: the headings above it, outermost first; none for text before the first.
    """

    headings: tuple[str, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Extract:
    """A document as its reader understood it.

    Attributes:
        title: None where the document names none.
        category: likewise.
        note: what of the document could not be read, or None.
    """

    title: str | None
    category: str | None
    sections: tuple[Section, ...]
    note: str | None = None


class Outline:
    """Collects sections in reading order: headings open them, blocks go into the open one."""

    def __init__(self) -> None:
        """Begin with a section that has no heading."""
        self._headings: list[tuple[int, str]] = []
        self._blocks: list[Block] = []
        self._sections: list[Section] = []
        self._bytes = 0
        self.title: str | None = None
        """The first heading of level one."""

    def heading(self, level: int, name: str) -> None:
        """Open a section: it ends those of the same or a deeper level (1 is the outermost)."""
        self._end_section()
        if level == 1 and name and self.title is None:
            self.title = name
        name = name.encode(errors="replace").decode()
        self._headings = [*(above for above in self._headings if above[0] < level), (level, name)]

    def add(self, text: str, *, code: bool = False) -> None:
        """Put a block into the open section; blank ones are dropped.

        Raises:
            DocumentUnreadable: the document holds more than `TEXT_BYTES`.
        """
        if not text.strip():
            return
        encoded = text.encode(errors="replace")  # half a surrogate pair can be stored nowhere
        self._bytes += len(encoded)
        if self._bytes > TEXT_BYTES:
            raise DocumentUnreadable(
                f"holds more than {TEXT_BYTES // 1024 // 1024} MiB of text", "Split it."
            )
        self._blocks.append(Block(encoded.decode(), code))

    def sections(self) -> tuple[Section, ...]:
        """Everything collected; sections without text are left out."""
        self._end_section()
        return tuple(self._sections)

    def _end_section(self) -> None:
        if self._blocks:
            headings = tuple(name for _, name in self._headings if name)
            self._sections.append(Section(headings, tuple(self._blocks)))
            self._blocks = []
