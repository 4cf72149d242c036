"""Whatever a tool brings back: the bound holds, the text is JSON, and no secret is seen."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from diagnosis.contracts.evidence import EvidenceItem, EvidenceResult, Truncation
from diagnosis.harness.projection import project
from diagnosis.harness.redaction import ItemRedactor

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
LIMITS = st.integers(1_024, 20_000)

texts = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["password=hunter2", "密码：abc123", "https://a:b@c/", "😀" * 40, "x" * 700, "\x00" * 99]
    ),
    st.builds(
        lambda unit, count: unit * count, st.text(min_size=1, max_size=5), st.integers(0, 3_000)
    ),
)
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(texts, inner, max_size=6)),
    max_leaves=12,
)
objects = st.dictionaries(st.one_of(st.text(max_size=12), texts), values, max_size=6)
truncations = st.sampled_from([None, *Truncation])


def evidence(
    items: list[dict[str, Any]], scope: dict[str, Any], truncated: Truncation | None
) -> EvidenceResult:
    return EvidenceResult(
        items=tuple(EvidenceItem(identity=f"i{n}", fields=f) for n, f in enumerate(items)),
        scope=scope,
        truncated=truncated,
    )


@settings(deadline=None)
@given(st.lists(objects, max_size=12), objects, truncations, LIMITS, st.booleans())
def test_the_bound_the_shape_and_the_counts(
    items: list[dict[str, Any]],
    scope: dict[str, Any],
    truncated: Truncation | None,
    limit: int,
    stop: bool,
) -> None:
    result = evidence(items, scope, truncated)
    projection = project(result, tool_call_id="call_1", limit=limit, stop_required=stop)
    assert len(projection.text.encode()) <= limit
    document = json.loads(projection.text)
    assert list(document) == [
        "tool_call_id", "evidence_status", "scope", "items", "matched", "shown", "truncated",
        *(["signal"] if stop else []),
    ]  # fmt: skip
    assert document["evidence_status"] == projection.evidence_status
    assert document["shown"] == projection.shown == len(document["items"])
    assert document["matched"] == projection.matched == (len(items) if truncated is None else None)
    assert document["truncated"] == projection.truncated
    assert (projection.shown > 0) is bool(items)

    redactor = ItemRedactor()
    redacted = [redactor.fields(fields) for fields in items]
    whole_scope = document["scope"] == ItemRedactor().fields(scope)
    prefix = document["items"] == redacted[: projection.shown]
    assert prefix or projection.shown == 1
    if prefix and projection.shown == len(items) and whole_scope:
        assert projection.truncated == truncated
    else:
        assert projection.truncated == (
            Truncation.SCAN if truncated is Truncation.SCAN else "BYTES"
        )
    again = project(result, tool_call_id="call_1", limit=limit, stop_required=stop)
    assert again == projection


secrets = st.text(LETTERS, min_size=24, max_size=40).filter(
    lambda s: any(c.isdigit() for c in s[:8]) and any(c.isalpha() for c in s[:8])
)
TEMPLATES = {
    "password": "login password={} ok",
    "password in JSON": r"{{\"password\":\"{}\"}}",
    "bearer_token": "Authorization: Bearer {}",
    "api_token": "got ghp_{} from x",
    "anthropic": "got sk-ant-api03-{} from x",
    "jwt": "got eyJhbGciOiJIUzI1NiJ9.eyJ{0}.{0} x",
    "cloud_key": "AccountKey={}==;x=1",
    "url_credentials": "redis://:{}@host:6379/0",
    "cookie": "Cookie: sid={}; a=b",
    "private_key": "-----BEGIN PRIVATE KEY-----\n{0}{0}\n{0}\n-----END PRIVATE KEY-----",
    "Chinese": "密码：{}，好",
    "query": "GET /a?sig={}&x=1",
}


@settings(deadline=None, max_examples=300)
@given(
    secrets,
    st.sampled_from(sorted(TEMPLATES)),
    st.integers(0, 21_000),
    st.integers(0, 30_000),
    LIMITS,
    st.sampled_from(["text", "rows", "nested", "scope", "name", "late item"]),
    st.sampled_from(["x ", "密 ", "😀 ", "INFO ok\n"]),
)
@example("A2" * 12, "jwt", 1_000, 9_000, 1_024, "text", "x ")
@example("A2" * 12, "private_key", 0, 0, 1_024, "name", "x ")
def test_no_part_of_a_secret_is_seen_at_any_cut(
    secret: str, kind: str, before: int, after: int, limit: int, place: str, noise: str
) -> None:
    planted = TEMPLATES[kind].format(secret)
    pad = noise * (before // len(noise))
    text = pad + " " + planted + " " + noise * (after // len(noise))
    fields: dict[str, Any] = {"text": text}
    scope: dict[str, Any] = {}
    items = [fields]
    match place:
        case "rows":
            items = [{"rows": ["a", text, "b"]}]
        case "nested":
            items = [{"a": {"b": [{"c": text}]}, "d": "x" * 400}]
        case "scope":
            items, scope = [{"a": 1}], {"sql": text}
        case "name":
            items = [{text: 1, "a": 2}]
        case "late item":
            items = [{"text": "y" * 90}] * 5 + [fields]
    assume(secret[:6] not in noise)
    projection = project(evidence(items, scope, None), tool_call_id="c", limit=limit)
    assert len(projection.text.encode()) <= limit
    assert secret[:6] not in projection.text
    assert secret[-6:] not in projection.text


@settings(deadline=None)
@given(
    secrets, st.sampled_from(sorted(TEMPLATES)), st.integers(-150, 20), st.integers(1_024, 4_096)
)
def test_no_part_of_a_secret_is_seen_where_a_huge_string_is_cut_before_it_is_redacted(
    secret: str, kind: str, offset: int, limit: int
) -> None:
    planted = TEMPLATES[kind].format(secret)
    for cut in (limit, limit - 300, limit // 2, 256, 128):
        text = "x " * ((cut + offset) // 2) + planted + " y" * 100_000
        projection = project(
            evidence([{"text": text, "a": 1}], {}, None), tool_call_id="c", limit=limit
        )
        assert secret[:4] not in projection.text
