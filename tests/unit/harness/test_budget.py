"""The ledger: reserving is atomic, actuals are recorded, and over-limit actuals stop the rest."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from diagnosis.contracts.run import RunLimits
from diagnosis.errors import BudgetExhausted
from diagnosis.harness.budget import RunBudget


def test_loop_calls_stop_before_the_calls_kept_for_review():
    budget = RunBudget(RunLimits(model_calls=5, reserved_model_calls=2))
    for _ in range(3):
        budget.reserve_model_call()
    with pytest.raises(BudgetExhausted, match="model_calls"):
        budget.reserve_model_call()
    budget.reserve_model_call(review=True)
    budget.reserve_model_call(review=True)
    with pytest.raises(BudgetExhausted):
        budget.reserve_model_call(review=True)
    assert budget.usage().model_calls == 5


@pytest.mark.parametrize(
    ("limits", "resource"),
    [
        ({"input_tokens": 150_100}, "input_tokens"),
        ({"output_tokens": 24_100}, "output_tokens"),
        ({"total_tokens": 174_100}, "total_tokens"),
    ],
)
def test_tokens_over_the_limit_are_recorded_and_stop_what_follows(limits, resource):
    budget = RunBudget(RunLimits(**limits))
    budget.reserve_model_call()
    budget.record_model_call(input_tokens=200_000, output_tokens=30_000, seconds=1)
    usage = budget.usage()
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (
        200_000,
        30_000,
        230_000,
    )
    with pytest.raises(BudgetExhausted, match=resource):
        budget.reserve_model_call(review=True)


def test_missing_usage_is_recorded_as_missing_and_not_as_zero_tokens():
    budget = RunBudget(RunLimits())
    budget.reserve_model_call()
    budget.record_model_call(input_tokens=None, output_tokens=None, seconds=1)
    assert budget.usage().calls_without_token_usage == 1


def test_the_total_and_the_share_of_a_tool_are_separate_limits():
    budget = RunBudget(RunLimits(tool_calls=3, tool_calls_per_tool=1))
    assert budget.reserve_call_of_tool("logs")
    assert not budget.reserve_call_of_tool("logs")
    assert budget.reserve_call_of_tool("metrics")
    assert [budget.reserve_tool_call() for _ in range(4)] == [True, True, True, False]
    assert budget.usage().tool_calls_per_tool == {"logs": 1, "metrics": 1}


def test_threads_never_take_more_than_there_is():
    budget = RunBudget(RunLimits(tool_calls=500, canonical_bytes=100_000))
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: budget.reserve_tool_call(), range(2_000)))
        stored = list(pool.map(lambda _: budget.reserve_bytes(70), range(2_000)))
    assert sum(taken) == 500
    assert sum(stored) == 100_000 // 70
    assert budget.usage().canonical_bytes == sum(stored) * 70


@given(st.lists(st.integers(1, 40_000), max_size=60))
def test_bytes_never_exceed_their_limit_and_every_refusal_was_needed(sizes):
    limit = 200_000
    budget = RunBudget(RunLimits(canonical_bytes=limit))
    used = 0
    for size in sizes:
        fits = used + size <= limit
        assert budget.reserve_bytes(size) is fits
        used += size if fits else 0
        assert budget.usage().canonical_bytes == used <= limit


@given(st.integers(0, 80_000), st.integers(0, 9_000), st.integers(2, 12), st.integers(0, 3))
def test_with_calls_of_one_size_the_draft_is_due_before_any_limit_refuses_it(
    input_tokens, output_tokens, model_calls, reserved
):
    limits = RunLimits(model_calls=model_calls, reserved_model_calls=min(reserved, model_calls - 1))
    budget = RunBudget(limits)
    rounds = 0
    while not budget.draft_is_due(remaining_s=300):
        budget.reserve_model_call()
        budget.record_model_call(
            input_tokens=input_tokens, output_tokens=output_tokens, seconds=0.1
        )
        rounds += 1
    budget.reserve_model_call()
    assert rounds < model_calls


def test_the_draft_is_due_at_the_last_call_of_the_loop():
    budget = RunBudget(RunLimits(model_calls=5, reserved_model_calls=3))
    assert not budget.draft_is_due(300)
    budget.reserve_model_call()
    assert budget.draft_is_due(300)


def test_the_draft_is_due_when_time_is_down_to_the_reserve_and_one_call():
    budget = RunBudget(RunLimits(reserved_s=60))
    budget.record_model_call(input_tokens=1, output_tokens=1, seconds=20)
    assert not budget.draft_is_due(81)
    assert budget.draft_is_due(79)


def test_the_draft_is_due_when_tokens_are_down_to_the_reserve_and_one_call():
    budget = RunBudget(RunLimits(input_tokens=300_000, reserved_input_tokens=100_000))
    budget.record_model_call(input_tokens=90_000, output_tokens=100, seconds=1)
    assert not budget.draft_is_due(300)
    budget.record_model_call(input_tokens=30_000, output_tokens=100, seconds=1)
    assert budget.draft_is_due(300)


@pytest.mark.parametrize(
    "limits",
    [
        {"model_calls": 3},
        {"reserved_input_tokens": 600_000},
        {"reserved_output_tokens": 100_000},
        {"deadline_s": 30},
        {"total_tokens": 174_000},
        {"canonical_bytes": 10_000},
        {"canonical_bytes": 60_000},
        {"input_bytes": 1_000_000},
        {"tool_calls": 0},
        {"agent_result_bytes": 100},
        {"deadline_s": float("inf")},
        {"deadline_s": float("nan")},
        {"unknown": 1},
    ],
)
def test_limits_that_do_not_fit_together_are_refused(limits):
    with pytest.raises(ValidationError):
        RunLimits(**limits)
