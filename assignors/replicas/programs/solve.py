"""Solution of placement programs.

Guarantees: the bound holds for every placement. The same program gives the same solution unless the wall-clock limit
ends the search; `was_cut_off` reports that.
Priority: a placement that meets all limits, then its weight.
Complexity: see `pooled_program` for limits that count replicas. Limits that weigh them need one binary per cell and
role, with exponential search in the worst case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from assignors.integer_program import LinearProgram, ProgramSolution, solve_integer, solve_relaxed, with_shortfalls
from assignors.replicas.programs import flow_heuristic
from assignors.replicas.programs.flow_relaxation import relax_to_flow
from assignors.replicas.programs.placement_program import LoadLimit, RoleAssignment, RoleProgram
from assignors.replicas.programs.pooled_program import build_pooled_program, disaggregate, num_variables
from assignors.replicas.programs.user_constraints import UserConstraintRow
from assignors.replicas.state import NO_BROKER

_POOL_VARIABLES = 12_000
"""Approximate number of variables of a pooled program that are solved in 1 s; 4 s solve twice as many."""

_CELL_VARIABLES = 75_000
"""Approximate number of variables of a program over all cells that are solved in 1 s; 4 s solve twice as many."""

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RoleProgramSolution:
    """The solution of a placement program.

    Attributes:
        placement: the placement; None if none was found.
        value: the weight of the placement; -inf without one.
        bound: an upper bound on the weight of every placement.
        is_infeasible: whether it is proven that no placement exists.
        violated_limit: a limit that cannot be met together with the others and its group, or a user's constraint; only
            without a placement.
        was_cut_off: whether the wall-clock limit ended the search.
    """

    placement: RoleAssignment | None
    value: float
    bound: float
    is_infeasible: bool = False
    violated_limit: tuple[LoadLimit, int] | UserConstraintRow | None = None
    was_cut_off: bool = False

    @property
    def is_optimal(self) -> bool:
        """Return whether the placement is proven optimal."""
        return self.placement is not None and self.value >= self.bound - _TOLERANCE


def solve(program: RoleProgram, time_limit_s: float) -> RoleProgramSolution:
    """Find the placement with the highest weight within a time limit.

    A program that is too large for the time limit is not searched, so that the solution does not depend on the machine.
    Flows then give a placement and a bound. At most two searches run, each with the full time limit. Returns the best
    placement found, and an upper bound.
    """
    best = _solve_by_flow(program)
    for search in (_solve_pooled, _solve_all_cells):
        if not best.is_optimal and not best.is_infeasible:
            best = search(program, best, time_limit_s)
    return replace(best, is_infeasible=best.is_infeasible or best.bound == -np.inf)


def _solve_by_flow(program: RoleProgram) -> RoleProgramSolution:
    if any(limit.weight is not None for limit in program.limits):
        return RoleProgramSolution(None, -np.inf, _trivial_bound(program))
    of_one_role, all_roles = relax_to_flow(program.of_one_role()), relax_to_flow(program)
    if of_one_role is None or all_roles is None:
        return RoleProgramSolution(None, -np.inf, -np.inf)
    bound = min(of_one_role.bound, all_roles.bound)
    placement = flow_heuristic.place_by_flow(program, of_one_role.values)
    return _solution(
        program, None if placement is None or not program.satisfies_user_constraints(placement) else placement, bound
    )


def _solve_pooled(program: RoleProgram, first: RoleProgramSolution, time_limit_s: float) -> RoleProgramSolution:
    if program.user_rows or any(limit.weight is not None for limit in program.limits):
        return first
    if num_variables(program) > _POOL_VARIABLES * math.sqrt(time_limit_s):
        return first
    linear_program = build_pooled_program(program)
    answer = solve_integer(linear_program, time_limit_s)
    if answer.is_infeasible:
        return replace(
            first, is_infeasible=True, violated_limit=_find_violated_limit(program, linear_program, time_limit_s)
        )
    bound = min(first.bound, answer.bound)
    placement = None if answer.values is None else disaggregate(program, np.rint(answer.values).astype(np.int64))
    return _better(_solution(program, placement, bound), first, answer)


def _solve_all_cells(program: RoleProgram, first: RoleProgramSolution, time_limit_s: float) -> RoleProgramSolution:
    num_cells = len(program.held) * program.num_brokers
    if num_cells * program.num_roles > _CELL_VARIABLES * math.sqrt(time_limit_s):
        return first
    cells = program.all_cells()
    linear_program = program.linear_program(cells)
    answer = solve_integer(linear_program, time_limit_s)
    if answer.is_infeasible:
        return replace(
            first, is_infeasible=True, violated_limit=_find_violated_limit(program, linear_program, time_limit_s)
        )
    bound = min(first.bound, answer.bound)
    placement = None
    if answer.values is not None:
        role, cell = np.nonzero(answer.values.reshape(program.num_roles, len(cells)) > 0.5)
        placement = RoleAssignment(program.cells(program.flat(cells)[cell]), role[np.argsort(cell, kind="stable")])
    return _better(_solution(program, placement, bound), first, answer)


def _better(candidate: RoleProgramSolution, first: RoleProgramSolution, answer: ProgramSolution) -> RoleProgramSolution:
    best = candidate if candidate.value > first.value else replace(first, bound=candidate.bound)
    return replace(best, was_cut_off=first.was_cut_off or answer.was_cut_off)


def _solution(program: RoleProgram, placement: RoleAssignment | None, bound: float) -> RoleProgramSolution:
    if placement is None:
        return RoleProgramSolution(None, -np.inf, bound)
    objective = program.objective(placement.cells).reshape(program.num_roles, len(placement.cells))
    return RoleProgramSolution(
        placement, float(np.take_along_axis(objective, placement.role[None, :], axis=0).sum()), bound
    )


def _trivial_bound(program: RoleProgram) -> float:
    """Return the weight if no replica moves and every replica has its best role."""
    return float(np.where(program.held != NO_BROKER, program.weight.max(axis=2), 0).sum())


def _find_violated_limit(
    program: RoleProgram, linear_program: LinearProgram, time_limit_s: float
) -> tuple[LoadLimit, int] | UserConstraintRow | None:
    """Return the row with the largest shortfall; None if the relaxation with fractional replicas meets all limits."""
    short = with_shortfalls(linear_program)
    answer = solve_relaxed(short, time_limit_s)
    if answer.values is None:
        return None
    shortfalls = answer.values[len(linear_program.objective) :]
    if shortfalls.max(initial=0.0) < _TOLERANCE:
        return None
    return program.limit_of_row(int(np.flatnonzero(linear_program.lower > 0)[shortfalls.argmax()]))
