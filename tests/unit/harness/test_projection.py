"""What the model is shown of a result: whitelisted, redacted, within its bytes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from diagnosis.contracts.evidence import EvidenceItem, EvidenceResult, EvidenceStatus, Truncation
from diagnosis.harness.projection import Projection, project


def item(number: int, **fields: Any) -> EvidenceItem:
    return EvidenceItem(identity=f"identity-{number}", fields={"line": number, **fields})


def result(*items: EvidenceItem, **changes: Any) -> EvidenceResult:
    return EvidenceResult(items=items, **{"scope": {"source": "app.log"}, **changes})


def smuggled(fields: Any, scope: Any = None) -> EvidenceResult:
    """A result that validation never saw."""
    broken = EvidenceItem.model_construct(identity="x", fields=fields)
    return EvidenceResult.model_construct(
        items=(broken,), scope={} if scope is None else scope, matched=None, truncated=None
    )


def shown(projection: Projection, limit: int) -> dict[str, Any]:
    assert len(projection.text.encode()) <= limit
    document = json.loads(projection.text)
    assert isinstance(document, dict)
    return document


def test_the_exact_text_of_a_result() -> None:
    projection = project(
        result(item(1, text="disk é full"), item(2, text="密码：abc123")),
        tool_call_id="call-1",
        limit=1_024,
    )
    assert projection.text == (
        '{"tool_call_id":"call-1","evidence_status":"EVIDENCE_FOUND","scope":{"source":"app.log"},'
        '"items":[{"line":1,"text":"disk é full"},{"line":2,"text":"密码：[REDACTED:password]"}],'
        '"matched":2,"shown":2,"truncated":null}'
    )
    assert projection.evidence_status is EvidenceStatus.EVIDENCE_FOUND


def test_no_items_are_no_evidence() -> None:
    projection = project(result(), tool_call_id="c", limit=1_024, stop_required=True)
    assert projection.text == (
        '{"tool_call_id":"c","evidence_status":"NO_EVIDENCE","scope":{"source":"app.log"},'
        '"items":[],"matched":0,"shown":0,"truncated":null,"signal":"STOP_REQUIRED"}'
    )
    assert projection == Projection(projection.text, 0, 0, None, EvidenceStatus.NO_EVIDENCE)


def test_an_identity_is_never_shown() -> None:
    for limit in (1_024, 100_000):
        text = project(
            result(*(item(n, text="x" * 100) for n in range(50))), tool_call_id="c", limit=limit
        ).text
        assert "identity" not in text


def test_items_are_kept_whole_from_the_front() -> None:
    items = [item(n, text="x" * 100) for n in range(50)]
    document = shown(project(result(*items), tool_call_id="c", limit=2_000), 2_000)
    assert document["items"] == [dict(i.fields) for i in items[: document["shown"]]]
    assert 10 <= document["shown"] < 50
    assert (document["matched"], document["truncated"]) == (50, "BYTES")


def test_everything_that_fits_to_the_byte_is_shown() -> None:
    items = [item(n, text="x" * 100) for n in range(50)]
    whole = project(result(*items), tool_call_id="c", limit=100_000)
    exact = len(whole.text.encode())
    assert project(result(*items), tool_call_id="c", limit=exact) == whole
    less = project(result(*items), tool_call_id="c", limit=exact - 1)
    assert (less.shown, less.truncated) == (49, Truncation.BYTES)


@pytest.mark.parametrize("own", [None, Truncation.ITEMS, Truncation.SCAN])
def test_what_the_tool_says_of_its_limits_stays_unless_bytes_cut_more(
    own: Truncation | None,
) -> None:
    items = [item(n, text="x" * 100) for n in range(50)]
    whole = project(result(*items, truncated=own, matched=70), tool_call_id="c", limit=99_999)
    assert (whole.truncated, whole.matched, whole.shown) == (own, 70, 50)
    less = project(result(*items, truncated=own, matched=70), tool_call_id="c", limit=2_000)
    assert less.truncated is (Truncation.SCAN if own is Truncation.SCAN else Truncation.BYTES)
    assert less.matched == 70


def test_how_many_match_is_unknown_where_the_tool_left_some_out_without_counting() -> None:
    assert project(result(item(1)), tool_call_id="c", limit=1_024).matched == 1
    for own in (Truncation.ITEMS, Truncation.SCAN):
        projection = project(result(item(1), truncated=own), tool_call_id="c", limit=1_024)
        assert projection.matched is None
        assert shown(projection, 1_024)["matched"] is None


def test_the_first_item_is_shown_even_where_it_must_be_cut() -> None:
    big = item(1, level="ERROR", text="x" * 5_000, host="web-1")
    document = shown(project(result(big, item(2)), tool_call_id="c", limit=1_024), 1_024)
    (only,) = document["items"]
    text = only.pop("text")
    assert only == {"line": 1, "level": "ERROR", "host": "web-1"}
    kept, mark = text.rstrip("]").split("…[")
    assert mark == f"{5_000 - len(kept):,} bytes cut"
    assert set(kept) == {"x"}
    assert len(kept) > 500
    assert (document["shown"], document["truncated"]) == (1, "BYTES")


def test_only_the_longest_strings_are_cut() -> None:
    big = item(1, a="a" * 3_000, b="b" * 100, c="c" * 3_000)
    (only,) = shown(project(result(big), tool_call_id="c", limit=1_024), 1_024)["items"]
    assert only["b"] == "b" * 100
    assert abs(only["a"].count("a") - only["c"].count("c")) <= 1
    assert "bytes cut]" in only["a"]


@pytest.mark.parametrize("character", ["密", "é", "😀", '"', "\\", "\n", "\x01"])
def test_a_character_is_never_cut_in_two(character: str) -> None:
    for limit in range(1_024, 1_060):
        projection = project(result(item(1, text=character * 9_999)), tool_call_id="c", limit=limit)
        (only,) = shown(projection, limit)["items"]
        kept, mark = only["text"].split("…[")
        assert set(kept) == {character}
        left_out = 9_999 * len(character.encode()) - len(kept.encode())
        assert mark == f"{left_out:,} bytes cut]"
        assert len(projection.text.encode()) > limit - 16  # room is used


PATHOLOGICAL: list[dict[str, Any]] = [
    {f"field{n}": n for n in range(10_000)},
    {f"field{n}": "x" * 50 for n in range(10_000)},
    {"x" * 5_000: "a", "x" * 5_000 + "y": "b"},
    {"rows": [[n] for n in range(100_000)]},
    {"rows": ["y" * 2_000] * 500},
    {"a": {"b": {"c": {"d": [{"e": "x" * 9_000}] * 40}}}},
    {f"k{n}": {f"k{m}": "v" * 40 for m in range(30)} for n in range(30)},
    {"\n" * 300 + str(n): "\x00" * 300 for n in range(30)},
    {"n": 10**3_000},
    {"deep": [[[[[[[[[[[[[[[[[["x" * 5_000]]]]]]]]]]]]]]]]]]},
]


@pytest.mark.parametrize("fields", PATHOLOGICAL, ids=range(len(PATHOLOGICAL)))
@pytest.mark.parametrize("limit", [1_024, 1_500, 4_096, 16_384])
def test_a_pathological_item_or_scope_is_bounded_too(fields: dict[str, Any], limit: int) -> None:
    for pathological in (
        EvidenceResult(items=(EvidenceItem(identity="x", fields=fields),), scope={"a": 1}),
        EvidenceResult(items=(EvidenceItem(identity="x", fields={"a": 1}),), scope=fields),
        EvidenceResult(items=(EvidenceItem(identity="x", fields=fields),), scope=fields),
    ):
        projection = project(pathological, tool_call_id="c" * 60, limit=limit)
        document = shown(projection, limit)
        assert document["shown"] == len(document["items"]) == 1
        cut = document["items"][0] != pathological.items[0].fields
        cut |= document["scope"] != pathological.scope
        assert document["truncated"] == ("BYTES" if cut else None)
        assert ("cut]" in projection.text) is cut


def test_deep_nesting_is_cut() -> None:
    deep: Any = "x"
    for _ in range(150):
        deep = [deep]
    document = shown(project(result(item(1, deep=deep)), tool_call_id="c", limit=4_096), 4_096)
    assert document["items"][0]["line"] == 1
    assert document["truncated"] == "BYTES"


def test_an_oversized_scope_leaves_three_quarters_to_the_items() -> None:
    items = [item(n, text="x" * 80) for n in range(100)]
    big = result(*items, scope={"sql": "s" * 50_000})
    document = shown(project(big, tool_call_id="c", limit=8_000), 8_000)
    assert len(json.dumps(document["items"], separators=(",", ":"))) > 5_500
    assert document["scope"]["sql"].endswith("bytes cut]")
    assert document["truncated"] == "BYTES"


def test_an_oversized_scope_takes_the_room_that_few_items_leave() -> None:
    scope = {"sql": "s" * 5_000}
    document = shown(project(result(item(1), scope=scope), tool_call_id="c", limit=8_000), 8_000)
    assert document["scope"] == scope
    assert document["truncated"] is None
    document = shown(project(result(item(1), scope=scope), tool_call_id="c", limit=4_000), 4_000)
    assert len(document["scope"]["sql"]) > 3_500


def test_secrets_in_the_scope_are_masked() -> None:
    projection = project(
        result(scope={"sql": "select password='hunter2'", "token": "abc"}),
        tool_call_id="c",
        limit=1_024,
    )
    assert shown(projection, 1_024)["scope"] == {
        "sql": "select password='[REDACTED:password]'",
        "token": "[REDACTED:api_token]",
    }


def test_a_key_spread_over_items_is_masked() -> None:
    lines = [
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADAN" * 5,
        "c2VjcmV0",
        "-----END PRIVATE KEY-----",
    ]
    items = [item(n, text=text) for n, text in enumerate([*lines, "after"])]
    document = shown(project(result(*items), tool_call_id="c", limit=4_096), 4_096)
    assert [i["text"] for i in document["items"]] == ["[REDACTED:private_key]"] * 4 + ["after"]


def test_items_that_shrink_when_masked_make_room_for_more() -> None:
    items = [item(n, text="password=" + "s" * 500) for n in range(20)]
    assert project(result(*items), tool_call_id="c", limit=2_000).shown == 20


@pytest.mark.parametrize(
    "value",
    [
        float("nan"), float("inf"), -float("inf"), {"x": [float("nan")]}, object(), b"bytes",
        {"x": (1, 2)}, {1, 2}, {1: "x"}, {"x": {None: 1}}, "lone \ud800 surrogate",
        {"x": ["\udfff"]}, {"\ud800": 1},
    ],
    ids=lambda value: "object" if type(value) is object else repr(value),
)  # fmt: skip
@pytest.mark.parametrize("padding", [0, 3_000, 200_000])
def test_what_is_not_json_is_refused(value: Any, padding: int) -> None:
    for broken in (
        smuggled({"value": value, "padding": "x" * padding}),
        smuggled({"padding": "x" * padding, "value": value}),
        smuggled({}, scope={"value": value, "padding": "x" * padding}),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - which of them is the caller's to ignore
            project(broken, tool_call_id="c", limit=1_024)


def test_a_value_that_holds_itself_is_refused() -> None:
    rows: list[Any] = []
    rows.append(rows)
    with pytest.raises(ValueError, match="holds itself"):
        project(smuggled({"rows": rows}), tool_call_id="c", limit=1_024)


def test_an_id_that_leaves_no_room_is_refused() -> None:
    assert shown(project(result(item(1)), tool_call_id="c" * 300, limit=1_024), 1_024)
    with pytest.raises(ValueError, match="id of the call"):
        project(result(item(1)), tool_call_id="c" * 1_000, limit=1_024)


def seconds(evidence: EvidenceResult) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        project(evidence, tool_call_id="c", limit=16_384)
        best = min(best, time.process_time() - started)
    return best


def test_the_work_does_not_grow_with_what_cannot_be_shown() -> None:
    text = "INFO request took 12 ms password=hunter2\n"
    for small, large in (
        (result(item(1, text=text * 1_000)), result(item(1, text=text * 125_000))),
        (
            result(*(item(n, text=text) for n in range(1_000))),
            result(*(item(n, text=text) for n in range(60_000))),
        ),
        (result(item(1, rows=[text] * 1_000)), result(item(1, rows=[text] * 100_000))),
    ):
        assert seconds(large) <= 4 * seconds(small) + 0.01


def test_five_megabytes_say_what_was_left_out() -> None:
    big = item(1, text="INFO all is well\n" * 300_000)
    document = shown(project(result(big), tool_call_id="c", limit=16_384), 16_384)
    text = document["items"][0]["text"]
    kept, mark = text.split("…[")
    assert mark == f"{5_100_000 - len(kept):,} bytes cut]"
    assert document["truncated"] == "BYTES"


def test_five_megabytes_of_secret_are_one_mask_and_nothing_is_left_out() -> None:
    projection = project(result(item(1, password="x" * 5_000_000)), tool_call_id="c", limit=1_024)
    assert shown(projection, 1_024)["items"] == [{"line": 1, "password": "[REDACTED:password]"}]
    assert projection.truncated is None
