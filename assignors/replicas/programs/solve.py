"""Solving placement programmes.

Guarantees: the bound holds for every placement. The same programme gives the same answer unless the clock ends it, and
then the answer says so.
Priority: a placement that holds all limits first; then worth.
Complexity: see `programmes.pooled` for limits that count replicas. Limits that weigh them need a binary for every cell
and role, and a search that is exponential at worst.
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
"""As many variables of a programme with pools are solved in a second, about; four times the time takes double."""

_CELL_VARIABLES = 75_000
"""The same of a programme over all cells."""

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RoleProgramSolution:
    """What came of a placement programme.

    Attributes:
        placement: who has what; None if nothing was found.
        worth: what that is worth; -inf without one.
        bound: what no placement is worth more than.
        is_infeasible: whether it is proven that there is no placement.
        lack: a limit that cannot hold along with the others, and its group, or a constraint of the user's own; only
            where there is no placement.
        was_cut_off: whether the clock ended the search.
    """

    placement: RoleAssignment | None
    worth: float
    bound: float
    is_infeasible: bool = False
    lack: tuple[LoadLimit, int] | UserConstraintRow | None = None
    was_cut_off: bool = False

    @property
    def is_optimal(self) -> bool:
        """Whether the placement is proven to be the best."""
        return self.placement is not None and self.worth >= self.bound - _TOLERANCE


def solve(programme: RoleProgram, time_limit_s: float) -> RoleProgramSolution:
    """Find the placement that is worth most within a time.

    A programme that is too large for the time is not begun, so that what comes out does not hang on the clock; flows
    give a placement then, and a bound. There are two searches at most, each of which has the time.
    """
    best = _by_flow(programme)
    for search in (_over_pools, _over_all_cells):
        if not best.is_optimal and not best.is_infeasible:
            best = search(programme, best, time_limit_s)
    return replace(best, is_infeasible=best.is_infeasible or best.bound == -np.inf)


def _by_flow(programme: RoleProgram) -> RoleProgramSolution:
    if any(limit.weight is not None for limit in programme.limits):
        return RoleProgramSolution(None, -np.inf, _worth_of_all(programme))
    of_one_role, of_all = relax_to_flow(programme.of_one_role()), relax_to_flow(programme)
    if of_one_role is None or of_all is None:
        return RoleProgramSolution(None, -np.inf, -np.inf)
    bound = min(of_one_role.worth, of_all.worth)
    found = flow_heuristic.place_by_flow(programme, of_one_role.values)
    return _solution(
        programme, None if found is None or not programme.satisfies_user_constraints(found) else found, bound
    )


def _over_pools(programme: RoleProgram, first: RoleProgramSolution, time_limit_s: float) -> RoleProgramSolution:
    if programme.own or any(limit.weight is not None for limit in programme.limits):
        return first
    if num_variables(programme) > _POOL_VARIABLES * math.sqrt(time_limit_s):
        return first
    whole = build_pooled_program(programme)
    answer = solve_integer(whole, time_limit_s)
    if answer.is_infeasible:
        return replace(first, is_infeasible=True, lack=_lack(programme, whole, time_limit_s))
    bound = min(first.bound, answer.bound)
    placement = None if answer.values is None else disaggregate(programme, np.rint(answer.values).astype(np.int64))
    return _better(_solution(programme, placement, bound), first, answer)


def _over_all_cells(programme: RoleProgram, first: RoleProgramSolution, time_limit_s: float) -> RoleProgramSolution:
    num_cells = len(programme.held) * programme.num_brokers
    if num_cells * programme.num_roles > _CELL_VARIABLES * math.sqrt(time_limit_s):
        return first
    cells = programme.all_cells()
    whole = programme.programme(cells)
    answer = solve_integer(whole, time_limit_s)
    if answer.is_infeasible:
        return replace(first, is_infeasible=True, lack=_lack(programme, whole, time_limit_s))
    bound = min(first.bound, answer.bound)
    placement = None
    if answer.values is not None:
        role, cell = np.nonzero(answer.values.reshape(programme.num_roles, len(cells)) > 0.5)
        placement = RoleAssignment(programme.cells(programme.flat(cells)[cell]), role[np.argsort(cell, kind="stable")])
    return _better(_solution(programme, placement, bound), first, answer)


def _better(found: RoleProgramSolution, first: RoleProgramSolution, answer: ProgramSolution) -> RoleProgramSolution:
    best = found if found.worth > first.worth else replace(first, bound=found.bound)
    return replace(best, was_cut_off=first.was_cut_off or answer.was_cut_off)


def _solution(programme: RoleProgram, placement: RoleAssignment | None, bound: float) -> RoleProgramSolution:
    if placement is None:
        return RoleProgramSolution(None, -np.inf, bound)
    objective = programme.objective(placement.cells).reshape(programme.num_roles, len(placement.cells))
    return RoleProgramSolution(
        placement, float(np.take_along_axis(objective, placement.role[None, :], axis=0).sum()), bound
    )


def _worth_of_all(programme: RoleProgram) -> float:
    """What it is worth if nothing moves and every replica has the role that is worth most."""
    return float(np.where(programme.held != NO_BROKER, programme.worth.max(axis=2), 0).sum())


def _lack(
    programme: RoleProgram, whole: LinearProgram, time_limit_s: float
) -> tuple[LoadLimit, int] | UserConstraintRow | None:
    """The row that lacks most; None if the limits hold as long as replicas may be cut up."""
    short = with_shortfalls(whole)
    answer = solve_relaxed(short, time_limit_s)
    if answer.values is None:
        return None
    lacking = answer.values[len(whole.objective) :]
    if lacking.max(initial=0.0) < _TOLERANCE:
        return None
    return programme.row_name(int(np.flatnonzero(whole.lower > 0)[lacking.argmax()]))
