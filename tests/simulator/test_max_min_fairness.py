"""Max-min fair shares of one and of two capacities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.max_min_fairness import max_min_shares, max_min_shares_between, max_min_shares_of_two

INF = float("inf")
CLOSE = 1e-6
amounts = st.one_of(st.just(0.0), st.just(INF), st.floats(0.001, 1e9), st.integers(1, 20).map(float))
limits = st.one_of(st.just(INF), st.floats(0.001, 1e9), st.integers(1, 20).map(float))


@st.composite
def demands(draw: st.DrawFn, capacities: st.SearchStrategy[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    capacity = draw(st.lists(capacities, min_size=1, max_size=4))
    groups = st.integers(0, len(capacity) - 1)
    members = draw(st.lists(st.tuples(groups, amounts), max_size=8))
    group = np.array([group for group, _ in members], dtype=np.int64)
    return np.array(capacity), group, np.array([demand for _, demand in members], dtype=np.float64)


@given(demands(limits))
def test_shares_are_max_min_fair(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    capacity, group, demand = case
    shares = max_min_shares(capacity, group, demand)
    assert (shares >= 0).all()
    assert (shares <= demand).all()
    for number, limit in enumerate(capacity.tolist()):
        group_shares = shares[group == number]
        if limit < INF:
            assert group_shares.sum() <= limit * (1 + CLOSE)
        is_short = group_shares < demand[group == number]
        if is_short.any():
            assert group_shares.sum() == pytest.approx(limit), "no capacity is left while a demand is not met"
            assert group_shares[is_short].min() >= group_shares.max() * (1 - CLOSE)


@given(demands(limits))
def test_order_of_members_does_not_matter(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    capacity, group, demand = case
    shares = max_min_shares(capacity, group, demand)
    assert max_min_shares(capacity, group[::-1], demand[::-1])[::-1] == pytest.approx(shares, rel=CLOSE)


@pytest.mark.parametrize(
    ("capacity", "demand", "shares"),
    [
        (12.0, [INF, INF, INF], [4.0, 4.0, 4.0]),
        (12.0, [2.0, INF, INF], [2.0, 5.0, 5.0]),
        (12.0, [2.0, 3.0, 4.0], [2.0, 3.0, 4.0]),
        (12.0, [1.0, 5.0, INF], [1.0, 5.0, 6.0]),
        (INF, [1.0, INF], [1.0, INF]),
        (12.0, [0.0, INF], [0.0, 12.0]),
        (0.0, [1.0, INF], [0.0, 0.0]),
        (12.0, [], []),
    ],
)
def test_shares_of_one_capacity(capacity: float, demand: list[float], shares: list[float]) -> None:
    group = np.zeros(len(demand), dtype=np.int64)
    assert max_min_shares(np.array([capacity]), group, np.array(demand)).tolist() == pytest.approx(shares)


Two = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@st.composite
def demands_on_two(draw: st.DrawFn) -> Two:
    finite = st.one_of(st.floats(0.001, 1e6), st.integers(1, 20).map(float))
    capacity, group, demand = draw(demands(finite))
    other = draw(st.lists(limits, min_size=1, max_size=3))
    parts = st.sampled_from((0.0, 0.25, 0.5, 1.0))
    weight = [[draw(parts) for _ in other] for _ in group]
    return capacity, group, np.array(other), np.array(weight).reshape(len(group), len(other)), demand


@given(demands_on_two())
def test_shares_of_two_capacities_are_max_min_fair(case: Two) -> None:
    capacity, group, other, weight, demand = case
    shares = max_min_shares_of_two(capacity, group, other, weight, demand)
    assert (shares >= 0).all()
    assert (shares <= demand).all()
    used = np.bincount(group, weights=shares, minlength=len(capacity))
    other_used = shares @ weight
    assert (used <= capacity * (1 + CLOSE)).all()
    assert (other_used <= other * (1 + CLOSE)).all()
    for member in np.flatnonzero(shares < demand).tolist():
        rivals = []
        if used[group[member]] >= capacity[group[member]] * (1 - CLOSE):
            rivals.append(shares[group == group[member]])
        full = (weight[member] > 0) & (other_used >= other * (1 - CLOSE))
        rivals += [shares[weight[:, number] > 0] for number in np.flatnonzero(full)]
        assert rivals, "no capacity of the member is exhausted"
        assert any(shares[member] >= of_rivals.max() * (1 - CLOSE) for of_rivals in rivals)


@given(demands(st.floats(0.001, 1e6)))
def test_unlimited_second_capacity_does_not_matter(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    capacity, group, demand = case
    weight = np.ones((len(group), 1))
    of_two = max_min_shares_of_two(capacity, group, np.array([INF]), weight, demand)
    assert of_two == pytest.approx(max_min_shares(capacity, group, demand), rel=CLOSE)


def test_capacity_unused_because_of_a_slow_broker_is_shared() -> None:
    weight = np.array([[1.0, 0.0], [0.0, 1.0]])
    shares = max_min_shares_of_two(np.array([10.0]), np.array([0, 0]), np.array([2.0, INF]), weight, np.full(2, INF))
    assert shares.tolist() == [2.0, 8.0]


def test_clients_share_the_capacity_of_a_broker() -> None:
    weight = np.ones((3, 1))
    shares = max_min_shares_of_two(np.array([1.0, 9.0]), np.array([0, 1, 1]), np.array([7.0]), weight, np.full(3, INF))
    assert shares.tolist() == [1.0, 3.0, 3.0]


@given(
    st.lists(st.integers(0, 20).map(float), min_size=3, max_size=3),
    st.lists(st.integers(0, 20).map(float), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from((0.0, 1.0, 4.0, INF))), max_size=8),
)
def test_shares_between_senders_and_receivers_equal_those_of_two_capacities(
    sending: list[float], receiving: list[float], members: list[tuple[int, int, float]]
) -> None:
    sender = np.array([sender_row for sender_row, _, _ in members], dtype=np.int64)
    receiver = np.array([receiver_row for _, receiver_row, _ in members], dtype=np.int64)
    weights = np.eye(3)[receiver].reshape(len(members), 3)
    demand = np.array([demand for _, _, demand in members])
    between = np.array(sending), sender, np.array(receiving), receiver
    for demands in (None, demand):
        needed = np.full(len(members), INF) if demands is None else demands
        expected = max_min_shares_of_two(np.array(sending), sender, np.array(receiving), weights, needed)
        assert max_min_shares_between(*between, demands) == pytest.approx(expected)
