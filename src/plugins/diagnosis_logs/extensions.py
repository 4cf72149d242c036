"""Lines of CEF and LEEF that no other head stands before: pipes, and then pairs.

Sources: ArcSight Common Event Format, version 26; IBM QRadar LEEF, versions 1.0 and 2.0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnosis_logs.levels import level_of_severity
from diagnosis_logs.structured import Fields

_HEAD = re.compile(r"(?:CEF:\d{1,2}|LEEF:\d\.\d)\|")
_PART = re.compile(r"((?:[^|\\]|\\.)*+)\|")
_KEY = re.compile(r"(?:\A|(?<=\s))([A-Za-z][\w.\[\]]{0,63})=")
_ESCAPE = re.compile(r"\\([\\|=])")
_CEF_PARTS = ("deviceVendor", "deviceProduct", "deviceVersion", "signatureId", "name", "severity")
_LEEF_PARTS = ("deviceVendor", "deviceProduct", "deviceVersion", "signatureId")
_DELIMITER = re.compile(r"(?:([^|\s])|(?:0?x)([0-9A-Fa-f]{2,4}))\|")
_MOST_CHARACTERS = 16_384


class ExtensionRows:
    """Reads such lines as a table's rows are read."""

    utc = False

    def fields(self, row: str) -> Fields | None:
        """The head's parts and the pairs of a line; None for another line."""
        head = _HEAD.match(row)
        if head is None:
            return None
        row = row[:_MOST_CHARACTERS]
        cef = row.startswith("CEF")
        fields: Fields = {}
        at = head.end()
        for name in _CEF_PARTS if cef else _LEEF_PARTS:
            part = _PART.match(row, at)
            if part is None:
                return None
            fields[name] = _ESCAPE.sub(r"\1", part[1])
            at = part.end()
        pairs = _cef_pairs(row[at:]) if cef else _leef_pairs(row, at, row.startswith("LEEF:2"))
        for key, value in pairs.items():
            fields.setdefault(key, value)
        severity = str(fields.pop("sev" if not cef else "severity", ""))
        if (level := level_of_severity(severity)) is not None:
            fields["level"] = level.name
        if said := fields.pop("msg", None) or fields.get("name"):
            fields["message"] = said
        return fields


def _cef_pairs(text: str) -> Fields:
    """Pairs with spaces between, whose values may hold spaces as well."""
    found = list(_KEY.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    return {
        each[1]: _ESCAPE.sub(r"\1", text[each.end() : end]).strip()
        for each, end in zip(found, ends, strict=True)
    }


def _leef_pairs(row: str, at: int, delimited: bool) -> Fields:
    mark = "\t"
    if delimited and (found := _DELIMITER.match(row, at)):
        mark = found[1] or chr(int(found[2], 16))
        at = found.end()
    pairs = (pair.partition("=") for pair in row[at:].split(mark))
    return {key.strip(): value.strip() for key, _, value in pairs if key.strip() and value}


def learn_extensions(lines: Sequence[str]) -> ExtensionRows | None:
    """A reader, where most of a sample's lines are such."""
    begun = sum(_HEAD.match(line) is not None for line in lines)
    return ExtensionRows() if 2 * begun > len(lines) else None
