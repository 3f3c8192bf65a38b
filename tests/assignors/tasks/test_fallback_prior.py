"""FallbackPriorTaskAssignor: tasks stay, and a probing rebalance is requested."""

import pytest

from assignors.errors import IllegalStateError
from assignors.java.hash_order import CollectionOrder
from assignors.tasks.legacy_sticky import FallbackPrior
from tests.assignors.tasks.sticky_tables import state, table

SORTED = FallbackPrior(CollectionOrder.SORTED)


@pytest.mark.parametrize(
    ("before", "tasks", "after"),
    [
        pytest.param("A: 0_0 0_1 0_2 | B:", "0_0 0_1 0_2", "A: 0_0 0_1 0_2 | B:", id="also without capacity"),
        pytest.param("A: 0_0 0_1 | B:", "0_0 0_1 0_2", "A: 0_0 0_1 | B: 0_2", id="new tasks go to the least loaded"),
        pytest.param("A: 0_0 | B: (0_1) | C:", "0_0 0_1", "A: 0_0 | B: 0_1 | C:", id="lost tasks go to a standby"),
    ],
)
def test_active_tasks_stay(before: str, tasks: str, after: str) -> None:
    assert table(SORTED.assign(state(before, tasks))) == after


def test_standbys_are_placed_as_by_the_sticky_assignor() -> None:
    application = state("A: 0_0 0_1 | B: (0_0) | C: (0_1)", "0_0 0_1", standbys=1)
    assert table(SORTED.assign(application)) == "A: 0_0 0_1 | B: (0_0) | C: (0_1)"


def test_follow_up_rebalance_is_always_requested() -> None:
    application = state("A: 0_0", "0_0")
    assert (
        SORTED.assign(application).followup_rebalance_delay_ms
        == application.assignment_configs.probing_rebalance_interval_ms
    )


def test_racks_have_no_effect() -> None:
    racks = {"in0-0": ("b",), "in0-1": ("a",), "store0-0": ("b",), "store0-1": ("a",)}
    application = state("A@a: 0_0 | B@b: 0_1", "0_0 0_1", racks=racks, strategy="min_traffic", costs=(10, 1))
    assert table(SORTED.assign(application)) == "A: 0_0 | B: 0_1"


def test_client_without_threads_throws_as_in_kafka() -> None:
    with pytest.raises(IllegalStateError):
        SORTED.assign(state("", "0_0"))
