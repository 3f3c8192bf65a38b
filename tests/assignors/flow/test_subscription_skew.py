"""The most even distribution over consumers that subscribe to different topics, against brute force."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.flow.min_cost import least_skew

TOPICS = ("a", "b", "c")


def brute_force(partitions: dict[str, int], subscriptions: list[set[str]]) -> int:
    owners = [
        [member for member, topics in enumerate(subscriptions) if name in topics]
        for name, count in partitions.items()
        for _ in range(count)
    ]
    best = sum(partitions.values())
    for chosen in product(*[eligible for eligible in owners if eligible]):
        loads = [chosen.count(member) for member in range(len(subscriptions))]
        best = min(best, max(loads) - min(loads))
    return best


@given(
    st.fixed_dictionaries({name: st.integers(0, 3) for name in TOPICS}),
    st.lists(st.sets(st.sampled_from(TOPICS)), min_size=1, max_size=4),
)
def test_no_distribution_is_more_even(partitions: dict[str, int], subscriptions: list[set[str]]) -> None:
    assert least_skew(partitions, subscriptions) == brute_force(partitions, subscriptions)


@pytest.mark.parametrize(
    ("partitions", "subscriptions", "skew"),
    [
        ({"orders": 24}, [{"orders"}] * 6, 0),
        ({"orders": 25}, [{"orders"}] * 6, 1),
        ({"orders": 12, "payments": 2}, [{"orders"}, {"payments"}], 10),
        ({"orders": 12, "payments": 2}, [{"orders"}, {"orders", "payments"}], 0),
        ({"orders": 4}, [{"orders"}, {"unknown"}], 4),
        ({}, [{"orders"}, {"orders"}], 0),
    ],
)
def test_examples(partitions: dict[str, int], subscriptions: list[set[str]], skew: int) -> None:
    assert least_skew(partitions, subscriptions) == skew
