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
        pytest.param("A: 0_1 | B: 0_0", "0_0 0_1", "A: 0_1 | B: 0_0", id="everybody keeps what they ran"),
        pytest.param("A: | B:", "0_0 0_1 0_2", "A: 0_0 0_2 | B: 0_1", id="new tasks are dealt out"),
        pytest.param("A*2: | B*1:", "0_0 0_1 0_2", "A: 0_0 0_2 | B: 0_1", id="who has nothing comes first"),
        pytest.param("A*1: | B*3:", "0_0 0_1 0_2 0_3", "A: 0_0 | B: 0_1 0_2 0_3", id="then load by threads"),
        pytest.param("A*1: 0_0 | B*2: 0_1 0_2", "0_0 0_1 0_2 1_0", "A: 0_0 | B: 0_1 0_2 1_0", id="then more threads"),
        pytest.param("A: 0_0 7_7 | B: 0_1", "0_0 0_1 0_2", "A: 0_0 0_2 | B: 0_1", id="tasks that are gone are dropped"),
        pytest.param("A: 0_0 | B: 0_0", "0_0 0_1", "A: 0_1 | B: 0_0", id="of two claims the later one counts"),
        pytest.param("A: 0_0 | B: (0_1) | C:", "0_0 0_1 0_2", "A: 0_0 | B: 0_1 | C: 0_2", id="a standby takes over"),
        pytest.param(
            "A: 0_0 0_1 0_2 0_3 | B:",
            "0_0 0_1 0_2 0_3",
            "A: 0_2 0_3 | B: 0_0 0_1",
            id="a newcomer gets its share, and the rest stays by the order of a hash map",
        ),
        pytest.param(
            "A*3: 0_0 0_1 | B*3:", "0_0 0_1", "A: 0_0 0_1 | B:", id="fewer tasks than threads stay on idle threads"
        ),
        pytest.param(
            "A: 0_0 0_1 | B: (0_0) (0_1) | C: (0_1)",
            "0_0 0_1 0_2",
            "A: 0_1 | B: 0_0 | C: 0_2",
            id="who has no room gives to a standby before it goes to strangers",
        ),
        pytest.param(
            "B: (0_0) (0_1) | C:", "0_0 0_1", "A: 0_1 | B: 0_0", id="standbys take over in the order of a hash set"
        ),
        pytest.param(
            "A*1: 0_0 0_1 | B*2: 0_2 0_3",
            "0_0 0_1 0_2 0_3",
            "A: 0_1 | B: 0_0 0_2 0_3",
            id="more threads at equal load are reason enough to leave",
        ),
    ],
)
def test_active_tasks(before: str, tasks: str, after: str) -> None:
    assert table(SORTED.assign(state(before, tasks))) == after


@pytest.mark.parametrize(
    ("before", "tasks", "standbys", "after"),
    [
        pytest.param("A: | B: | C:", "0_0", 1, "A: 0_0 | B: (0_0) | C:", id="on another client"),
        pytest.param("A: | B: | C:", "0_0", 9, "A: 0_0 | B: (0_0) | C: (0_0)", id="on every client at most"),
        pytest.param("A: 0_0 | B: | C: (0_0)", "0_0", 1, "A: 0_0 | B: | C: (0_0)", id="where one was"),
        pytest.param("A: (0_0) | B: | C: 0_0", "0_0", 1, "A: (0_0) | B: | C: 0_0", id="where one was, the other way"),
        pytest.param(
            "A: 0_0 | B: 0_1 | C: 0_2",
            "0_0 0_1 0_2",
            1,
            "A: 0_0 (0_2) | B: 0_1 (0_0) | C: 0_2 (0_1)",
            id="with others than it has met: 0_1 not on A, as it met 0_0 on B",
        ),
        pytest.param(
            "A: 0_0 | B: 0_1 (0_0) | C:",
            "0_0 0_1",
            1,
            "A: 0_0 (0_1) | B: 0_1 | C: (0_0)",
            id="not where one was if others have less to do",
        ),
        pytest.param(
            "A*2: 0_0 0_1 | B: 1_0 | C*2: 1_1 1_2 | D*4:",
            "0_0 0_1 1_0 1_1 1_2",
            1,
            "A: 0_0 0_1 | B: 1_0 | C: 1_1 1_2 (0_1) | D: (0_0)",
            id="with others than it has met, and there with more threads",
        ),
    ],
)
def test_standbys(before: str, tasks: str, standbys: int, after: str) -> None:
    stateless = " ".join(text for text in tasks.split() if text.startswith("1"))
    assert table(SORTED.assign(state(before, tasks, standbys, stateless))) == after


def test_a_stateless_task_has_no_standby() -> None:
    assert table(SORTED.assign(state("A: | B:", "0_0 0_1", standbys=1, stateless="0_1"))) == "A: 0_0 | B: 0_1 (0_0)"


def test_no_follow_up_is_asked_for() -> None:
    assert SORTED.assign(state("A: 0_0 0_1 | B:", "0_0 0_1")).followup_rebalance_delay_ms is None


def test_without_a_thread_kafka_throws() -> None:
    with pytest.raises(IllegalStateError, match="totalCapacity"):
        SORTED.assign(state("", "0_0"))


def test_in_production_clients_come_by_the_bucket_of_their_hash() -> None:
    given = state("A#1: | B#15: | C#16:", "0_0 0_1")
    assert table(SORTED.assign(given)) == "A: 0_0 | B: 0_1 | C:"
    assert table(LegacySticky().assign(given)) == "A: 0_1 | B: | C: 0_0"


def test_in_production_clients_of_one_bucket_come_as_listed() -> None:
    for listed in ("A#1: | B#17:", "B#17: | A#1:"):
        given = state(listed, "0_0")
        assert table(SORTED.assign(given)) == "A: 0_0 | B:"
        assert table(LegacySticky().assign(given)) == ("A: 0_0 | B:" if listed.startswith("A") else "A: | B: 0_0")


def test_in_production_standbys_are_given_in_the_order_of_a_hash_set() -> None:
    given = state("A*2: 0_0 0_1 | B: | C:", "0_0 0_1", standbys=1)
    assert table(SORTED.assign(given)) == "A: 0_0 0_1 | B: (0_0) | C: (0_1)"
    assert table(LegacySticky().assign(given)) == "A: 0_0 0_1 | B: (0_1) | C: (0_0)"


def test_an_order_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="by size"):
        LegacySticky("by size")  # type: ignore[arg-type]


IN_RACKS = {"in0-0": ("b",), "in0-1": ("a",), "store0-0": ("b",), "store0-1": ("a",)}


@pytest.mark.parametrize(
    ("costs", "after"),
    [
        pytest.param(None, "A: 0_0 | B: 0_1", id="by default staying put outweighs traffic"),
        pytest.param((10, 1), "A: 0_1 | B: 0_0", id="tasks move to where they read from"),
    ],
)
def test_racks(costs: tuple[int, int] | None, after: str) -> None:
    given = state("A@a: 0_0 | B@b: 0_1", "0_0 0_1", racks=IN_RACKS, strategy="min_traffic", costs=costs)
    assert table(SORTED.assign(given)) == after


def test_tasks_that_racks_brought_together_have_not_met() -> None:
    """Racks make A and B exchange 0_0 and 0_1; then 0_1 joins 0_0 on A, so its standby does not go to B."""
    everywhere = dict.fromkeys(("store0-0", "store0-1", "store0-2"), ("a", "b", "c"))
    racks = everywhere | {"in0-0": ("b",), "in0-1": ("a",), "in0-2": ("c",)}
    given = state("A@a: | B@b: | C@c:", "0_0 0_1 0_2", 1, "", racks, "min_traffic", (10, 1))
    for assignor in (SORTED, Sticky(CollectionOrder.SORTED)):
        assert table(assignor.assign(given)) == "A: 0_1 (0_0) | B: 0_0 (0_2) | C: 0_2 (0_1)"


def test_standbys_move_to_their_racks_too() -> None:
    given = state(
        "A@c: 0_0 | B@c: 0_1 | C@a: (0_0) | D@b: (0_1)",
        "0_0 0_1",
        standbys=1,
        racks=IN_RACKS,
        strategy="min_traffic",
        costs=(10, 1),
    )
    assert table(SORTED.assign(given)) == "A: 0_0 | B: 0_1 | C: (0_1) | D: (0_0)"
