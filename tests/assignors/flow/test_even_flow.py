"""Placement of tasks by evenness, then cost, then tie-break costs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assignors.flow.min_cost import EvenFlowProblem, solve_even_flow
from assignors.model.columns import IntArray


def random_problem(seed: int, *, grouped: bool) -> EvenFlowProblem:
    rng = np.random.default_rng(seed)
    tasks, clients = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    return EvenFlowProblem(
        costs=rng.integers(-1, 3, (tasks, clients)),
        threads=rng.integers(1, 4, clients),
        taken=rng.integers(0, 4, clients),
        group=np.sort(rng.integers(0, 3, tasks)) if grouped else None,
        tie=rng.integers(0, 50, (tasks, clients)),
    )


def unevenness(problem: EvenFlowProblem, counts: list[int]) -> int:
    """Return 1 for each task beyond the share rounded down, plus 1 for each further task per thread."""
    total, sum_threads = int(problem.taken.sum()) + len(problem.costs), int(problem.threads.sum())
    levels = 0
    for count, taken, threads in zip(counts, problem.taken.tolist(), problem.threads.tolist(), strict=True):
        low, high = total * threads // sum_threads, -(-total * threads // sum_threads)
        for number in range(taken + 1, taken + count + 1):
            levels += 0 if number <= low else 1 if number <= high else 1 - (high - number) // threads
    return levels


def objective(problem: EvenFlowProblem, owner: IntArray) -> tuple[int, int, int]:
    counts = np.bincount(owner, minlength=len(problem.threads)).tolist()
    rows = np.arange(len(owner))
    assert problem.tie is not None
    return unevenness(problem, counts), int(problem.costs[rows, owner].sum()), int(problem.tie[rows, owner].sum())


def is_spread(problem: EvenFlowProblem, owner: IntArray) -> bool:
    if problem.group is None:
        return True
    total = int(problem.threads.sum())
    for group in np.unique(problem.group):
        inside = owner[problem.group == group]
        counts = np.bincount(inside, minlength=len(problem.threads))
        shares = len(inside) * problem.threads
        if (counts < shares // total).any() or (counts > -(-shares // total)).any():
            return False
    return True


@pytest.mark.parametrize("grouped", [False, True])
def test_placement_matches_exhaustive_search(grouped: bool) -> None:
    for seed in range(120):
        problem = random_problem(seed, grouped=grouped)
        clients = range(len(problem.threads))
        choices = [np.array(choice) for choice in itertools.product(clients, repeat=len(problem.costs))]
        owner = solve_even_flow(problem)
        assert is_spread(problem, owner), seed
        assert objective(problem, owner) == min(
            objective(problem, rows) for rows in choices if is_spread(problem, rows)
        ), seed
