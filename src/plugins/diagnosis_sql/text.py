"""Texts of bounded length, labels, and lists of words."""

from __future__ import annotations


def cut_text(raw: bytes, text_bytes: int, whole_bytes: int | None = None) -> str:
    """At most `text_bytes` of a text, cut between characters, with a mark that says how long it is.

    Bytes that are not UTF-8 become U+FFFD: the connection asks for UTF-8, and data that breaks it
    must not break the result.

    Args:
        raw: the text, or as much of it as the server sent.
        text_bytes: UTF-8 bytes to keep.
        whole_bytes: how long the text is where `raw` is only its beginning.
    """
    whole = len(raw) if whole_bytes is None else whole_bytes
    if whole <= text_bytes:
        return raw.decode("utf-8", "replace")
    kept = raw[:text_bytes]
    # step back over the continuation bytes of a character that the cut would split
    while kept and len(kept) < len(raw) and raw[len(kept)] & 0xC0 == 0x80:
        kept = kept[:-1]
    return f"{kept.decode('utf-8', 'replace')}…[cut: {len(kept)} of {whole} bytes]"


def unique_labels(names: list[tuple[str, str]]) -> list[str]:
    """Labels for `(table, column)` pairs: a repeated name gets its table, then a number."""
    labels: list[str] = []
    for table, name in names:
        label = name
        if label in labels and table:
            label = f"{table}.{name}"
        number = 2
        while label in labels:
            label = f"{name} ({number})"
            number += 1
        labels.append(label)
    return labels


def words(text: str) -> frozenset[str]:
    """The words of a text: how long lists are written."""
    return frozenset(text.split())
