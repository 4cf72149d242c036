"""From what a server sends to JSON values, without loss.

Every value is asked for as text, so that nothing the driver cannot represent (infinite dates, years
before Christ, intervals of months) is lost, and long texts are cut on the server.

NULL                          null
boolean                       true, false
integers, oid                 number, exact
real, double precision        number; "NaN", "Infinity" as strings
numeric                       whole numbers as number, others as the string ("12.50")
date                          "2024-05-01", "infinity"
timestamp                     "2024-05-01T10:00:00.000123"
timestamp with time zone      "2024-05-01T10:00:00+02:00", in the session's zone
interval                      "1 mon 2 days 03:00:00"
arrays                        list
composite values, records     JSON object, as a string
json, jsonb                   string, as stored
bytea                         {"bytes": n, "sha256": "..."}
all others                    the server's text, cut with a mark where it is too long
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from diagnosis_sql.text import cut_text

_INTEGERS = frozenset({"int2", "int4", "int8", "oid"})
_FLOATS = frozenset({"float4", "float8"})
_TIMES = frozenset({"timestamp", "timestamptz"})
_SHORT = _INTEGERS | _FLOATS | _TIMES | {"bool", "date", "time", "timetz", "uuid", "interval"}
_NAMES = {
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "bool": "boolean",
    "bpchar": "character",
    "varchar": "character varying",
    "timestamp": "timestamp",
    "timestamptz": "timestamp with time zone",
    "timetz": "time with time zone",
}
_SHORT_ZONE = re.compile(r"([+-][0-9]{2})\Z")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result as the server declares it.

    Attributes:
        label: its name in every row; unique within the result.
        type: the server's name of its type; of its elements where it is an array.
        kind: scalar, array, composite, range, domain or enum, in the driver's words.
    """

    label: str
    type: str
    kind: str = "scalar"

    @property
    def type_name(self) -> str:
        """Its SQL type, without length: `bigint`, `text`, `integer[]`."""
        name = _NAMES.get(self.type, self.type)
        return f"{name}[]" if self.kind == "array" else name

    @property
    def is_row(self) -> bool:
        """Whether its values have named parts."""
        return self.kind == "composite" or self.type == "record"

    def select(self, name: str, text_bytes: int) -> list[str]:
        """Expressions that bring a value as text and, where it may be long, its length.

        Args:
            name: the quoted name of the column.
            text_bytes: characters of a text at most; bytes are cut here, as characters differ.
        """
        if self.type == "bytea" and self.kind == "scalar":
            digest = f"pg_catalog.encode(pg_catalog.sha256({name}), 'hex')"
            return [digest, f"pg_catalog.octet_length({name})"]
        text = f"CAST({name} AS pg_catalog.text)"
        if self.kind == "array":
            text = f"CAST(pg_catalog.array_to_json({name}) AS pg_catalog.text)"
        elif self.is_row:
            text = f"CAST(pg_catalog.row_to_json({name}) AS pg_catalog.text)"
        elif self.type in _SHORT and self.kind == "scalar":
            return [text, "NULL::pg_catalog.int4"]
        return [f"pg_catalog.left({text}, {text_bytes})", f"pg_catalog.octet_length({text})"]

    def to_json(self, raw: Sequence[Any] | None, *, text_bytes: int, describes: bool) -> JsonValue:
        """One value.

        Args:
            raw: what `select` asked for: the text (None for NULL) and the length.
            text_bytes: UTF-8 bytes a text may keep.
            describes: whether the statement is SHOW or EXPLAIN; the value is then a plain text.
        """
        if raw is None or raw[0] is None:
            return None
        text, length = raw
        if describes:
            return cut_text(str(text).encode(), text_bytes)
        if self.type == "bytea" and self.kind == "scalar":
            return {"bytes": length, "sha256": text}
        if self.kind == "array":
            whole = length <= len(text.encode())
            if whole and length <= text_bytes:
                return _elements(text, exact=self.type == "numeric")
        elif self.kind == "scalar" and self.type in _SHORT | {"numeric"}:
            return self._short(text)
        return cut_text(text.encode("utf-8", "replace"), text_bytes, length)

    def _short(self, text: str) -> JsonValue:
        if self.type == "bool":
            return text in {"true", "t"}
        if self.type in _INTEGERS:
            return int(text)
        if self.type in _FLOATS:
            return text if text.lstrip("-")[:1] in {"N", "I"} else float(text)
        if self.type == "numeric":
            return int(text) if text.lstrip("-").isdigit() else text
        if self.type in _TIMES:
            text = text.replace(" ", "T", 1)
            return _SHORT_ZONE.sub(r"\1:00", text) if self.type == "timestamptz" else text
        return text


def _elements(text: str, *, exact: bool) -> JsonValue:
    found: JsonValue = json.loads(text, parse_float=str if exact else float)
    return found
