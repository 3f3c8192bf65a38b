"""Which assignor a group has whose members list different ones."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.consumers.selection import is_eager, select_assignor, select_server_assignor

NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
LISTS = st.lists(st.permutations(NAMES).flatmap(lambda names: st.integers(1, 4).map(lambda n: names[:n])), min_size=1)


@pytest.mark.parametrize(
    ("lists", "selected"),
    [
        ([["range", "cooperative-sticky"]], "range"),
        ([["range"], ["cooperative-sticky", "range"]], "range"),
        ([["cooperative-sticky"], ["cooperative-sticky", "range"]], "cooperative-sticky"),
        # The majority of first choices decides.
        ([["range", "sticky"], ["sticky", "range"], ["sticky", "range"]], "sticky"),
        # Of a tie, the first in a hash table, as real brokers choose in tests/real_kafka/test_changed_assignors.py.
        ([["range", "cooperative-sticky"], ["cooperative-sticky", "range"]], "range"),
        ([["roundrobin", "sticky"], ["sticky", "roundrobin"]], "sticky"),
        ([["range"], ["cooperative-sticky"]], None),
    ],
)
def test_selected_assignor(lists: list[list[str]], selected: str | None) -> None:
    assert select_assignor(lists) == selected


@given(LISTS)
def test_selection_is_listed_by_all_and_does_not_depend_on_their_order(lists: list[list[str]]) -> None:
    selected = select_assignor(lists)
    common = set.intersection(*map(set, lists))
    assert (selected is None) == (not common)
    assert selected is None or selected in common
    assert {select_assignor(order) for order in permutations(lists[:4])} == {select_assignor(lists[:4])}


def test_member_is_cooperative_only_if_all_its_assignors_are() -> None:
    assert [is_eager(names) for names in (["cooperative-sticky"], ["cooperative-sticky", "range"], ["sticky"])] == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("named", "selected"),
    [
        ([], "uniform"),
        ([None, None], "uniform"),
        ([None, None, "broker-range"], "broker-range"),
        (["uniform", "broker-range", "broker-range"], "broker-range"),
        # Of a tie, the first in the coordinator's table.
        (["broker-range", "uniform"], "uniform"),
        (["uniform", "broker-range"], "uniform"),
    ],
)
def test_selected_assignor_of_the_coordinator(named: list[str | None], selected: str) -> None:
    assert select_server_assignor(named) == selected


@pytest.mark.parametrize("of_trigger", ["uniform", "broker-range"])
def test_the_only_vote_for_an_assignor_decides_a_tie_if_its_member_triggers_the_target(of_trigger: str) -> None:
    """As `HashMap.compute` of OpenJDK 17 does with a vote that it takes out and puts back."""
    assert select_server_assignor(["uniform", "broker-range"], of_trigger) == of_trigger
    assert select_server_assignor([None, "broker-range", "uniform"], of_trigger) == of_trigger
    assert select_server_assignor(["uniform", "broker-range"] * 2, of_trigger) == "uniform"
    assert select_server_assignor(["broker-range", "uniform", "broker-range"], of_trigger) == "broker-range"
