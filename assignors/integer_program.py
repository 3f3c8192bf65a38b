"""Linear and integer programmes, arrays in and arrays out.

Guarantees: one thread, a fixed seed and a limit in nodes of the search, so that the same programme gives the same
answer; the clock ends only what takes far longer than that, and then `was_cut_off` says so. Nodes are counted once the
first is done, which on large programmes takes some seconds.
Complexity: building takes time and memory linear in the coefficients; solving is exponential at worst.
Source: HiGHS, through `ortools.math_opt`, whose models are read from protocol buffers of whole columns.
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
"""Coefficients times nodes that a search gets through in a second, at least."""

_WALL_FACTOR = 4.0
"""The clock ends what takes so many times longer than it should."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """Choose values, `lowest` to `highest` each, that make `objective` as large as it can be.

    Attributes:
        objective: what one of each variable is worth.
        lowest: the least each variable may be.
        highest: the most.
        row: the row of each coefficient; sorted, and columns within a row, too.
        column: its variable.
        coefficient: its size.
        lower: the least each row may come to.
        upper: the most.
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
    """A programme from terms (row, column, coefficient) in any order."""
    row, column, coefficient = terms
    order = np.lexsort((column, row))
    return LinearProgram(objective, lowest, highest, row[order], column[order], coefficient[order], lower, upper)


def with_shortfalls(programme: LinearProgram) -> LinearProgram:
    """The same rows, with a variable more for each that asks for something: what it lacks, at -1 each.

    Nothing else has any worth. The variables stand last, in the order of their rows.
    """
    size, asking = len(programme.objective), np.flatnonzero(programme.lower > 0)
    terms = (
        np.concatenate([programme.row, asking]),
        np.concatenate([programme.column, size + np.arange(len(asking))]),
        np.concatenate([programme.coefficient, np.ones(len(asking))]),
    )
    return build_program(
        np.concatenate([np.zeros(size), np.full(len(asking), -1.0)]),
        np.concatenate([programme.lowest, np.zeros(len(asking))]),
        np.concatenate([programme.highest, programme.lower[asking]]),
        terms,
        programme.lower,
        programme.upper,
    )


@dataclass(frozen=True, slots=True, eq=False)
class ProgramSolution:
    """What came of a programme.

    Attributes:
        values: one a variable; None if nothing was found.
        is_infeasible: whether it is proven that no values meet the rows.
        bound: what nothing is worth more than; infinite if nothing was proven.
        was_cut_off: whether the clock ended it; another run may then come out differently.
    """

    values: FloatArray | None
    is_infeasible: bool
    bound: float
    was_cut_off: bool = False


def solve_relaxed(programme: LinearProgram, time_limit_s: float) -> ProgramSolution:
    """Solve it as a linear programme, which has no nodes; `time_limit_s` counts by the clock as in `solve_integer`."""
    return _solve(programme, np.zeros(len(programme.objective), dtype=np.bool_), time_limit_s)


def solve_integer(programme: LinearProgram, time_limit_s: float) -> ProgramSolution:
    """Solve it in whole numbers.

    Args:
        programme: what to solve.
        time_limit_s: how long it may take, about: it stands for a number of nodes, so that the outcome does not hang
            on the machine or on what else runs there. The clock ends the search only after four times as long.
    """
    return _solve(programme, np.ones(len(programme.objective), dtype=np.bool_), time_limit_s)


def _solve(programme: LinearProgram, is_whole: BoolArray, time_limit_s: float) -> ProgramSolution:
    from ortools.math_opt.python import mathopt

    model = _model(programme, is_whole)
    limit = max(time_limit_s, 0.1)
    nodes = max(1, int(limit * _NODE_COEFFICIENTS_PER_S / max(1, len(programme.row))))
    result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=_parameters(limit * _WALL_FACTOR, nodes))
    return _answer(model, result)


def _parameters(clock_s: float, nodes: int) -> SolveParameters:
    from ortools.math_opt.python import mathopt

    parameters = mathopt.SolveParameters(
        time_limit=timedelta(seconds=clock_s), random_seed=0, relative_gap_tolerance=0.0
    )
    parameters.highs.string_options["parallel"] = "off"
    for unhelpful in ("mip_heuristic_run_feasibility_jump", "mip_detect_symmetry"):
        parameters.highs.bool_options[unhelpful] = False
    parameters.highs.int_options["mip_max_nodes"] = nodes
    return parameters


def _answer(model: Model, result: SolveResult) -> ProgramSolution:
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


def _model(programme: LinearProgram, is_whole: BoolArray) -> Model:
    from ortools.math_opt.model_pb2 import ModelProto
    from ortools.math_opt.python import mathopt

    proto = ModelProto()
    proto.variables.ids.extend(range(len(programme.objective)))
    proto.variables.lower_bounds.extend(programme.lowest)
    proto.variables.upper_bounds.extend(programme.highest)
    proto.variables.integers.extend(is_whole.tolist())
    proto.linear_constraints.ids.extend(range(len(programme.lower)))
    proto.linear_constraints.lower_bounds.extend(programme.lower)
    proto.linear_constraints.upper_bounds.extend(programme.upper)
    proto.objective.maximize = True
    valued = np.flatnonzero(programme.objective)
    proto.objective.linear_coefficients.ids.extend(valued)
    proto.objective.linear_coefficients.values.extend(programme.objective[valued])
    proto.linear_constraint_matrix.row_ids.extend(programme.row)
    proto.linear_constraint_matrix.column_ids.extend(programme.column)
    proto.linear_constraint_matrix.coefficients.extend(programme.coefficient)
    return mathopt.Model.from_model_proto(proto)
