"""The shape of a file's lines: what a sample taught of it."""

from __future__ import annotations

from dataclasses import dataclass

from diagnosis_logs.blocks import Block
from diagnosis_logs.keys import NO_KEYS, StructuredKeys
from diagnosis_logs.places import Place
from diagnosis_logs.tables import Rows


@dataclass(frozen=True, slots=True)
class Shape:
    """What a sample taught.

    Attributes:
        places: kinds of timestamp and where each stands; most frequent first.
        keys: of its structured lines (JSON, logfmt).
        quick: the names of keys whose first mention in a JSON line is that line's time.
        zoned: whether the sample's times carry their zone.
        logfmt: whether most of its lines are `key=value` pairs.
        embedded: whether JSON objects stand at the ends of its lines.
        tagged: whether its lines name host and program after their time, as syslog's.
        slow: whether it is MySQL's log of slow queries.
        postgres: whether DETAIL, HINT and STATEMENT lines belong to the line before.
        table: how its lines are rows of a table; None where they are none.
        block: how its records of several lines begin that are data as a whole.
        in_order_only: its lines' times are known only in order: from the first line on.
        traced: whether lines of stack traces have times of their own.
        bare: whether a container's lines have only its time before them.
        worded: whether the first word after the time is a level, in whatever case.
        leveled: whether its lines without times begin with a level, and others go on.
        inner: the shape of what a container's lines hold; None for a file that is no container's.
    """

    places: tuple[Place, ...] = ()
    keys: StructuredKeys = NO_KEYS
    quick: tuple[str, ...] = ()
    zoned: bool = False
    logfmt: bool = False
    embedded: bool = False
    tagged: bool = False
    slow: bool = False
    postgres: bool = False
    table: Rows | None = None
    block: Block | None = None
    in_order_only: bool = False
    traced: bool = False
    worded: bool = False
    leveled: bool = False
    bare: bool = False
    inner: Shape | None = None

    @property
    def timed(self) -> bool:
        """Whether its lines have times."""
        return bool(self.places or self.keys.timed or self.inner is not None)
