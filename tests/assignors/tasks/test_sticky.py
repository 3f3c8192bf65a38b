"""Differences of StickyTaskAssignor of KIP-924 from the legacy assignor."""

import pytest

from assignors.errors import DivisionByZeroError, NullPointerError
from assignors.java.hash_order import CollectionOrder
from assignors.tasks.legacy_sticky import LegacySticky
from assignors.tasks.sticky import Sticky
from tests.assignors.tasks.sticky_tables import state, table

LEGACY, PUBLIC = LegacySticky(CollectionOrder.SORTED), Sticky(CollectionOrder.SORTED)
RACKS = {"in0-0": ("b",), "in0-1": ("a",), "store0-0": ("b",), "store0-1": ("a",)}


def test_tasks_stay_and_new_clients_get_their_share() -> None:
    application = state("A: 0_0 0_1 0_2 0_3 | B:", "0_0 0_1 0_2 0_3", standbys=1)
    assert table(PUBLIC.assign(application)) == "A: 0_2 0_3 (0_0) (0_1) | B: 0_0 0_1 (0_2) (0_3)"


def test_threads_do_not_decide_between_equally_loaded_clients() -> None:
    application = state("A*1: 0_0 | B*2: 0_1 0_2", "0_0 0_1 0_2 1_0")
    assert table(LEGACY.assign(application)) == "A: 0_0 | B: 0_1 0_2 1_0"
    assert table(PUBLIC.assign(application)) == "A: 0_0 1_0 | B: 0_1 0_2"


def test_clients_are_visited_by_hash_even_if_given_sorted() -> None:
    application = state("A#1: | B#16:", "0_0")
    assert table(LEGACY.assign(application)) == "A: 0_0 | B:"
    assert table(PUBLIC.assign(application)) == "A: | B: 0_0"


def test_later_client_by_hash_wins_a_task_that_two_clients_claim() -> None:
    application = state("A#1: 0_0 | B#16: 0_0", "0_0 0_1")
    assert table(LEGACY.assign(application)) == "A: 0_1 | B: 0_0"
    assert table(PUBLIC.assign(application)) == "A: 0_0 | B: 0_1"


def test_state_without_clients_is_refused_as_in_kafka() -> None:
    with pytest.raises(DivisionByZeroError):
        Sticky(CollectionOrder.SORTED, "4.3").assign(state("", "0_0"))
    with pytest.raises(NullPointerError):
        Sticky(CollectionOrder.SORTED, "4.4").assign(state("", "0_0"))


@pytest.mark.parametrize(
    ("costs", "racks", "after"),
    [
        pytest.param((10, 1), RACKS, "A: 0_1 | B: 0_0", id="tasks move to the racks of their partitions"),
        pytest.param(None, RACKS, "A: 0_0 | B: 0_1", id="no costs configured: tasks stay"),
        pytest.param(
            (10, 1), RACKS | {"store0-0": (None,)}, "A: 0_0 | B: 0_1", id="unknown changelog racks: tasks stay"
        ),
        pytest.param((10, 1), RACKS | {"in0-0": ("b", None)}, "A: 0_1 | B: 0_0", id="one known replica is enough"),
        pytest.param(
            (10, 1),
            RACKS | {"store0-0": ("a",), "store0-1": ("b",)},
            "A: 0_0 | B: 0_1",
            id="changelogs count like sources",
        ),
    ],
)
def test_racks(costs: tuple[int, int] | None, racks: dict[str, tuple[str | None, ...]], after: str) -> None:
    application = state("A@a: 0_0 | B@b: 0_1", "0_0 0_1", racks=racks, strategy="min_traffic", costs=costs)
    assert table(PUBLIC.assign(application)) == after


def test_clients_are_ordered_by_hash_in_the_rack_aware_graph() -> None:
    stores = dict.fromkeys(("store0-0", "store0-1", "store0-2"), ("a", "b", "c"))
    racks = stores | {"in0-0": ("a",), "in0-1": ("b",), "in0-2": ("b",)}
    before = "A#1*3@c: | B#2*3@a: 0_0 0_2 | C#16*3@b: 0_1"
    application = state(before, "0_0 0_1 0_2", racks=racks, strategy="balance_subtopology", costs=(10, 0))
    assert table(LEGACY.assign(application)) == "A: | B: 0_0 0_1 | C: 0_2"
    assert table(PUBLIC.assign(application)) == "A: | B: 0_0 0_2 | C: 0_1"


def test_standbys_are_balanced_with_the_configured_strategy() -> None:
    before = "A*2@c: 0_0 1_0 | B*2@c: 0_1 1_1 | C@a: (0_0) (1_1) | D@b: (0_1) (1_0)"
    racks = {f"in{group}-{number}": ("a", "b", "c") for group in (0, 1) for number in (0, 1)}
    racks |= {"store0-0": ("a",), "store0-1": ("a",), "store1-0": ("b",), "store1-1": ("b",)}
    tasks = "0_0 0_1 1_0 1_1"
    min_traffic = state(before, tasks, 1, racks=racks, strategy="min_traffic", costs=(10, 1))
    balanced = state(before, tasks, 1, racks=racks, strategy="balance_subtopology", costs=(10, 1))
    assert table(PUBLIC.assign(min_traffic)) == "A: 0_0 1_0 | B: 0_1 1_1 | C: (0_0) (0_1) | D: (1_0) (1_1)"
    assert table(PUBLIC.assign(balanced)) == "A: 0_0 1_0 | B: 0_1 1_1 | C: (0_0) (1_1) | D: (0_1) (1_0)"
