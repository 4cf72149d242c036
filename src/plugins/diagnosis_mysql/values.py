"""From the bytes a server sends to JSON values, without loss.

NULL                          null
integers, YEAR                number, exact
FLOAT, DOUBLE                 number
DECIMAL                       whole numbers as number, others as the string the server sent
                              ("12.50"): a float would round it
DATE                          "2024-05-01"
DATETIME, TIMESTAMP           "2024-05-01T10:00:00.000123"; no zone: the scope names the session's
TIME                          "-12:30:00"
BIT                           number
text, ENUM, SET, JSON         string, cut with a mark where it is too long
BINARY, VARBINARY, BLOB       {"bytes": n, "sha256": "..."}; a string in SHOW and EXPLAIN, whose
                              texts some servers declare as binary
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pydantic import JsonValue

from diagnosis_sql.text import cut_text

# The protocol's column types, MySQL Internals "Column Definition" (protocol_binary::field_types)
_INTEGERS = {1: "TINYINT", 2: "SMALLINT", 3: "INT", 8: "BIGINT", 9: "MEDIUMINT", 13: "YEAR"}
_FLOATS = {4: "FLOAT", 5: "DOUBLE"}
_DECIMALS = {0: "DECIMAL", 246: "DECIMAL"}
_TIMES = {7: "TIMESTAMP", 10: "DATE", 11: "TIME", 12: "DATETIME", 14: "DATE"}
_BIT = 16
_JSON = 245
_GEOMETRY = 255
_STRING = 254
_TEXT_TYPES = {249: "TEXT", 250: "TEXT", 251: "TEXT", 252: "TEXT"}
_BLOBS = {249: "BLOB", 250: "BLOB", 251: "BLOB", 252: "BLOB"}

_BINARY_CHARSET = 63
_UNSIGNED_FLAG = 32
_ENUM_FLAG = 256
_SET_FLAG = 2048


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result as the server declares it.

    Attributes:
        label: its name in every row; unique within the result.
        type_code, flags, charset: the protocol's numbers.
    """

    label: str
    type_code: int
    flags: int
    charset: int

    @property
    def type_name(self) -> str:
        """Its SQL type, without length: `BIGINT UNSIGNED`, `VARCHAR`, `BLOB`."""
        code = self.type_code
        numeric = _INTEGERS.get(code) or _FLOATS.get(code) or _DECIMALS.get(code)
        if numeric:
            unsigned = self.flags & _UNSIGNED_FLAG and numeric != "YEAR"
            return f"{numeric} UNSIGNED" if unsigned else numeric
        special = {_BIT: "BIT", _JSON: "JSON", _GEOMETRY: "GEOMETRY", 6: "NULL"}
        named = _TIMES.get(code) or special.get(code)
        if named:
            return named
        if self.flags & _ENUM_FLAG:
            return "ENUM"
        if self.flags & _SET_FLAG:
            return "SET"
        if self.charset == _BINARY_CHARSET:
            return _BLOBS.get(code) or ("BINARY" if code == _STRING else "VARBINARY")
        return _TEXT_TYPES.get(code) or ("CHAR" if code == _STRING else "VARCHAR")

    @property
    def is_binary(self) -> bool:
        """Whether its values are bytes and not text."""
        return self.type_code == _GEOMETRY or self.type_name in {"BLOB", "BINARY", "VARBINARY"}

    def to_json(self, raw: bytes | None, *, text_bytes: int, describes: bool) -> JsonValue:
        """One value.

        Args:
            raw: the bytes of the text protocol; None for NULL.
            text_bytes: UTF-8 bytes a text may keep.
            describes: whether the statement is SHOW, DESCRIBE or EXPLAIN.
        """
        if raw is None:
            return None
        code = self.type_code
        if code in _INTEGERS:
            return int(raw)
        if code in _FLOATS:
            return float(raw)
        if code in _DECIMALS:
            return _decimal(raw.decode("ascii"))
        if code in _TIMES:
            return _time(code, raw.decode("ascii"))
        if code == _BIT:
            return int.from_bytes(raw, "big")
        if self.is_binary:
            text = _as_text(raw) if describes else None
            if text is None:
                return {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        return cut_text(raw, text_bytes)


def _decimal(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


def _time(code: int, text: str) -> str:
    return text.replace(" ", "T", 1) if code in {7, 12} else text


def _as_text(raw: bytes) -> str | None:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if all(char.isprintable() or char in "\t\r\n" for char in text) else None
