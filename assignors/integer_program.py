"""Linear and integer programs in arrays, solved by HiGHS.

Guarantees: one thread, a fixed seed and a limit on the nodes of the search make the solution reproducible. A wall-clock
limit ends only searches that take far longer, and `was_cut_off` reports that. HiGHS counts nodes after the root node,
which takes some seconds for large programs.
Complexity: building a program takes time and memory linear in the number of coefficients; solving is exponential in the
worst case.
Source: HiGHS through `ortools.math_opt`, whose models are read from protocol buffers with whole columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assignors.model.columns import BoolArray, IntArray

if TYPE_CHECKING:
    from ortools.math_opt.python.mathopt import Model, SolveParameters, SolveResult

FloatArray = npt.NDArray[np.float64]

_NODE_COEFFICIENTS_PER_S = 2_000_000
"""Minimum of coefficients times nodes that a search processes per second."""

_WALL_FACTOR = 4.0
"""Multiple of the time limit at which the clock ends a search."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """Maximize `objective` over variables between `lowest` and `highest`, subject to rows between `lower` and `upper`.

    Attributes:
        row: row of each coefficient, sorted; within a row, columns are sorted.
        column: variable of each coefficient.
    """

    objective: FloatArray
    lowest: FloatArray
    highest: FloatArray
    row: IntArray
    column: IntArray
    coefficient: FloatArray
    lower: FloatArray
    upper: FloatArray


def build_program(
    objective: FloatArray,
    lowest: FloatArray,
    highest: FloatArray,
    terms: tuple[IntArray, IntArray, FloatArray],
    lower: FloatArray,
    upper: FloatArray,
) -> LinearProgram:
    """Return a program from terms (row, column, coefficient) in any order."""
    row, column, coefficient = terms
    order = np.lexsort((column, row))
    return LinearProgram(objective, lowest, highest, row[order], column[order], coefficient[order], lower, upper)


def with_shortfalls(program: LinearProgram) -> LinearProgram:
    """Return a program with the same rows that minimizes their shortfalls.

    Each row with a positive lower bound gets a variable for its shortfall, with objective -1; the other objectives are
    0. The new variables are last, in the order of their rows.
    """
    size, demand_rows = len(program.objective), np.flatnonzero(program.lower > 0)
    terms = (
        np.concatenate([program.row, demand_rows]),
        np.concatenate([program.column, size + np.arange(len(demand_rows))]),
        np.concatenate([program.coefficient, np.ones(len(demand_rows))]),
    )
    return build_program(
        np.concatenate([np.zeros(size), np.full(len(demand_rows), -1.0)]),
        np.concatenate([program.lowest, np.zeros(len(demand_rows))]),
        np.concatenate([program.highest, program.lower[demand_rows]]),
        terms,
        program.lower,
        program.upper,
    )


@dataclass(frozen=True, slots=True, eq=False)
class ProgramSolution:
    """The result of a search.

    Attributes:
        values: value of each variable; None if no solution was found.
        is_infeasible: whether the rows are proven to be infeasible.
        bound: upper bound of the objective; infinite if nothing was proven.
        was_cut_off: whether the clock ended the search; another run may then return another result.
    """

    values: FloatArray | None
    is_infeasible: bool
    bound: float
    was_cut_off: bool = False


def solve_relaxed(program: LinearProgram, time_limit_s: float) -> ProgramSolution:
    """Solve a linear program.

    `time_limit_s`: time limit; the clock ends the search after four times as long.
    """
    return _solve(program, np.zeros(len(program.objective), dtype=np.bool_), time_limit_s)


def solve_integer(program: LinearProgram, time_limit_s: float) -> ProgramSolution:
    """Solve an integer program.

    `time_limit_s`: approximate time limit. It is converted to a number of nodes, so that the result does not depend on
    the machine or its load. The clock ends the search only after four times as long.
    """
    return _solve(program, np.ones(len(program.objective), dtype=np.bool_), time_limit_s)


def _solve(program: LinearProgram, is_integer: BoolArray, time_limit_s: float) -> ProgramSolution:
    from ortools.math_opt.python import mathopt

    model = _model(program, is_integer)
    limit = max(time_limit_s, 0.1)
    nodes = max(1, int(limit * _NODE_COEFFICIENTS_PER_S / max(1, len(program.row))))
    result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=_parameters(limit * _WALL_FACTOR, nodes))
    return _to_solution(model, result)


def _parameters(clock_s: float, nodes: int) -> SolveParameters:
    from ortools.math_opt.python import mathopt

    parameters = mathopt.SolveParameters(
        time_limit=timedelta(seconds=clock_s), random_seed=0, relative_gap_tolerance=0.0
    )
    parameters.highs.string_options["parallel"] = "off"
    for option in ("mip_heuristic_run_feasibility_jump", "mip_detect_symmetry"):
        parameters.highs.bool_options[option] = False
    parameters.highs.int_options["mip_max_nodes"] = nodes
    return parameters


def _to_solution(model: Model, result: SolveResult) -> ProgramSolution:
    from ortools.math_opt.python import mathopt

    reason, limit = result.termination.reason, result.termination.limit
    reasons = mathopt.TerminationReason
    has_values = result.has_primal_feasible_solution()
    values = np.array(result.variable_values(list(model.variables()))) if has_values else None
    return ProgramSolution(
        values=values,
        is_infeasible=reason in (reasons.INFEASIBLE, reasons.INFEASIBLE_OR_UNBOUNDED),
        bound=result.termination.objective_bounds.dual_bound,
        was_cut_off=limit == mathopt.Limit.TIME,
    )


def _model(program: LinearProgram, is_integer: BoolArray) -> Model:
    from ortools.math_opt.model_pb2 import ModelProto
    from ortools.math_opt.python import mathopt

    proto = ModelProto()
    proto.variables.ids.extend(range(len(program.objective)))
    proto.variables.lower_bounds.extend(program.lowest)
    proto.variables.upper_bounds.extend(program.highest)
    proto.variables.integers.extend(is_integer.tolist())
    proto.linear_constraints.ids.extend(range(len(program.lower)))
    proto.linear_constraints.lower_bounds.extend(program.lower)
    proto.linear_constraints.upper_bounds.extend(program.upper)
    proto.objective.maximize = True
    valued = np.flatnonzero(program.objective)
    proto.objective.linear_coefficients.ids.extend(valued)
    proto.objective.linear_coefficients.values.extend(program.objective[valued])
    proto.linear_constraint_matrix.row_ids.extend(program.row)
    proto.linear_constraint_matrix.column_ids.extend(program.column)
    proto.linear_constraint_matrix.coefficients.extend(program.coefficient)
    return mathopt.Model.from_model_proto(proto)
