"""Lines that are rows of a table: columns named by a header, by W3C's directive, or documented."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from diagnosis_logs.extensions import learn_extensions
from diagnosis_logs.structured import Fields

_W3C_FIELDS = "#Fields:"
_W3C_LOCAL = "#Time Format: Local"  # the Windows firewall's
_ZEEK_FIELDS = "#fields\t"
_NAME = re.compile(r"[^\W\d][\w .()/@#-]{0,48}\Z")
_WORD = re.compile(r"[^\W\d][\w.()/@-]{0,48}\Z")
_DELIMITERS = ("\t", ",", ";", "|")
_LAST_NAME = "message"
_FEWEST = 3
_FEWEST_WORDS = 6
_ROWS_LOOKED_AT = 200
# PostgreSQL, "Using CSV-Format Log Output": no header, these columns; later versions have more.
_POSTGRES = re.compile(
    r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [\w+:-]{1,8},(?:"[^"]*")?,(?:"[^"]*")?,\d*,'
    r'(?:"[^"]*")?,[0-9a-f]+\.[0-9a-f]+,\d+,'
)
_POSTGRES_NAMES = (
    "log_time", "user_name", "database_name", "process_id", "connection_from", "session_id",
    "session_line_num", "command_tag", "session_start_time", "virtual_transaction_id",
    "transaction_id", "error_severity", "sql_state_code", "message", "detail", "hint",
    "internal_query", "internal_query_pos", "context", "query", "query_pos", "location",
    "application_name", "backend_type", "leader_pid", "query_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """How a line becomes fields.

    Attributes:
        names: of the columns.
        delimiter: between them; a space stands for any white space.
        directives: whether lines with # are no rows.
        utc: whether times are UTC.
    """

    names: tuple[str, ...]
    delimiter: str
    directives: bool = False
    utc: bool = False

    def fields(self, row: str) -> Fields | None:
        """The cells of a row that are not empty; None for a header, a directive, or plain text."""
        cells = self.cells_of(row)
        if (
            len(cells) < 2
            or (self.directives and row.startswith("#"))
            or tuple(cells) == self.names
        ):
            return None
        return {
            name: cell
            for name, cell in zip(self.names, cells, strict=False)
            if cell and cell != "-"
        }

    def cells_of(self, row: str) -> list[str]:
        """The cells of a row."""
        if self.delimiter == " ":
            return row.split()
        if '"' not in row:
            return row.split(self.delimiter)
        try:
            rows = csv.reader(row.splitlines(keepends=True), delimiter=self.delimiter)
            return next(rows, [])
        except csv.Error:
            return []


class Rows(Protocol):
    """Reads lines as rows."""

    @property
    def utc(self) -> bool:
        """Whether times are UTC."""
        ...

    def fields(self, row: str) -> Fields | None:
        """What a row says; None for a line that is none."""
        ...


def learn_table(lines: Sequence[str]) -> Rows | None:
    """The table that most of a sample's lines are rows of, or None."""
    for line in lines:
        if line.startswith(_W3C_FIELDS):
            names = line[len(_W3C_FIELDS) :].strip()
            delimiter = next((mark for mark in "\t," if mark in names), " ")
            utc = not any(told.startswith(_W3C_LOCAL) for told in lines)
            return Table(tuple(re.split(r"[\s,]+", names)), delimiter, directives=True, utc=utc)
        if line.startswith(_ZEEK_FIELDS):
            return Table(tuple(line.split("\t")[1:]), "\t", directives=True)
    if not lines:
        return None
    if (extensions := learn_extensions(lines)) is not None:
        return extensions
    if 2 * sum(_POSTGRES.match(line) is not None for line in lines) > len(lines):
        return Table(_POSTGRES_NAMES, ",")
    rows = list(islice(lines, 1, _ROWS_LOOKED_AT))
    for delimiter in (*_DELIMITERS, " "):
        table = _headed(lines[0], delimiter)
        if table is None or not rows:
            continue
        if _fits(table, rows):
            return table
        # the Windows Event Viewer gives its last column no name
        wider = replace(table, names=(*table.names, _LAST_NAME))
        if (
            delimiter != " "
            and _LAST_NAME not in map(str.lower, table.names)
            and _fits(wider, rows)
        ):
            return wider
    return None


def _headed(header: str, delimiter: str) -> Table | None:
    words = delimiter == " "
    names = header.split() if words else [name.strip(' "') for name in header.split(delimiter)]
    if len(names) < (_FEWEST_WORDS if words else _FEWEST) or len(set(names)) < len(names):
        return None
    name = _WORD if words else _NAME
    return Table(tuple(names), delimiter) if all(map(name.match, names)) else None


def _fits(table: Table, rows: Sequence[str]) -> bool:
    """Whether most rows have as many cells as the header, and not all of them words like its."""
    cells = [table.cells_of(row) for row in rows]
    whole = [row for row in cells if len(row) == len(table.names)]
    values = [row for row in whole if not all(map(_NAME.match, row))]
    if table.delimiter == " " and len(whole) < len(rows):
        return False  # prose has words, too
    return 2 * len(whole) >= len(rows) and 2 * len(values) >= len(whole) > 0
