"""The order of the caller's collections, from the listing to the answer."""

import random

import numpy as np
import pytest

from assignors.java.hash_order import CollectionOrder, SubsetOrder, in_hash_order
from assignors.model.state import ApplicationState
from assignors.tasks.stickiness import CallerCollections, PreviousOwners
from scenarios.problems import Problem, solve_problem
from tests.assignors.tasks.sticky_tables import client, state, task


@pytest.mark.parametrize("size", [1, 5, 12, 13, 24, 25, 26, 48, 60, 97, 130])
def test_a_set_with_keys_left_out_is_ordered_as_if_filled_without_them(size: int) -> None:
    chance = random.Random(size)
    hashes = [chance.choice([chance.randrange(2**32), 16 * chance.randrange(20)]) for _ in range(size)]
    keys = chance.sample(range(size), size)
    orders = SubsetOrder(keys, hashes)
    for left_out in range(min(size, 6)):
        excluded = chance.sample(keys, left_out)
        left = [key for key in keys if key not in excluded]
        assert orders.without(excluded).tolist() == in_hash_order(left, hashes)


def test_a_state_remembers_how_it_was_listed() -> None:
    given = ApplicationState.of([task("2_0"), task("0_1"), task("10_0")], [client("C:"), client("A:"), client("B:")])
    assert given.task_insertion_order is not None
    assert given.client_insertion_order is not None
    assert [str(given.tasks.ids[row]) for row in given.task_insertion_order] == ["2_0", "0_1", "10_0"]
    assert np.array_equal(given.client_insertion_order, [2, 0, 1])


def test_a_state_that_was_listed_in_no_order_counts_as_sorted() -> None:
    listed = state("B#17: | A#1:", "0_1 0_0")
    columns = (listed.tasks, listed.clients, listed.partitions, listed.lags)
    previous = (listed.previous_active, listed.previous_standby)
    unlisted = ApplicationState(*columns, *previous, listed.assignment_configs)
    assert CallerCollections.of(listed, CollectionOrder.PRODUCTION).clients == [1, 0]
    assert CallerCollections.of(unlisted, CollectionOrder.PRODUCTION).clients == [0, 1]


def test_tasks_with_equal_hashes_come_as_listed() -> None:
    given = state("A:", "1_0 0_31 0_0")  # rows: 0_0, 0_31, 1_0
    assert CallerCollections.of(given, CollectionOrder.PRODUCTION).tasks.index(2) == 0
    assert CallerCollections.of(state("A:", "0_31 1_0 0_0"), CollectionOrder.PRODUCTION).tasks.index(1) == 0
    assert CallerCollections.of(given, CollectionOrder.SORTED).tasks == [0, 1, 2]


def test_tasks_that_are_gone_still_make_the_map_of_previous_tasks_grow() -> None:
    gone = " ".join(f"7_{number}" for number in range(11))
    few, many = state("A: 0_0 0_16", "0_0 0_16"), state(f"A: 0_0 0_16 {gone}", "0_0 0_16")
    for given, order in ((few, [0, 1]), (many, [1, 0])):
        caller = CallerCollections.of(given, CollectionOrder.SORTED)
        assert list(PreviousOwners.of(given, caller).active) == order


def test_the_copy_of_a_set_can_be_larger_and_so_in_another_order() -> None:
    numbers = [17, *range(1, 12)]
    given = state(" | ".join(f"C#{number}: (0_0)" for number in numbers), "0_0")
    previous = PreviousOwners.of(given, CallerCollections.of(given, CollectionOrder.SORTED))
    assert previous.standbys[0] == [0, 11, *range(1, 11)]
    assert previous.copied_standbys[0] == list(range(12))


def test_a_problem_is_answered_in_either_order() -> None:
    ids = ["00000000-0000-0000-0000-000000000011", "00000000-0000-0000-0000-000000000001"]
    problem = Problem(
        1,
        {
            "assignor": "sticky",
            "tasks": [{"id": "0_0", "stateful": True}],
            "clients": [{"process_id": process_id} for process_id in ids],
        },
        expected={"id": "sorted"},
        expected_hash_order={"id": "as in production"},
    )
    for order, runs_it, expected in (("production", ids[0], "as in production"), ("sorted", ids[1], "sorted")):
        given = solve_problem(problem, "problems.jsonl", order=CollectionOrder(order))
        assert given["assignment"][runs_it]["active"] == ["0_0"]
        wanted = problem.expected_answer(CollectionOrder(order))
        assert wanted is not None
        assert wanted["id"] == expected


def test_an_answer_that_is_the_same_in_production_is_expected_once() -> None:
    problem = Problem(1, {"assignor": "sticky"}, expected={"id": "both"})
    assert problem.expected_answer(CollectionOrder.PRODUCTION) == {"id": "both"}
