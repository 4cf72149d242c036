"""The first terminal state wins, under threads and tasks."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.contracts.run import EndReason, RunStatus
from diagnosis.harness.lifecycle import RunLifecycle, RunState, terminal_state

TERMINAL = [state for state in RunState if state is not RunState.RUNNING]


@given(st.lists(st.sampled_from(TERMINAL), min_size=1, max_size=20))
def test_the_first_offer_wins_and_the_others_are_ignored_in_order(offers):
    lifecycle = RunLifecycle()
    won = [lifecycle.finish(state) for state in offers]
    assert won == [True] + [False] * (len(offers) - 1)
    assert lifecycle.state is offers[0]
    assert lifecycle.ignored == tuple(offers[1:])


def test_one_of_many_threads_wins():
    lifecycle = RunLifecycle()
    offers = TERMINAL * 50
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lifecycle.finish, offers))
    assert sum(won) == 1
    assert lifecycle.state is offers[won.index(True)]
    assert len(lifecycle.ignored) == len(offers) - 1


async def test_one_of_many_tasks_wins():
    lifecycle = RunLifecycle()

    async def offer(state):
        await asyncio.sleep(0)
        return lifecycle.finish(state)

    won = await asyncio.gather(*(offer(state) for state in TERMINAL * 20))
    assert sum(won) == 1


def test_a_run_never_goes_back_to_running():
    lifecycle = RunLifecycle()
    assert lifecycle.running
    with pytest.raises(ValueError, match="not a terminal state"):
        lifecycle.finish(RunState.RUNNING)
    lifecycle.finish(RunState.FALLBACK)
    assert not lifecycle.running


@pytest.mark.parametrize(
    ("status", "reason", "state"),
    [
        (RunStatus.SUCCESS, None, RunState.SUCCESS),
        (RunStatus.FALLBACK, EndReason.TIMED_OUT, RunState.FALLBACK),
        (RunStatus.FAILED, EndReason.TIMED_OUT, RunState.TIMED_OUT),
        (RunStatus.FAILED, EndReason.BUDGET_EXHAUSTED, RunState.BUDGET_EXHAUSTED),
        (RunStatus.FAILED, EndReason.MODEL_UNAVAILABLE, RunState.FAILED),
        (RunStatus.CANCELLED, EndReason.CANCELLED, RunState.CANCELLED),
    ],
)
def test_status_and_reason_have_one_state(status, reason, state):
    assert terminal_state(status, reason) is state
