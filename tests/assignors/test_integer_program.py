"""Integer programs end after a number of nodes, whatever the load of the machine."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from ortools.math_opt.python import mathopt

from assignors.integer_program import LinearProgram, solve_integer


def split(sizes: list[int], most: int, least: int = 0) -> LinearProgram:
    """Return a program that chooses sizes with a minimum and a maximum sum, and maximizes the sum."""
    number = len(sizes)
    return LinearProgram(
        objective=np.array(sizes, dtype=np.float64),
        lowest=np.zeros(number),
        highest=np.ones(number),
        row=np.zeros(number, dtype=np.int64),
        column=np.arange(number),
        coefficient=np.array(sizes, dtype=np.float64),
        lower=np.array([float(least)]),
        upper=np.array([float(most)]),
    )


def test_whole_numbers_are_chosen_and_their_worth_is_proven() -> None:
    answer = solve_integer(split([7, 5, 4], 10), 1.0)
    assert answer.values is not None
    assert np.rint(answer.values).tolist() == [0, 1, 1]
    assert answer.bound == pytest.approx(9.0)
    assert not answer.was_cut_off


def test_rows_that_nothing_meets_are_proven_to_be_so() -> None:
    answer = solve_integer(split([2, 4, 8], 7, 7), 1.0)
    assert answer.values is None
    assert answer.is_infeasible


def test_the_clock_has_four_times_the_seconds_that_nodes_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    solve = mathopt.solve

    def watched(model: mathopt.Model, solver: mathopt.SolverType, *, params: mathopt.SolveParameters) -> Any:
        asked.append(params)
        return solve(model, solver, params=params)

    monkeypatch.setattr(mathopt, "solve", watched)
    programme = split([7, 5, 4], 10)
    for seconds in (3.0, 6.0):
        solve_integer(programme, seconds)
    assert [each.time_limit for each in asked] == [timedelta(seconds=12), timedelta(seconds=24)]
    first, second = (each.highs.int_options["mip_max_nodes"] for each in asked)
    assert second == 2 * first > 1
