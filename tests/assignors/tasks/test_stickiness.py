"""The order of the caller's collections determines ties."""

import random

import numpy as np
import pytest

from assignors.java.hash_order import CollectionOrder, SubsetOrder, in_hash_order
from assignors.model.state import ApplicationState
from assignors.tasks.stickiness import CallerCollections, PreviousOwners
from scenarios.problems import Problem, solve_problem
from tests.assignors.tasks.sticky_tables import client, state, task


@pytest.mark.parametrize("size", [1, 5, 12, 13, 24, 25, 26, 48, 60, 97, 130])
def test_set_without_some_keys_is_ordered_as_if_filled_without_them(size: int) -> None:
    rng = random.Random(size)
    hashes = [rng.choice([rng.randrange(2**32), 16 * rng.randrange(20)]) for _ in range(size)]
    keys = rng.sample(range(size), size)
    orders = SubsetOrder(keys, hashes)
    for left_out in range(min(size, 6)):
        excluded = rng.sample(keys, left_out)
        left = [key for key in keys if key not in excluded]
        assert orders.without(excluded).tolist() == in_hash_order(left, hashes)


def test_state_keeps_its_listing_order() -> None:
    application = ApplicationState.of(
        [task("2_0"), task("0_1"), task("10_0")], [client("C:"), client("A:"), client("B:")]
    )
    assert application.task_insertion_order is not None
    assert application.client_insertion_order is not None
    assert [str(application.tasks.ids[row]) for row in application.task_insertion_order] == ["2_0", "0_1", "10_0"]
    assert np.array_equal(application.client_insertion_order, [2, 0, 1])


def test_state_without_listing_order_counts_as_sorted() -> None:
    listed = state("B#17: | A#1:", "0_1 0_0")
    columns = (listed.tasks, listed.clients, listed.partitions, listed.lags)
    previous = (listed.previous_active, listed.previous_standby)
    unlisted = ApplicationState(*columns, *previous, listed.assignment_configs)
    assert CallerCollections.of(listed, CollectionOrder.PRODUCTION).clients == [1, 0]
    assert CallerCollections.of(unlisted, CollectionOrder.PRODUCTION).clients == [0, 1]


def test_tasks_with_equal_hashes_keep_their_listing_order() -> None:
    application = state("A:", "1_0 0_31 0_0")  # rows: 0_0, 0_31, 1_0
    assert CallerCollections.of(application, CollectionOrder.PRODUCTION).tasks.index(2) == 0
    assert CallerCollections.of(state("A:", "0_31 1_0 0_0"), CollectionOrder.PRODUCTION).tasks.index(1) == 0
    assert CallerCollections.of(application, CollectionOrder.SORTED).tasks == [0, 1, 2]


def test_deleted_tasks_still_grow_the_map_of_previous_tasks() -> None:
    deleted = " ".join(f"7_{number}" for number in range(11))
    few, many = state("A: 0_0 0_16", "0_0 0_16"), state(f"A: 0_0 0_16 {deleted}", "0_0 0_16")
    for application, order in ((few, [0, 1]), (many, [1, 0])):
        caller = CallerCollections.of(application, CollectionOrder.SORTED)
        assert list(PreviousOwners.of(application, caller).active) == order


def test_copied_set_can_be_larger_and_ordered_differently() -> None:
    numbers = [17, *range(1, 12)]
    application = state(" | ".join(f"C#{number}: (0_0)" for number in numbers), "0_0")
    previous = PreviousOwners.of(application, CallerCollections.of(application, CollectionOrder.SORTED))
    assert previous.standbys[0] == [0, 11, *range(1, 11)]
    assert previous.copied_standbys[0] == list(range(12))


def test_parity_problem_is_solved_in_either_order() -> None:
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
        assignment = solve_problem(problem, "problems.jsonl", order=CollectionOrder(order))
        assert assignment["assignment"][runs_it]["active"] == ["0_0"]
        expected_answer = problem.expected_answer(CollectionOrder(order))
        assert expected_answer is not None
        assert expected_answer["id"] == expected


def test_assignment_equal_in_production_order_is_expected_once() -> None:
    problem = Problem(1, {"assignor": "sticky"}, expected={"id": "both"})
    assert problem.expected_answer(CollectionOrder.PRODUCTION) == {"id": "both"}
