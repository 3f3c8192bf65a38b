"""Rules of LegacyStickyTaskAssignor, one by one."""

import pytest

from assignors.errors import IllegalStateError
from assignors.java.hash_order import CollectionOrder
from assignors.tasks.legacy_sticky import LegacySticky
from assignors.tasks.sticky import Sticky
from tests.assignors.tasks.sticky_tables import state, table

SORTED = LegacySticky(CollectionOrder.SORTED)


@pytest.mark.parametrize(
    ("before", "tasks", "after"),
    [
        pytest.param("A: 0_1 | B: 0_0", "0_0 0_1", "A: 0_1 | B: 0_0", id="clients keep their tasks"),
        pytest.param("A: | B:", "0_0 0_1 0_2", "A: 0_0 0_2 | B: 0_1", id="new tasks are distributed"),
        pytest.param("A*2: | B*1:", "0_0 0_1 0_2", "A: 0_0 0_2 | B: 0_1", id="clients without tasks come first"),
        pytest.param("A*1: | B*3:", "0_0 0_1 0_2 0_3", "A: 0_0 | B: 0_1 0_2 0_3", id="then the lowest load per thread"),
        pytest.param(
            "A*1: 0_0 | B*2: 0_1 0_2", "0_0 0_1 0_2 1_0", "A: 0_0 | B: 0_1 0_2 1_0", id="then the most threads"
        ),
        pytest.param("A: 0_0 7_7 | B: 0_1", "0_0 0_1 0_2", "A: 0_0 0_2 | B: 0_1", id="deleted tasks are dropped"),
        pytest.param("A: 0_0 | B: 0_0", "0_0 0_1", "A: 0_1 | B: 0_0", id="two claims: the later one counts"),
        pytest.param("A: 0_0 | B: (0_1) | C:", "0_0 0_1 0_2", "A: 0_0 | B: 0_1 | C: 0_2", id="a standby takes over"),
        pytest.param(
            "A: 0_0 0_1 0_2 0_3 | B:",
            "0_0 0_1 0_2 0_3",
            "A: 0_2 0_3 | B: 0_0 0_1",
            id="a new client gets its share; a hash map decides which tasks stay",
        ),
        pytest.param("A*3: 0_0 0_1 | B*3:", "0_0 0_1", "A: 0_0 0_1 | B:", id="fewer tasks than threads: tasks stay"),
        pytest.param(
            "A: 0_0 0_1 | B: (0_0) (0_1) | C: (0_1)",
            "0_0 0_1 0_2",
            "A: 0_1 | B: 0_0 | C: 0_2",
            id="a task beyond the share moves to a standby first",
        ),
        pytest.param(
            "B: (0_0) (0_1) | C:", "0_0 0_1", "A: 0_1 | B: 0_0", id="standbys take over in the order of a hash set"
        ),
        pytest.param(
            "A*1: 0_0 0_1 | B*2: 0_2 0_3",
            "0_0 0_1 0_2 0_3",
            "A: 0_1 | B: 0_0 0_2 0_3",
            id="at equal load, tasks move to clients with more threads",
        ),
    ],
)
def test_active_tasks(before: str, tasks: str, after: str) -> None:
    assert table(SORTED.assign(state(before, tasks))) == after


@pytest.mark.parametrize(
    ("before", "tasks", "standbys", "after"),
    [
        pytest.param("A: | B: | C:", "0_0", 1, "A: 0_0 | B: (0_0) | C:", id="on another client"),
        pytest.param("A: | B: | C:", "0_0", 9, "A: 0_0 | B: (0_0) | C: (0_0)", id="no more standbys than clients"),
        pytest.param(
            "A: 0_0 | B: | C: (0_0)", "0_0", 1, "A: 0_0 | B: | C: (0_0)", id="on the client of a previous standby"
        ),
        pytest.param(
            "A: (0_0) | B: | C: 0_0",
            "0_0",
            1,
            "A: (0_0) | B: | C: 0_0",
            id="on the client of a previous standby, reversed",
        ),
        pytest.param(
            "A: 0_0 | B: 0_1 | C: 0_2",
            "0_0 0_1 0_2",
            1,
            "A: 0_0 (0_2) | B: 0_1 (0_0) | C: 0_2 (0_1)",
            id="new task pairs: 0_1 not on A, because it was paired with 0_0 on B",
        ),
        pytest.param(
            "A: 0_0 | B: 0_1 (0_0) | C:",
            "0_0 0_1",
            1,
            "A: 0_0 (0_1) | B: 0_1 | C: (0_0)",
            id="not on a previous client with more load",
        ),
        pytest.param(
            "A*2: 0_0 0_1 | B: 1_0 | C*2: 1_1 1_2 | D*4:",
            "0_0 0_1 1_0 1_1 1_2",
            1,
            "A: 0_0 0_1 | B: 1_0 | C: 1_1 1_2 (0_1) | D: (0_0)",
            id="new task pairs, then more threads",
        ),
    ],
)
def test_standbys(before: str, tasks: str, standbys: int, after: str) -> None:
    stateless = " ".join(text for text in tasks.split() if text.startswith("1"))
    assert table(SORTED.assign(state(before, tasks, standbys, stateless))) == after


def test_stateless_task_has_no_standby() -> None:
    assert table(SORTED.assign(state("A: | B:", "0_0 0_1", standbys=1, stateless="0_1"))) == "A: 0_0 | B: 0_1 (0_0)"


def test_no_follow_up_rebalance_is_requested() -> None:
    assert SORTED.assign(state("A: 0_0 0_1 | B:", "0_0 0_1")).followup_rebalance_delay_ms is None


def test_client_without_threads_throws_as_in_kafka() -> None:
    with pytest.raises(IllegalStateError, match="totalCapacity"):
        SORTED.assign(state("", "0_0"))


def test_production_order_visits_clients_by_hash_bucket() -> None:
    application = state("A#1: | B#15: | C#16:", "0_0 0_1")
    assert table(SORTED.assign(application)) == "A: 0_0 | B: 0_1 | C:"
    assert table(LegacySticky().assign(application)) == "A: 0_1 | B: | C: 0_0"


def test_production_order_keeps_listing_order_within_a_bucket() -> None:
    for listed in ("A#1: | B#17:", "B#17: | A#1:"):
        application = state(listed, "0_0")
        assert table(SORTED.assign(application)) == "A: 0_0 | B:"
        assert table(LegacySticky().assign(application)) == ("A: 0_0 | B:" if listed.startswith("A") else "A: | B: 0_0")


def test_production_order_places_standbys_in_hash_set_order() -> None:
    application = state("A*2: 0_0 0_1 | B: | C:", "0_0 0_1", standbys=1)
    assert table(SORTED.assign(application)) == "A: 0_0 0_1 | B: (0_0) | C: (0_1)"
    assert table(LegacySticky().assign(application)) == "A: 0_0 0_1 | B: (0_1) | C: (0_0)"


def test_unknown_order_is_rejected() -> None:
    with pytest.raises(ValueError, match="by size"):
        LegacySticky("by size")  # type: ignore[arg-type]


IN_RACKS = {"in0-0": ("b",), "in0-1": ("a",), "store0-0": ("b",), "store0-1": ("a",)}


@pytest.mark.parametrize(
    ("costs", "after"),
    [
        pytest.param(None, "A: 0_0 | B: 0_1", id="by default, moves outweigh traffic"),
        pytest.param((10, 1), "A: 0_1 | B: 0_0", id="tasks move to the racks of their partitions"),
    ],
)
def test_racks(costs: tuple[int, int] | None, after: str) -> None:
    application = state("A@a: 0_0 | B@b: 0_1", "0_0 0_1", racks=IN_RACKS, strategy="min_traffic", costs=costs)
    assert table(SORTED.assign(application)) == after


def test_task_pairs_ignore_moves_of_the_rack_aware_step() -> None:
    """Racks make A and B exchange 0_0 and 0_1; then 0_1 joins 0_0 on A, so its standby does not go to B."""
    everywhere = dict.fromkeys(("store0-0", "store0-1", "store0-2"), ("a", "b", "c"))
    racks = everywhere | {"in0-0": ("b",), "in0-1": ("a",), "in0-2": ("c",)}
    application = state("A@a: | B@b: | C@c:", "0_0 0_1 0_2", 1, "", racks, "min_traffic", (10, 1))
    for assignor in (SORTED, Sticky(CollectionOrder.SORTED)):
        assert table(assignor.assign(application)) == "A: 0_1 (0_0) | B: 0_0 (0_2) | C: 0_2 (0_1)"


def test_standbys_move_to_their_racks() -> None:
    application = state(
        "A@c: 0_0 | B@c: 0_1 | C@a: (0_0) | D@b: (0_1)",
        "0_0 0_1",
        standbys=1,
        racks=IN_RACKS,
        strategy="min_traffic",
        costs=(10, 1),
    )
    assert table(SORTED.assign(application)) == "A: 0_0 | B: 0_1 | C: (0_1) | D: (0_0)"
