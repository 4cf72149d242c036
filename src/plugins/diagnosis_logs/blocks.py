"""Records that are blocks of lines: JSON objects over several lines, `key=value` lines, markup."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from diagnosis_logs.markup import fields_of, learn_opening, shown_in
from diagnosis_logs.structured import Fields, Path

_OPENING = re.compile(r"[ \t]{0,16}\{\Z")
_MEMBER = re.compile(r'\s*"((?:[^"\\]|\\.){1,64})"\s?:\s?')
_PAIR = re.compile(r"([A-Za-z_][\w.]{0,63})=")
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Block:
    """How a block of a file begins.

    Attributes:
        opening: the whole first line of an object; the beginning of the first line of pairs or of
            markup.
        kind: whether the lines are an object, or `key=value` as in journald's export, or markup.
    """

    opening: str
    kind: Literal["object", "pairs", "markup"]

    def begins(self, line: str) -> bool:
        """Whether a line begins a block."""
        if self.kind == "object":
            return line.rstrip() == self.opening
        return line.startswith(self.opening) and (
            self.kind == "pairs"
            or line[len(self.opening) :][:1] in " \t>"
            or self.opening[-1] == "["
        )

    def fields(self, lines: Sequence[str]) -> Fields | None:
        """What a whole block says; None where it is not whole."""
        if self.kind == "markup":
            return fields_of("\n".join(lines))
        if self.kind == "pairs":
            found = [line.partition("=") for line in lines if _PAIR.match(line)]
            return {key: value for key, _, value in reversed(found)}
        return object_of(lines)

    def value(self, line: str, path: Path) -> JsonValue:
        """The value that one line of a block gives the last key of a path, or None."""
        if self.kind == "markup":
            return shown_in(line).get(path[-1])
        if self.kind == "pairs":
            key, _, text = line.partition("=")
            return text if key == path[-1] else None
        found = _MEMBER.match(line)
        if found is None or found[1] != path[-1]:
            return None
        try:
            value: JsonValue = _decoder.raw_decode(line, found.end())[0]
        except (ValueError, RecursionError):
            return None
        return value


def object_of(lines: Sequence[str]) -> Fields | None:
    """The object that some lines begin with, or None."""
    try:
        data, _ = _decoder.raw_decode("\n".join(lines).lstrip())
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def learn_block(lines: Sequence[str]) -> tuple[Block, list[Fields], list[str]] | None:
    """The blocks of a sample: how they begin, what they say, and the lines that are of none."""
    for block in (_json(lines), _pairs(lines), _markup(lines)):
        if block is None:
            continue
        objects, others = _split(block, lines)
        begun = sum(block.begins(line) for line in lines)
        if objects and 2 * len(objects) >= begun:
            return block, objects, others
    return None


def _json(lines: Sequence[str]) -> Block | None:
    openings = [line.rstrip() for line in lines if _OPENING.match(line.rstrip())]
    if not openings:
        return None
    counts = Counter(openings)
    shortest = min(counts, key=len)
    # an object around all records opens once, and they deeper
    several = [opening for opening, count in counts.items() if count > 1]
    begun = shortest if counts[shortest] > 1 or not several else min(several, key=len)
    return Block(begun, kind="object")


def _pairs(lines: Sequence[str]) -> Block | None:
    """Blocks with an empty line between, of which each begins with the same key."""
    firsts = [
        found[1] if (found := _PAIR.match(line)) else ""
        for before, line in zip(["", *lines], lines, strict=False)
        if line and not before
    ]
    if len(firsts) < 2:
        return None
    [(key, count)] = Counter(firsts).most_common(1)
    pairs = sum(_PAIR.match(line) is not None for line in lines)
    if not key or 10 * count < 9 * len(firsts) or pairs < 3 * count or 2 * pairs < len(lines):
        return None
    return Block(f"{key}=", kind="pairs")


def _markup(lines: Sequence[str]) -> Block | None:
    opening = learn_opening(lines)
    return None if opening is None else Block(opening, kind="markup")


def _split(block: Block, lines: Sequence[str]) -> tuple[list[Fields], list[str]]:
    objects: list[Fields] = []
    others: list[str] = []
    for group in _groups(block, lines):
        data = block.fields(group) if block.begins(group[0]) else None
        if data is None:
            others += group
            continue
        objects.append(data)
        others += group[_length(block, group) :] if block.kind == "object" else []
    return objects, others


def _groups(block: Block, lines: Sequence[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for line in lines:
        if block.begins(line) and group:
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _length(block: Block, group: Sequence[str]) -> int:
    """How many lines of a group its object has: up to the brace below the first one."""
    indent = block.opening[:-1]
    ends = (f"{indent}}}", f"{indent}}},", f"{indent}}}]")
    return next((at + 1 for at, line in enumerate(group) if line.rstrip() in ends), len(group))
