"""Integer programs end after a number of nodes, whatever the load of the machine."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from ortools.math_opt.python import mathopt

from assignors.integer_program import LinearProgram, solve_integer


def split(sizes: list[int], max_sum: int, min_sum: int = 0) -> LinearProgram:
    """Return a program that chooses sizes with a minimum and a maximum sum, and maximizes the sum."""
    number = len(sizes)
    return LinearProgram(
        objective=np.array(sizes, dtype=np.float64),
        lowest=np.zeros(number),
        highest=np.ones(number),
        row=np.zeros(number, dtype=np.int64),
        column=np.arange(number),
        coefficient=np.array(sizes, dtype=np.float64),
        lower=np.array([float(min_sum)]),
        upper=np.array([float(max_sum)]),
    )


def test_integer_solution_has_a_proven_value() -> None:
    solution = solve_integer(split([7, 5, 4], 10), 1.0)
    assert solution.values is not None
    assert np.rint(solution.values).tolist() == [0, 1, 1]
    assert solution.bound == pytest.approx(9.0)
    assert not solution.was_cut_off


def test_infeasible_rows_are_proven_infeasible() -> None:
    solution = solve_integer(split([2, 4, 8], 7, 7), 1.0)
    assert solution.values is None
    assert solution.is_infeasible


def test_wall_clock_limit_is_four_times_the_node_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    solve = mathopt.solve

    def record_parameters(model: mathopt.Model, solver: mathopt.SolverType, *, params: mathopt.SolveParameters) -> Any:
        calls.append(params)
        return solve(model, solver, params=params)

    monkeypatch.setattr(mathopt, "solve", record_parameters)
    program = split([7, 5, 4], 10)
    for seconds in (3.0, 6.0):
        solve_integer(program, seconds)
    assert [parameters.time_limit for parameters in calls] == [timedelta(seconds=12), timedelta(seconds=24)]
    first, second = (parameters.highs.int_options["mip_max_nodes"] for parameters in calls)
    assert second == 2 * first > 1
