"""How the offline rules read questions and log lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from diagnosis.agent.offline.changes import SEARCH_PATTERN, changes_before
from diagnosis.agent.offline.guidance import risk_of
from diagnosis.agent.offline.history import Observation
from diagnosis.agent.offline.leads import leads_of
from diagnosis.agent.offline.log_text import (
    message_of,
    quote_of,
    said,
    words_only,
)
from diagnosis.agent.offline.times import stated_onset, without_times
from diagnosis.agent.offline.words import Topic
from diagnosis.contracts.draft import ActionRisk

NOW = datetime(2026, 3, 12, 14, 45, tzinfo=timezone(timedelta(hours=1)))


# --- questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("why does mod_jk keep failing", ({"mod_jk"}, set(), set(), set())),
        ("What is wrong?", (set(), set(), set(), set())),
        ("The RM is not reachable", ({"RM"}, {"reachable"}, set(), set())),
        ("WHY DOES EVERYTHING FAIL", (set(), set(), set(), set())),
        ("why do ssh logins fail", (set(), {"ssh"}, set(), {"login"})),
        ("转账为什么一直失败？", (set(), set(), {"转账"}, set())),
        ("数据库连接超时", (set(), set(), set(), {"database", "connection", "timeout"})),
        ("OutOfMemoryError in worker", ({"OutOfMemoryError"}, {"worker"}, set(), {"memory"})),
    ],
)
def test_what_a_question_is_about(question: str, expected: tuple[set[str], ...]) -> None:
    topic = Topic.of(question)

    assert [topic.identifiers, topic.words, topic.pieces, topic.concepts] == list(expected)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("mod_jk fails", "mod_jk child in error state"),
        ("payment-gateway fails", "PAYMENT_GATEWAY not ready"),
        ("orders fail", "OrderRepository: gone"),
        ("ssh fails", "sshd[17]: refused"),
        ("logins fail", "authentication failure"),
        ("登录失败", "authentication failure"),
        ("why is the login broken", "用户登录被拒"),
        ("转账失败", "转账 7001 被拒绝"),
    ],
)
def test_a_text_that_speaks_of_the_question_matches(question: str, text: str) -> None:
    assert Topic.of(question).match(text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("mod_jk fails", "mod_jk2 child in error state"),
        ("orders fail", "the border was crossed: error"),
        ("RM fails", "the alarm failed"),
        ("转账失败", "登录失败"),
        ("why does it fail", "everything failed"),
    ],
)
def test_a_text_of_something_else_does_not_match(question: str, text: str) -> None:
    assert not Topic.of(question).match(text)


@pytest.mark.parametrize(
    ("question", "hour", "minute", "day"),
    [
        ("fails since about 14:30", 14, 30, 12),
        ("fails since 2:30 pm", 14, 30, 12),
        ("fails since 2pm", 14, 0, 12),
        ("broke at 23:10", 23, 10, 11),
        ("broke at 13:10 yesterday", 13, 10, 11),
        ("fails since 2026-03-12T13:05:00Z", 14, 5, 12),
        ("fails since 2026-03-11 13:05", 13, 5, 11),
        ("fails for the last 2 hours", 12, 45, 12),
        ("began 45 minutes ago", 14, 0, 12),
        ("14：30 左右开始失败", 14, 30, 12),
        ("下午2点半开始失败", 14, 30, 12),
        ("从14点20分开始失败", 14, 20, 12),
        ("最近30分钟失败", 14, 15, 12),
        ("昨天开始失败", 0, 0, 11),
    ],
)
def test_since_when_a_question_says_it_fails(
    question: str, hour: int, minute: int, day: int
) -> None:
    onset = stated_onset(question, NOW)

    assert onset is not None
    assert onset.at == datetime(2026, 3, day, hour, minute, tzinfo=NOW.tzinfo)


@pytest.mark.parametrize(
    "question", ["why does it fail", "host 10.0.0.1:8080 fails", "v2.10 fails", "code 99:99"]
)
def test_a_question_without_a_time_states_none(question: str) -> None:
    assert stated_onset(question, NOW) is None


def test_an_impossible_date_is_no_time() -> None:
    assert stated_onset("since 2026-13-45 10:00", NOW) is None


def test_times_are_not_taken_for_words() -> None:
    assert Topic.of(without_times("fails since 2026-03-12T13:05:00Z or 2pm")) == Topic.of("fails")


# --- log lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("2026-03-12T14:00:01.5+01:00 ERROR [exec-1] a.B - it broke", "a.B - it broke"),
        ("[Mon Dec 05 19:15:57 2005] [error] mod_jk child gone", "mod_jk child gone"),
        ("081109 203615 148 WARN dfs.DataNode: got exception", "dfs.DataNode: got exception"),
        ("Jun 14 15:16:01 combo sshd(pam_unix)[19939]: auth failure", "auth failure"),
        ('{"level": "ERROR", "msg": "no such host"}', "no such host"),
        ("just text", "just text"),
        ("2026-03-12T14:00:01Z ERROR boom\n  at a.B(C.java:1)", "boom"),
    ],
)
def test_what_a_record_says(record: str, message: str) -> None:
    assert message_of(record) == message


def test_a_quote_of_a_json_line_stands_in_it_character_for_character() -> None:
    for message in ('column "a_b" does not exist', "单笔限额解析失败了：值 \t 无效"):
        for ascii_only in (True, False):
            record = json.dumps({"level": "ERROR", "message": message}, ensure_ascii=ascii_only)
            quote = quote_of(record)

            assert quote is not None
            assert quote in record


def test_a_quote_never_spans_what_was_left_out() -> None:
    record = f"ERROR it began so [1,204 characters left out] {'and ended so ' * 3}"

    assert quote_of(record) == ("and ended so " * 3).strip()
    assert "left out" not in said(record)


def test_a_shortened_json_line_is_still_quoted() -> None:
    record = (
        '{"level": "ERROR", "message": "no such host here", "x": "aaa [99 characters left out] bb"'
    )

    assert said(record) == "no such host here"


def test_a_text_too_short_to_prove_anything_is_not_quoted() -> None:
    assert quote_of("ERROR boom") is None
    assert quote_of("ERROR 限额解析失败") == "限额解析失败"


def test_a_long_message_is_cut_between_words() -> None:
    text = said("ERROR " + "word " * 100)

    assert text.endswith("word …")
    assert len(text) < 210


def test_words_only_leaves_out_numbers_and_names() -> None:
    record = 'ERROR Order 17 refused by "limits" at /srv/a.py: rule_9 is missing'

    assert words_only(record) == "Order refused by limits at is missing"


# --- changes -------------------------------------------------------------------------------------


def overview(*lines: tuple[str, str, str, int, bool]) -> Observation:
    """Patterns as (first = last time, service, text, count, new)."""
    return Observation(
        tool_call_id="c",
        tool_name="query_logs",
        request={},
        judged=None,
        answer={
            "evidence_status": "EVIDENCE_FOUND",
            "scope": {"sources": [{"source": "all.log", "first": "2026-03-12T08:00:00+00:00"}]},
            "items": [
                {
                    "count": count,
                    "level": None,
                    "service": service,
                    "first": f"2026-03-12T{at}:00+00:00",
                    "last": f"2026-03-12T{at}:00+00:00",
                    "new_in_window": new,
                    "example": text,
                    "source": "all.log",
                    "line": 1,
                }
                for at, service, text, count, new in lines
            ],
        },
        response=0,
    )


ONSET = datetime(2026, 3, 12, 10, 0, tzinfo=UTC)
FAILURE = ("10:00", "shop", "ERROR cannot read key price.rounding of shop", 9, True)


@pytest.mark.parametrize(
    "text",
    [
        "Deployment of shop 2.0 finished",
        "rolled back to build 1187",
        "config price.rounding changed from up to down",
        "feature flag new-prices enabled",
        "certificate of the mail relay renewed",
        "ALTER TABLE prices ADD COLUMN x",
        "Restarting after update",
        "正在发布 2.0 版本",
        "配置已更新：price.rounding",
        "功能开关 new-prices 已打开",
    ],
)
def test_a_change_shortly_before_in_the_same_service_may_be_the_cause(text: str) -> None:
    (failure,) = leads_of(overview(FAILURE))
    changes = changes_before(failure, ONSET, leads_of(overview(("09:58", "shop", text, 1, True))))

    assert [change.may_be_cause for change in changes] == [True]


@pytest.mark.parametrize(
    ("at", "service", "text", "count", "new"),
    [
        ("09:20", "shop", "Deployment of shop 2.0 finished", 1, True),  # long before
        ("10:01", "shop", "Deployment of shop 2.0 finished", 1, True),  # after
        ("08:00", "shop", "Deployment of shop 2.0 finished", 1, True),  # the log begins with it
        ("09:58", "mail", "Deployment of mail 7.1 finished", 1, True),  # elsewhere, not named
        ("09:58", "shop", "configuration reloaded, no changes", 1, True),
        ("09:58", "shop", "配置检查完成，无变更", 1, True),
        ("09:58", "shop", "reservation expired, stock released", 1, True),
        ("09:58", "shop", "restarting worker 7", 1, False),  # happens anyway
        ("09:58", "shop", "GET /version 200", 1, True),
    ],
)
def test_what_is_no_change_or_has_nothing_to_do_with_it_is_not_blamed(
    at: str, service: str, text: str, count: int, new: bool
) -> None:
    (failure,) = leads_of(overview(FAILURE))

    changes = changes_before(failure, ONSET, leads_of(overview((at, service, text, count, new))))

    assert [change for change in changes if change.may_be_cause] == []


def test_a_change_elsewhere_counts_where_the_error_names_what_changed() -> None:
    (failure,) = leads_of(overview(FAILURE))
    elsewhere = overview(("09:58", "config-center", "config price.rounding changed", 1, True))

    (change,) = changes_before(failure, ONSET, leads_of(elsewhere))

    assert change.may_be_cause
    assert change.common == ("price.rounding",)


def test_a_deployment_goes_before_the_restarts_it_brings() -> None:
    (failure,) = leads_of(overview(FAILURE))
    both = overview(
        ("09:59", "shop", "Started worker on shop-a", 1, True),
        ("09:57", "shop", "Deployment of shop 2.0 begins", 1, True),
    )

    changes = changes_before(failure, ONSET, leads_of(both))

    assert [change.strong for change in changes] == [True, False]


def test_the_search_for_changes_fits_a_request() -> None:
    assert len(SEARCH_PATTERN) <= 500


@pytest.mark.parametrize(
    ("action", "risk"),
    [
        ("Check since when it occurs.", ActionRisk.LOW),
        ("查看日志", ActionRisk.LOW),
        ("Roll the release back.", ActionRisk.HIGH),
        ("重启服务", ActionRisk.HIGH),
        ("Raise the timeout.", ActionRisk.MEDIUM),
    ],
)
def test_the_risk_of_an_action_is_read_from_its_words(action: str, risk: ActionRisk) -> None:
    assert risk_of(action) is risk
