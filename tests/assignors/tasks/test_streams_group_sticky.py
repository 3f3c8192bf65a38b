"""Decisions of StickyTaskAssignor of streams groups; `tests/parity` compares it with the broker's assignor."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.java.hash_order import CollectionOrder
from assignors.model.columns import NO_RACK
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_sticky import StreamsGroupSticky, TaskAssignorError, members_of
from tests.assignors.tasks.sticky_tables import state, table

SORTED = StreamsGroupSticky(CollectionOrder.SORTED, release="4.3")
NEWEST = StreamsGroupSticky(CollectionOrder.SORTED)


@pytest.mark.parametrize(
    ("before", "tasks", "after"),
    [
        pytest.param("A: 0_0 | B: 0_1", "0_0 0_1", "A: 0_0 | B: 0_1", id="all stays"),
        pytest.param(
            "A: 0_0 0_1 0_2 0_3 | B:", "0_0 0_1 0_2 0_3", "A: 0_0 0_1 | B: 0_2 0_3", id="tasks stay up to the share"
        ),
        pytest.param(
            "A: 0_0 0_1 | B: 0_2 0_3 | C:",
            "0_0 0_1 0_2 0_3",
            "A: 0_0 0_1 | B: 0_2 | C: 0_3",
            id="the share falls when a client reaches it",
        ),
        pytest.param("A: | B: (0_1) | C:", "0_0 0_1 0_2", "A: 0_0 | B: 0_1 | C: 0_2", id="a standby takes over"),
        pytest.param(
            "A: | B: 1_0 1_1 (0_1) | C:",
            "0_0 0_1 1_0 1_1",
            "A: 0_0 | B: 1_0 1_1 | C: 0_1",
            id="a standby without capacity does not",
        ),
        pytest.param("A: | B:", "2_0 10_0", "A: 10_0 | B: 2_0", id="subtopologies are text: 10 before 2"),
        pytest.param("A: 0_0 | B: 0_0", "0_0", "A: | B: 0_0", id="two claims: the last one counts"),
        pytest.param("A*3: | B:", "0_0 0_1 0_2 0_3", "A: 0_0 0_2 0_3 | B: 0_1", id="every thread counts"),
    ],
)
def test_active_tasks_go(before: str, tasks: str, after: str) -> None:
    assert table(SORTED.assign(state(before, tasks))) == after


@pytest.mark.parametrize(
    ("before", "tasks", "standbys", "after"),
    [
        pytest.param(
            "A: 0_0 (0_2) | B: 0_1 (0_0) | C: 0_2 (0_1)",
            "0_0 0_1 0_2",
            1,
            "A: 0_0 (0_2) | B: 0_1 (0_0) | C: 0_2 (0_1)",
            id="stay",
        ),
        pytest.param(
            "A: 0_0 0_1 | B:", "0_0 0_1", 1, "A: 0_0 (0_1) | B: 0_1 (0_0)", id="placed where the task ran before"
        ),
        pytest.param(
            "A: | B:", "0_0 0_1", 2, "A: 0_0 (0_1) | B: 0_1 (0_0)", id="never on the process of the active task"
        ),
        pytest.param("A*2:", "0_0", 1, "A: 0_0", id="on another process, not another thread"),
        pytest.param(
            "A: (0_0) | B: | C: (0_0)", "0_0", 1, "A: 0_0 | B: (0_0) | C:", id="only the first holder decides"
        ),
    ],
)
def test_standbys(before: str, tasks: str, standbys: int, after: str) -> None:
    assert table(SORTED.assign(state(before, tasks, standbys))) == after


def test_stateless_tasks_have_no_standbys() -> None:
    assert table(SORTED.assign(state("A: | B:", "0_0 0_1", standbys=1, stateless="0_0 0_1"))) == "A: 0_0 | B: 0_1"


def test_production_order_of_members_is_that_of_a_hash_map() -> None:
    application = state("A: 0_0 | B: 0_0", "0_0")
    assert table(StreamsGroupSticky(release="4.3").assign(application)) == "A: 0_0 | B:"
    assert table(SORTED.assign(application)) == "A: | B: 0_0"


def test_empty_group_throws_as_in_kafka() -> None:
    with pytest.raises(TaskAssignorError, match="No process available to assign active task 0_0"):
        SORTED.assign(state("", "0_0"))


def test_racks_lags_and_tags_have_no_effect_and_no_rebalance_is_requested() -> None:
    racks = {"in0-0": ("b",), "in0-1": ("a",), "store0-0": ("b",), "store0-1": ("a",)}
    application = state("A@a: 0_0 | B@b: 0_1", "0_0 0_1", racks=racks, strategy="min_traffic", costs=(10, 1))
    actual = SORTED.assign(application)
    assert table(actual) == "A: 0_0 | B: 0_1"
    assert actual.followup_rebalance_delay_ms is None
    assert SORTED.assign(_without_irrelevant_inputs(application)) == actual


def _without_irrelevant_inputs(given: ApplicationState) -> ApplicationState:
    clients = dataclasses.replace(
        given.clients, rack=given.clients.rack * 0 + NO_RACK, tags=tuple({"zone": str(c)} for c in given.clients.ids)
    )
    return dataclasses.replace(given, clients=clients, lags=given.lags * 0 + 1_000_000)


def test_tasks_of_a_client_are_distributed_over_its_threads() -> None:
    first, second = members_of(state("A*2: 0_0 0_1 0_2 9_9 (0_3) (0_4)", "0_0 0_1 0_2 0_3 0_4"), CollectionOrder.SORTED)
    assert first.id == "00000000-0000-0000-0000-000000000001-StreamThread-1"
    assert (first.previous_active, first.previous_standby) == ((0, 2), (4,))
    assert (second.previous_active, second.previous_standby) == ((1,), (3,))


def test_members_are_sorted_as_text() -> None:
    members = members_of(state("A*11:", "0_0"), CollectionOrder.SORTED)
    assert [member.id.rsplit("-", 1)[1] for member in members] == [*"1", "10", "11", *"23456789"]


def test_ties_depend_on_member_ids_and_on_listing_order_within_a_bin() -> None:
    application = state("A: | B#5:", "0_0")  # Processes in the same bin of Kafka's map.
    a, b = map(str, application.clients.ids)
    for member_ids, after in (
        ({"a": a, "b": b}, "A: 0_0 | B:"),
        ({"b": b, "a": a}, "A: 0_0 | B:"),
        ({"a": b, "b": a}, "A: | B: 0_0"),
        ({"a": a, "q": b}, "A: 0_0 | B:"),  # The hashes of a and q are equal modulo 16.
        ({"q": b, "a": a}, "A: | B: 0_0"),
    ):
        assert table(StreamsGroupSticky(members=member_ids, release="4.3").assign(application)) == after, member_ids


def test_members_without_known_ids_are_named_and_sorted_last() -> None:
    application = state("A*2: | B*2:", "0_0")
    a, b = map(str, application.clients.ids)
    member_ids = {"b-1": b, "z": b, "y": a, "gone": "a process that has left"}
    names = [(member.id, member.process) for member in members_of(application, CollectionOrder.SORTED, member_ids)]
    assert names == [(f"{a}-StreamThread-2", 0), ("b-1", 1), ("y", 0), ("z", 1)]
    same_bin = {"q": b, "A": a, "1": b}
    assert [member.id for member in members_of(application, CollectionOrder.PRODUCTION, same_bin)][:3] == [
        "q",
        "A",
        "1",
    ]


def test_unknown_order_is_rejected() -> None:
    with pytest.raises(ValueError, match="unordered"):
        StreamsGroupSticky("unordered")  # type: ignore[arg-type]


def with_offsets(given: ApplicationState, *reported: dict[str, int]) -> ApplicationState:
    offsets = tuple({TaskId.parse(task): offset for task, offset in of_client.items()} for of_client in reported)
    return dataclasses.replace(given, task_offsets=offsets)


def test_reported_offsets_rank_candidates_for_an_active_task_since_4_4() -> None:
    application = state("A: | B: | C:", "0_0 0_1")
    application = with_offsets(application, {}, {"0_1": 5}, {"0_1": 9, "0_0": 0})
    assert table(NEWEST.assign(application)) == "A: | B: 0_1 | C: 0_0"
    assert table(SORTED.assign(application)) == "A: 0_0 | B: | C: 0_1"


def test_previous_standby_comes_before_a_larger_offset() -> None:
    application = with_offsets(state("A: | B: (0_0)", "0_0"), {"0_0": 2**63 - 1}, {})
    assert table(NEWEST.assign(application)) == "A: | B: 0_0"


def test_previous_standbys_are_in_the_order_of_their_offsets_since_4_4() -> None:
    application = with_offsets(state("A: (0_0) | B: (0_0)", "0_0"), {"0_0": 1}, {"0_0": 2})
    assert table(NEWEST.assign(application)) == "A: | B: 0_0"
    assert table(SORTED.assign(application)) == "A: 0_0 | B:"


def test_standby_stays_although_the_first_candidate_runs_the_task_since_4_4() -> None:
    application = state("A: (0_0) | B: 0_1 | C: (0_0)", "0_0 0_1", standbys=1, stateless="0_1")
    assert table(NEWEST.assign(application)) == "A: 0_0 | B: 0_1 | C: (0_0)"


def test_offset_of_a_task_is_reported_by_the_thread_that_had_it() -> None:
    application = state("A*2: 0_0 0_1 (0_2)", "0_0 0_1 0_2 0_3 0_4")
    application = with_offsets(application, {"0_4": 4, "0_3": 3, "0_2": 2, "0_1": 1, "0_0": 0, "9_9": 7})
    first, second = members_of(application, CollectionOrder.SORTED)
    assert (first.offsets, second.offsets) == (((0, 0), (2, 2), (4, 4)), ((1, 1), (3, 3)))


@pytest.mark.parametrize(("assignor", "package"), [(NEWEST, "group.api.streams"), (SORTED, "group.streams")])
def test_exception_has_the_package_of_its_release(assignor: StreamsGroupSticky, package: str) -> None:
    with pytest.raises(TaskAssignorError, match=f"coordinator.{package}.assignor.TaskAssignorException"):
        assignor.assign(state("", "0_0"))


def test_unknown_release_is_rejected() -> None:
    with pytest.raises(
        ValueError, match=r"'4\.5' is not a release of this assignor \(releases: 4\.2\.1, 4\.2, 4\.3, 4\.4\)"
    ):
        StreamsGroupSticky(release="4.5")
