"""An error that merely shares a word or a symptom with the question is not given as its cause."""

from __future__ import annotations

from typing import Any

import pytest

from diagnosis.agent.offline.history import Observation
from diagnosis.agent.offline.leads import leads_of, weigh
from diagnosis.agent.offline.words import Topic


def may_be_cause(question: str, text: str, service: str = "shop") -> bool:
    item: dict[str, Any] = {
        "example": f"2026-03-12T14:10:00Z ERROR {text}",
        "count": 3,
        "first": "2026-03-12T14:10:00Z",
        "last": "2026-03-12T14:20:00Z",
        "level": "ERROR",
        "service": service,
        "source": "app.log",
        "new_in_window": True,
    }
    begins = {"source": "app.log", "first": "2026-03-12T09:00:00Z", "last": "2026-03-12T14:20:00Z"}
    answer = {
        "evidence_status": "EVIDENCE_FOUND",
        "scope": {"sources": [begins]},
        "items": [item],
    }
    observation = Observation("call-1", "query_logs", {}, None, answer, 0)
    (lead,) = leads_of(observation)
    return weigh(lead, Topic.of(question), question, None).may_be_cause


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("why is the database slow", "no route to host, failed on socket timeout"),
        ("数据库为什么很慢", "request to 10.0.0.7 timed out"),
        ("database connections are refused", "connection to smtp refused"),
        ("is the disk slow?", "deadline exceeded while calling billing"),
        ("OutOfMemoryError in worker", "workerEnv in error state 6"),
        ("NullPointerException in checkout", "checkout: order 7 rejected"),
        ("why does checkout throw TimeoutError", "checkout: permission denied"),
    ],
)
def test_another_failure_is_no_answer(question: str, text: str) -> None:
    assert not may_be_cause(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("why is the database slow", "SQL statement took 31 s"),
        ("why is the database slow", "deadline exceeded on db-1:5432"),
        ("数据库为什么很慢", "jdbc pool: request timed out"),
        ("why do requests time out", "request to 10.0.0.7 timed out"),
        ("OutOfMemoryError in worker", "worker died: java.lang.OutOfMemoryError: Java heap space"),
        ("OutOfMemoryError in worker", "worker cannot allocate heap memory"),
        ("NullPointerException in checkout", "java.lang.NullPointerException at Checkout"),
    ],
)
def test_the_failure_that_is_asked_for_is_one(question: str, text: str) -> None:
    assert may_be_cause(question, text)


def test_a_service_may_say_what_fails() -> None:
    assert may_be_cause("why is the database slow", "deadline exceeded", service="mysql")
