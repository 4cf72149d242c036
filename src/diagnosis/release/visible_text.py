"""Text from logs, documents and models, made fit to be shown: it cannot drive a terminal."""

from __future__ import annotations

import re

# control characters but line end and tab, and those that turn the direction of writing around
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with a replacement character for each one that is not shown but acted upon."""
    return INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", text)
