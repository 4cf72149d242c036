"""Redaction: what looks like a secret becomes `[REDACTED:kind]` before anyone else sees it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pydantic import JsonValue

from diagnosis.harness.redaction_keys import PrivateKeyMasker
from diagnosis.harness.redaction_names import MASK, Named, named_secret
from diagnosis.harness.redaction_pairs import paired
from diagnosis.harness.redaction_patterns import RULES, Rule, apply, mask


def redact_text(text: str) -> str:
    """Mask every secret in a text. Redacting twice changes nothing more; never raises."""
    return apply(PrivateKeyMasker().mask(text))


def redact_value(value: JsonValue, *, key: str | None = None) -> JsonValue:
    """Mask every secret in a JSON value.

    Args:
        value: any JSON value; it is not changed.
        key: the name it stands under; one that names a secret masks the whole value.
    """
    return ItemRedactor().value(value, key)


class ItemRedactor:
    """Redacts the items of one result in order.

    A private key may be spread over several lines, and so over several items: the state of an
    unfinished key is kept for each field's name.
    """

    def __init__(self) -> None:
        self._rules: Sequence[Rule] = RULES
        self._keys: dict[str, PrivateKeyMasker] = {}

    @property
    def inside_key(self) -> bool:
        """Whether a private key has begun in an earlier item and not ended."""
        return any(masker.inside for masker in self._keys.values())

    def fields(
        self, fields: dict[str, JsonValue], rules: Sequence[Rule] = RULES
    ) -> dict[str, JsonValue]:
        """The fields of the next item with their secrets masked.

        Args:
            fields: what the model may see of the item; not changed.
            rules: those that may find something in it, where that is known (see `hinted`).
        """
        self._rules = rules
        return self._members(fields)

    def value(self, value: JsonValue, key: str | None = None) -> JsonValue:
        """One value of the next item, and the name it stands under."""
        masked = named_mask(key, value) if key else None
        if masked is not None:
            return masked
        if isinstance(value, str):
            return self._text(value, key or "")
        if isinstance(value, dict):
            return self._members(value)
        if isinstance(value, list):
            return [self.value(inner, key) for inner in value]
        return value

    def _members(self, members: dict[str, JsonValue]) -> dict[str, JsonValue]:
        secret = paired(members)
        return {
            self.name(name): mask(secret[name]) if name in secret else self.value(inner, name)
            for name, inner in members.items()
        }

    def name(self, name: str) -> str:
        """A field's name, which may itself hold a secret."""
        if name.isidentifier():
            return name
        return apply(PrivateKeyMasker().mask(name), self._rules)

    def _text(self, text: str, key: str) -> str:
        masker = self._keys.get(key)
        if masker is None and "PRIVATE KEY" in text:
            masker = self._keys[key] = PrivateKeyMasker()
        return apply(masker.mask(text) if masker else text, self._rules)


def named_mask(key: str, value: JsonValue) -> str | None:
    """What stands for the whole value of a name that names a secret; None where it names none.

    Nothing, yes and no, and numbers under an ordinary word ("token": 3) are no secrets.
    """
    named = _named(key)
    if named is None or value is None or isinstance(value, bool) or value == "":
        return None
    if isinstance(value, int | float) and named.weak:
        return None
    if isinstance(value, str) and MASK.fullmatch(value):
        return value
    return mask(named.kind)


@lru_cache(maxsize=1024)
def _named(key: str) -> Named | None:
    return named_secret(key[-64:])
