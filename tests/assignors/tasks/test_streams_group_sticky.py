"""StickyTaskAssignor of streams groups: the broker's answers, task for task, and the rules they follow.

`streams_group.jsonl.gz` holds 300 random problems, 75 groups of four rounds each, with the answers of Kafka 4.3.1.
"""

from __future__ import annotations

import dataclasses

import pytest

from assignors.java.hash_order import CollectionOrder
from assignors.model.columns import NO_RACK
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_assignment import members_of
from assignors.tasks.streams_group_sticky import StreamsGroupSticky, TaskAssignorError
from scenarios.problems import answer_differences, solve_problem
from tests.assignors.tasks.sticky_tables import state, table
from tests.parity.test_vectors import vectors

SORTED = StreamsGroupSticky(CollectionOrder.SORTED)


@pytest.mark.parametrize("order", list(CollectionOrder))
def test_every_recorded_answer_is_kafkas(order: CollectionOrder) -> None:
    problems = vectors("streams_group")
    wrong = {
        problem.id: found
        for problem in problems
        if (
            found := answer_differences(
                problem.expected_answer(order) or {}, solve_problem(problem, "streams_group", order=order)
            )
        )
    }
    assert len(problems) == 300
    assert not wrong


def test_the_recorded_problems_are_of_all_kinds() -> None:
    problems = vectors("streams_group")
    assert any(problem.expected_hash_order for problem in problems)
    assert any((problem.expected or {})["error"] for problem in problems)
    assert {problem.problem["configs"]["num_standby_replicas"] for problem in problems} == {0, 1, 2, 3}
    assert any(client["threads"] > 1 for problem in problems for client in problem.problem["clients"])


@pytest.mark.parametrize(
    ("before", "tasks", "after"),
    [
        pytest.param("A: 0_0 | B: 0_1", "0_0 0_1", "A: 0_0 | B: 0_1", id="all stays"),
        pytest.param("A: 0_0 0_1 0_2 0_3 | B:", "0_0 0_1 0_2 0_3", "A: 0_0 0_1 | B: 0_2 0_3", id="up to the share"),
        pytest.param(
            "A: 0_0 0_1 | B: 0_2 0_3 | C:",
            "0_0 0_1 0_2 0_3",
            "A: 0_0 0_1 | B: 0_2 | C: 0_3",
            id="the share sinks once somebody has it",
        ),
        pytest.param("A: | B: (0_1) | C:", "0_0 0_1 0_2", "A: 0_0 | B: 0_1 | C: 0_2", id="a standby takes over"),
        pytest.param(
            "A: | B: 1_0 1_1 (0_1) | C:",
            "0_0 0_1 1_0 1_1",
            "A: 0_0 | B: 1_0 1_1 | C: 0_1",
            id="a standby without room does not",
        ),
        pytest.param("A: | B:", "2_0 10_0", "A: 10_0 | B: 2_0", id="subtopologies are text: 10 before 2"),
        pytest.param("A: 0_0 | B: 0_0", "0_0", "A: | B: 0_0", id="the last to claim a task had it"),
        pytest.param("A*3: | B:", "0_0 0_1 0_2 0_3", "A: 0_0 0_2 0_3 | B: 0_1", id="each thread counts"),
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
        pytest.param("A: 0_0 0_1 | B:", "0_0 0_1", 1, "A: 0_0 (0_1) | B: 0_1 (0_0)", id="go where the task ran before"),
        pytest.param("A: | B:", "0_0 0_1", 2, "A: 0_0 (0_1) | B: 0_1 (0_0)", id="never share a process with the task"),
        pytest.param("A*2:", "0_0", 1, "A: 0_0", id="need another process, not another thread"),
        pytest.param("A: (0_0) | B: | C: (0_0)", "0_0", 1, "A: 0_0 | B: (0_0) | C:", id="go by the first holder only"),
    ],
)
def test_standbys(before: str, tasks: str, standbys: int, after: str) -> None:
    assert table(SORTED.assign(state(before, tasks, standbys))) == after


def test_tasks_without_state_have_no_standbys() -> None:
    assert table(SORTED.assign(state("A: | B:", "0_0 0_1", standbys=1, stateless="0_0 0_1"))) == "A: 0_0 | B: 0_1"


def test_in_production_the_members_come_out_of_a_hash_map() -> None:
    given = state("A: 0_0 | B: 0_0", "0_0")
    assert table(StreamsGroupSticky().assign(given)) == "A: 0_0 | B:"
    assert table(SORTED.assign(given)) == "A: | B: 0_0"


def test_without_a_member_kafka_throws() -> None:
    with pytest.raises(TaskAssignorError, match="No process available to assign active task 0_0"):
        SORTED.assign(state("", "0_0"))


def test_racks_lags_and_tags_play_no_part_and_no_rebalance_is_asked_for() -> None:
    racks = {"in0-0": ("b",), "in0-1": ("a",), "store0-0": ("b",), "store0-1": ("a",)}
    given = state("A@a: 0_0 | B@b: 0_1", "0_0 0_1", racks=racks, strategy="min_traffic", costs=(10, 1))
    found = SORTED.assign(given)
    assert table(found) == "A: 0_0 | B: 0_1"
    assert found.followup_rebalance_delay_ms is None
    assert SORTED.assign(_without_what_does_not_count(given)) == found


def _without_what_does_not_count(given: ApplicationState) -> ApplicationState:
    clients = dataclasses.replace(
        given.clients, rack=given.clients.rack * 0 + NO_RACK, tags=tuple({"zone": str(c)} for c in given.clients.ids)
    )
    return dataclasses.replace(given, clients=clients, lags=given.lags * 0 + 1_000_000)


def test_what_a_client_had_is_dealt_out_to_its_threads() -> None:
    first, second = members_of(state("A*2: 0_0 0_1 0_2 9_9 (0_3) (0_4)", "0_0 0_1 0_2 0_3 0_4"), CollectionOrder.SORTED)
    assert first.id == "00000000-0000-0000-0000-000000000001-StreamThread-1"
    assert (first.previous_active, first.previous_standby) == ((0, 2), (4,))
    assert (second.previous_active, second.previous_standby) == ((1,), (3,))


def test_members_are_sorted_as_text() -> None:
    members = members_of(state("A*11:", "0_0"), CollectionOrder.SORTED)
    assert [member.id.rsplit("-", 1)[1] for member in members] == [*"1", "10", "11", *"23456789"]


def test_ties_hang_on_the_ids_of_members_and_within_a_bin_on_how_they_are_listed() -> None:
    given = state("A: | B#5:", "0_0")  # Processes that fall into one bin of Kafka's map.
    a, b = map(str, given.clients.ids)
    for told, after in (
        ({"a": a, "b": b}, "A: 0_0 | B:"),
        ({"b": b, "a": a}, "A: 0_0 | B:"),
        ({"a": b, "b": a}, "A: | B: 0_0"),
        ({"a": a, "q": b}, "A: 0_0 | B:"),  # As the numbers of Java, a and q leave the same when divided by 16.
        ({"q": b, "a": a}, "A: | B: 0_0"),
    ):
        assert table(StreamsGroupSticky(members=told).assign(given)) == after, told


def test_members_that_were_not_told_of_are_named_by_us_and_come_last() -> None:
    given = state("A*2: | B*2:", "0_0")
    a, b = map(str, given.clients.ids)
    told = {"b-1": b, "z": b, "y": a, "gone": "a process that has left"}
    names = [(member.id, member.process) for member in members_of(given, CollectionOrder.SORTED, told)]
    assert names == [(f"{a}-StreamThread-2", 0), ("b-1", 1), ("y", 0), ("z", 1)]
    same_bin = {"q": b, "A": a, "1": b}
    assert [member.id for member in members_of(given, CollectionOrder.PRODUCTION, same_bin)][:3] == ["q", "A", "1"]


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(ValueError, match="unordered"):
        StreamsGroupSticky("unordered")  # type: ignore[arg-type]
