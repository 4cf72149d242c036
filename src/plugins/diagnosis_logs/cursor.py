"""The opaque cursor: where a listing stopped, bound to the request it belongs to."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json

from diagnosis.plugin import QueryRejected, QueryRejection
from diagnosis_logs.request import LogQuery, Window

# The order of an item among all items of a request; unique.
SortKey = tuple[int | str, ...]


def write_cursor(request: LogQuery, window: Window, key: SortKey) -> str:
    """A cursor that goes on after the item with this key."""
    body = json.dumps([_digest(request, window), *key], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")


def read_cursor(request: LogQuery, window: Window, shape: tuple[type, ...]) -> SortKey | None:
    """The key to go on after; None where the request has no cursor.

    Args:
        request: with its cursor.
        window: the effective one.
        shape: the types of a key in the request's mode.

    Raises:
        QueryRejected: CURSOR_INVALID, where it is damaged or belongs to another request.
    """
    if request.cursor is None:
        return None
    try:
        padded = request.cursor.strip() + "=" * (-len(request.cursor.strip()) % 4)
        body = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError) as error:
        raise QueryRejected(QueryRejection.CURSOR_INVALID) from error
    if (
        not isinstance(body, list)
        or len(body) != len(shape) + 1
        or body[0] != _digest(request, window)
        or any(type(part) is not kind for part, kind in zip(body[1:], shape, strict=True))
    ):
        raise QueryRejected(QueryRejection.CURSOR_INVALID)
    return tuple(body[1:])


def _digest(request: LogQuery, window: Window) -> str:
    # the limit and the context may change from page to page
    filters = request.model_dump(exclude={"cursor", "limit", "context_lines", "start", "end"})
    text = json.dumps([filters, window.start, window.end], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
