"""The server's bytes become JSON without loss."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis_mysql.values import Column
from diagnosis_sql.text import cut_text, unique_labels


def column(type_code: int, *, flags: int = 0, charset: int = 63) -> Column:
    return Column("c", type_code, flags, charset)


@pytest.mark.parametrize(
    ("declared", "raw", "expected"),
    [
        (column(3), b"-5", -5),
        (column(8, flags=32), b"18446744073709551615", 18446744073709551615),
        (column(13), b"2024", 2024),
        (column(5), b"1.5e300", 1.5e300),
        (column(246), b"12.50", "12.50"),
        (column(246), b"-123456789012345678901234567890", -123456789012345678901234567890),
        (column(10), b"2024-05-01", "2024-05-01"),
        (column(12), b"2024-05-01 10:00:00.000123", "2024-05-01T10:00:00.000123"),
        (column(7), b"0000-00-00 00:00:00", "0000-00-00T00:00:00"),
        (column(11), b"-838:59:59", "-838:59:59"),
        (column(16), b"\x01\x00", 256),
        (column(253, charset=45), "中文".encode(), "中文"),
        (column(245), b'{"a": 1}', '{"a": 1}'),
        (column(252, charset=45), b"", ""),
        (column(253, charset=45), b"bad \xff byte", "bad � byte"),
        (column(3), None, None),
    ],
)
def test_a_value(declared: Column, raw: bytes | None, expected: object) -> None:
    assert declared.to_json(raw, text_bytes=1_000, describes=False) == expected


def test_bytes_are_named_by_size_and_hash_and_never_shown() -> None:
    shown = column(252).to_json(b"secret\x00", text_bytes=1_000, describes=False)
    assert shown == {"bytes": 7, "sha256": hashlib.sha256(b"secret\x00").hexdigest()}


def test_show_and_explain_show_text_that_the_server_calls_binary() -> None:
    assert column(252).to_json(b"int(11)", text_bytes=99, describes=True) == "int(11)"
    shown = column(252).to_json(b"\x00\x01", text_bytes=99, describes=True)
    assert isinstance(shown, dict)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (column(8, flags=32), "BIGINT UNSIGNED"),
        (column(13, flags=32), "YEAR"),
        (column(246), "DECIMAL"),
        (column(252), "BLOB"),
        (column(252, charset=45), "TEXT"),
        (column(254, charset=45, flags=256), "ENUM"),
        (column(254, charset=45, flags=2048), "SET"),
        (column(254, charset=45), "CHAR"),
        (column(254), "BINARY"),
        (column(253), "VARBINARY"),
        (column(253, charset=45), "VARCHAR"),
        (column(255), "GEOMETRY"),
        (column(245), "JSON"),
        (column(16), "BIT"),
    ],
)
def test_a_column_names_its_type(declared: Column, expected: str) -> None:
    assert declared.type_name == expected


@given(st.text(max_size=60), st.integers(min_value=4, max_value=80))
def test_a_cut_text_is_a_prefix_and_says_how_long_it_was(text: str, limit: int) -> None:
    raw = text.encode("utf-8", "replace")
    shown = cut_text(raw, limit)
    if len(raw) <= limit:
        assert shown == raw.decode()
        return
    kept, mark = shown.rsplit("…[cut: ", 1)
    assert raw.decode().startswith(kept)
    assert limit - 4 < len(kept.encode()) <= limit
    assert mark == f"{len(kept.encode())} of {len(raw)} bytes]"


def test_equal_names_of_a_join_stay_apart() -> None:
    names = [("a", "id"), ("b", "id"), ("b", "id"), ("", "id"), ("a", "name")]
    assert unique_labels(names) == ["id", "b.id", "id (2)", "id (3)", "name"]
