"""Secrets that get out: in what is logged while a tool is checked."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class LoggedSecrets(logging.Handler):
    """Remembers which loggers wrote a secret, never what they wrote.

    Attributes:
        found: `logger (LEVEL)` of each record that held one, in order, once each.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__(logging.DEBUG)
        self._secrets = secrets
        self.found: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Look at the record with its traceback."""
        try:
            text = self.format(record)
        except Exception:  # noqa: BLE001 - arguments that do not fit their message
            text = f"{record.msg} {record.args}"
        if holds_secret(text, self._secrets):
            self.found[f"{record.name} ({record.levelname})"] = None


def holds_secret(text: str, secrets: Sequence[str]) -> bool:
    """Whether one of the secrets stands in the text."""
    return any(secret in text for secret in secrets)


@contextmanager
def watched_logs(secrets: Sequence[str]) -> Iterator[LoggedSecrets]:
    """Watch every logger, whatever its level, as long as there are secrets to look for."""
    handler = LoggedSecrets(secrets)
    root = logging.getLogger()
    level = root.level
    if secrets:
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
    try:
        yield handler
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
