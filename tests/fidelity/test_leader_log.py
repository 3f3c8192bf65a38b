from itertools import pairwise

import pytest

from tests.fidelity.leader_log import LeaderDecision, LoggedClientState, warmed_up_early
from tests.fidelity.prediction import TaskDistribution, count_probing_rounds

INTERVAL_MS = 60_000


def rebalance(at_ms: int, *, lag: int | None, warmed_up: bool) -> LeaderDecision:
    """Return a rebalance of two clients in which w1 reports a lag of 0_0, and receives a warm-up replica or not."""
    newcomer = LoggedClientState("w1", 2, (), (), {} if lag is None else {"0_0": lag})
    standby = {"w1": frozenset({"0_0"})} if warmed_up else {}
    return LeaderDecision(
        at_ms, (LoggedClientState("w0", 2, ("0_0",), (), {}), newcomer), TaskDistribution({}, standby)
    )


@pytest.mark.parametrize(
    ("second", "early"),
    [
        (rebalance(1_500, lag=0, warmed_up=False), True),
        (rebalance(1_500, lag=7, warmed_up=True), False),
        (rebalance(1_500, lag=None, warmed_up=True), False),
        (rebalance(60_000, lag=0, warmed_up=False), False),
    ],
)
def test_warmup_is_early_if_caught_up_at_follow_up_rebalance(second: LeaderDecision, early: bool) -> None:
    first = rebalance(0, lag=None, warmed_up=True)
    assert warmed_up_early([first, second], INTERVAL_MS, 0) is early


@pytest.mark.parametrize(("lag", "early"), [(1, True), (50, True), (51, False)])
def test_warmup_within_acceptable_lag_is_early(lag: int, early: bool) -> None:
    """With exactly-once, the commit marker at the end of a changelog is a lag of 1 that never goes away."""
    first, second = rebalance(0, lag=None, warmed_up=True), rebalance(1_500, lag=lag, warmed_up=False)
    assert warmed_up_early([first, second], INTERVAL_MS, 50) is early


def test_task_caught_up_before_warmup_is_not_early() -> None:
    first, second = rebalance(0, lag=0, warmed_up=False), rebalance(1_000, lag=0, warmed_up=False)
    assert not warmed_up_early([first, second], INTERVAL_MS, 0)


def test_probing_rebalances_follow_after_an_interval() -> None:
    at_ms = [0, 1_200, 61_200, 62_400, 122_401]
    assert [later - earlier for earlier, later in pairwise(at_ms)].count(1_200) == 2
    assert count_probing_rounds(at_ms) == 2
