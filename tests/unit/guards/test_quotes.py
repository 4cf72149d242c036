"""What counts as a quote of a result, asked of the guard itself."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from diagnosis.guards.evidence_guard import check_draft
from diagnosis.guards.grounding import is_long_enough, normalise

CanQuote = Callable[[Sequence[Any], str], bool]

LINE = "Connection is not available, request timed out after 30000ms"
CHINESE = "库存服务连接池已耗尽，等待 30000 毫秒后超时"


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        (LINE, LINE),
        (LINE, "request timed out"),
        (LINE, "est timed out after 3"),
        (LINE, "  Connection is not available,\n request  timed out "),
        ("a\ttab and\r\n  a line\u00a0end", "a tab and a line end"),
        (CHINESE, CHINESE),
        (CHINESE, "等待30000毫秒后超时"),
        (CHINESE, "库存 服务 连接池 已耗尽"),
        (CHINESE, "连接池已耗尽,等待"),
        (CHINESE, "连接池已耗尽， 等待"),
        ("库存服务连接池已耗尽,等待30000毫秒", "已耗尽， 等待 30000 毫秒"),
        ("서버 연결이 끊어졌습니다", "서버 연결이 끊어졌습니다"),
        ("接続プールが枯渇しました", "プールが枯渇し"),
        ("HTTP 503 from payment-gateway", "ＨＴＴＰ ５０３ ｆｒｏｍ ｐａｙｍｅｎｔ"),
        ("ＨＴＴＰ　５０３　ｆｒｏｍ　ｐａｙｍｅｎｔ", "HTTP 503 from payment"),
        ('parameter "timeout" is unknown', "parameter “timeout” is unknown"),
        ("parameter ‘timeout’ is unknown", "parameter 'timeout' is unknown"),
        ("parameter 'timeout' is unknown", 'parameter "timeout" is unknown'),
        ("参数「timeout」无法识别", "参数“timeout”无法识别"),
        ("参数『timeout』 无法识别", "参数｢timeout｣无法识别"),
        ("paramètre «timeout» inconnu", 'paramètre "timeout" inconnu'),
        ("paramètre ‹timeout› inconnu", 'paramètre "timeout" inconnu'),
        ("retry — then fail over", "retry - then fail over"),
        ("retry -- then fail over", "retry – then fail over"),
        ("offset −5 is negative", "offset -5 is negative"),
        ("started with --max-wait=5", "started with -max-wait=5"),
        ("请求超时——已经重试三次", "请求超时-已经重试三次"),
        ("----- BEGIN TRACE -----", "- BEGIN TRACE -"),
        ("waiting… still nothing", "waiting... still nothing"),
        ("cafe\u0301 is unreachable", "caf\u00e9 is unreachable"),
    ],
)
def test_a_passage_is_found_whatever_its_spaces_marks_and_widths(
    can_quote: CanQuote, value: str, quote: str
) -> None:
    assert can_quote([{"message": value}], quote)


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        pytest.param(LINE, "connection is not available", id="letter case counts"),
        pytest.param(LINE, "Connection is ... timed out", id="no ellipsis jump"),
        pytest.param(LINE, "Connection is … timed out", id="no ellipsis character either"),
        pytest.param(LINE, "Connection was not available", id="no rewording"),
        pytest.param(LINE, "request timed out after 3000ms", id="a number with a digit less"),
        pytest.param(LINE, "requesttimed out after", id="spaces count between Latin letters"),
        pytest.param(CHINESE, "连接池已耗尽等待30000毫秒", id="punctuation counts"),
        pytest.param(CHINESE, "库存服务……后超时", id="no ellipsis jump in Chinese"),
        pytest.param("retry - then fail over", "retry then fail over", id="dashes count"),
        pytest.param('parameter "timeout" is bad', "parameter timeout is bad", id="marks count"),
        pytest.param(LINE, "", id="nothing"),
        pytest.param(LINE, " \n\t ", id="white space only"),
    ],
)
def test_anything_but_the_passage_is_refused(can_quote: CanQuote, value: str, quote: str) -> None:
    assert not can_quote([{"message": value}], quote)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("request tim", False),  # 11 characters
        ("request time", True),  # 12
        ("request  tim", False),  # 12 before normalisation
        ("request tim ", False),
    ],
)
def test_twelve_characters_are_enough(can_quote: CanQuote, quote: str, found: bool) -> None:
    assert can_quote([{"message": LINE}], quote) is found


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("连接池已耗", False),  # 5
        ("连接池已耗尽", True),  # 6
        ("连 接 池 已 耗", False),  # spaces are no characters here
        ("Redis连接池已耗", True),  # half of ten
        ("Redis连接池", False),  # three of eight
    ],
)
def test_six_characters_are_enough_where_half_are_chinese(
    can_quote: CanQuote, quote: str, found: bool
) -> None:
    assert can_quote([{"message": "服务 Redis 连接池已耗尽"}], quote) is found


@pytest.mark.parametrize(
    ("value", "quote", "found"),
    [
        ("ERROR", "ERROR", True),
        ("ERROR", "error", False),
        ("ERROR", "ERR", False),
        ("ERROR", '"ERROR"', True),
        ("ERROR", '"ERR"', False),
        (" ERROR\n", "ERROR", True),
        ("超时", "超时", True),
        ("超时了", "超时", False),
        (503, "503", True),
        (503, "５０３", True),
        (503, "50", False),
        (503, '"503"', False),
        (1.50, "1.5", True),
        (-2, "-2", True),
        (1503, "503", False),
        (10**30, str(10**30), True),
        (True, "true", True),
        (True, "True", False),
        (False, "false", True),
        (None, "null", False),
        ("", "", False),
        ("", '""', False),
        ({"http": {"codes": [200, 503]}}, "503", True),
        ({"http": {"codes": [200, 503]}}, "200503", False),
        ({"http": {"text": "Bad"}}, "Bad", True),
        ({"Bad": {"text": "Gateway"}}, "Bad", False),
    ],
)
def test_a_short_quote_must_be_a_whole_value(
    can_quote: CanQuote, value: Any, quote: str, found: bool
) -> None:
    assert can_quote([{"field": value}], quote) is found


def test_a_number_is_quoted_in_the_digits_that_were_shown(
    statement: Any, draft: Any, record: Any, projection: Any, run_id: str
) -> None:
    shown = projection("call", [{"ratio": 7}]).replace(":7}", ":1.50}")
    invocations = [record("call", [{"ratio": 7}], projection=shown)]

    def accepted(quote: str) -> bool:
        judged = draft(statement("OBSERVATION", ["call"], [("call", quote)]))
        return check_draft(judged, invocations, run_id=run_id).accepted

    assert accepted("1.50")
    assert not accepted("1.5")


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ('{"level":"ERROR","message":"pool \\"main\\" is', True),  # the JSON text
        ('"level":"ERROR"', True),
        ('pool \\"main\\" is\\nexhausted', True),  # the value as JSON writes it
        ('pool "main" is\nexhausted', True),  # the value itself
        ("pool 'main' is exhausted", True),
        ('pool "main" is\\nexhausted', False),  # half of the one, half of the other
        ('"level": "ERROR"', False),  # spaces that were not shown
        ("ERROR pool main", False),
        ('ERROR pool "main" is', False),  # across two fields
        ('ERROR\npool "main" is exhausted', False),
        ('ERRORpool "main" is', False),
    ],
)
def test_a_quote_is_a_piece_of_the_value_or_of_the_json_text(
    can_quote: CanQuote, quote: str, found: bool
) -> None:
    items = [{"level": "ERROR", "message": 'pool "main" is\nexhausted'}]
    assert can_quote(items, quote) is found


@pytest.mark.parametrize(
    "quote",
    [
        "first line of the first second line of the other",
        'of the first"},{"message":"second line',
        "of the first\x00second line",
        '}{"message":',
    ],
)
def test_a_quote_never_reaches_into_the_next_item(can_quote: CanQuote, quote: str) -> None:
    items = [
        {"message": "first line of the first"},
        {"message": "second line of the other"},
    ]
    assert can_quote(items, "second line of the other")
    assert not can_quote(items, quote)


def test_only_items_can_be_quoted(can_quote: CanQuote) -> None:
    assert not can_quote([{"message": LINE}], "checkout.log")  # stands in the scope
    assert not can_quote([{"message": LINE}], '"evidence_status":"EVIDENCE_FOUND"')


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("login of user deploy", True),
        ("from address 10.0.0.7", True),
        ("password=[REDACTED:password] from", False),
        ("[REDACTED:password]", False),
        ("［REDACTED:password］", False),
        ("REDACTED:password", False),
        ("with password=[REDACT", False),
        ("password] from address", False),
        ("with password=", True),
        ("with password= from address", False),
    ],
)
def test_a_mark_of_redaction_is_never_quoted(can_quote: CanQuote, quote: str, found: bool) -> None:
    message = "login of user deploy with password=[REDACTED:password] from address 10.0.0.7"
    assert can_quote([{"message": message}], quote) is found


def test_a_masked_value_is_no_whole_value(can_quote: CanQuote) -> None:
    items = [{"password": "[REDACTED:password]", "user": "x[REDACTED:api_token]ab"}]
    for quote in ("[REDACTED:password]", "REDACTED", "x", "ab", "x[REDACTED:api_token]ab"):
        assert not can_quote(items, quote)


def test_the_words_of_a_mark_may_be_quoted_where_they_are_no_mark(can_quote: CanQuote) -> None:
    assert can_quote([{"message": "wrote REDACTED:password instead"}], "REDACTED:password")


def test_a_nul_in_the_evidence_is_a_character_like_any_other(can_quote: CanQuote) -> None:
    items = [{"message": "before the\x00after the nul"}]
    assert can_quote(items, "before the\x00after the nul")
    assert not can_quote(items, "before the")  # short, and no whole value


_CHARACTERS = st.sampled_from("ab \t\n-—“'\"\\错误超时，。「」Ａé１０[]{}:,") | st.characters(
    codec="utf-8"
)
_TEXT = st.text(_CHARACTERS, min_size=1, max_size=30)
_LONG_TEXT = st.text(_CHARACTERS, min_size=20, max_size=40)


def _joins_cleanly(before: str, after: str) -> bool:
    """Whether no character of the one composes with the other: NFKC then splits there too."""
    return unicodedata.normalize("NFKC", before + after) == unicodedata.normalize(
        "NFKC", before
    ) + unicodedata.normalize("NFKC", after)


@given(before=_TEXT, quote=_LONG_TEXT, after=_TEXT, other=_TEXT)
@example(before="a - ", quote="- 中 文 失 败 了 吗 --", after="-— b", other="c")
def test_every_long_enough_piece_of_a_value_is_found(
    can_quote: CanQuote, before: str, quote: str, after: str, other: str
) -> None:
    assume(_joins_cleanly(before, quote + after))
    assume(_joins_cleanly(before + quote, after))
    assume(is_long_enough(normalise(quote)))
    items = [{"first": other}, {"second": {"nested": [before + quote + after]}}]
    assert can_quote(items, quote)


@given(st.lists(_TEXT, min_size=1, max_size=4))
def test_every_whole_value_and_every_whole_item_is_found(
    can_quote: CanQuote, values: list[str]
) -> None:
    items = [{"value": value} for value in values]
    for item in items:
        if normalise(item["value"]):
            assert can_quote(items, item["value"])
        assert can_quote(items, json.dumps(item, ensure_ascii=False, separators=(",", ":")))


@given(_TEXT, st.data())
def test_one_character_that_is_not_in_the_evidence_spoils_a_quote(
    can_quote: CanQuote, value: str, data: st.DataObject
) -> None:
    assume("☃" not in value)
    at = data.draw(st.integers(0, len(value) - 1))
    assert not can_quote([{"value": value}], value[:at] + "☃" + value[at + 1 :])


@given(_TEXT)
def test_normalising_leaves_nothing_that_the_rules_remove(text: str) -> None:
    result = normalise(text)
    assert result == result.strip()
    assert "  " not in result
    assert "--" not in result
    assert not set(result) & set("'‘’“”„«»‹›「」『』‐–—−\t\n\u3000")
