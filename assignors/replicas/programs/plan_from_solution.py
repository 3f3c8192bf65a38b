"""Conversion of a solved placement program to a plan, or to the reason why there is no plan."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import Plan, PlanStatus
from assignors.replicas.programs.placement_program import LimitScope, LoadLimit
from assignors.replicas.programs.solve import RoleProgramSolution
from assignors.replicas.programs.user_constraints import UserConstraintRow


def to_plan(
    problem: NormalizedProblem,
    solution: RoleProgramSolution,
    time_limit_s: float,
    *,
    replicas: IntArray | None = None,
    objective: str = "",
    value: float | None = None,
    bound: float | None = None,
) -> Plan:
    """Return the plan of a solution; `replicas` and later arguments are set only if the solution has a placement."""
    if replicas is None:
        return _no_plan(problem, solution, time_limit_s)
    notes = []
    if not solution.is_optimal:
        notes.append(f"not proven optimal: the bound is {bound:.12g}, this plan has {value:.12g}")
    if solution.was_cut_off:
        notes.append("the search hit its wall-clock limit; another run may give a different plan")
    status = PlanStatus.OPTIMAL if solution.is_optimal else PlanStatus.FEASIBLE
    is_proven = bound is not None and np.isfinite(bound)
    return Plan(status, replicas, "", objective, value, bound if is_proven else None, tuple(notes))


def _no_plan(problem: NormalizedProblem, solution: RoleProgramSolution, time_limit_s: float) -> Plan:
    if solution.violated_limit is not None:
        if isinstance(solution.violated_limit, UserConstraintRow):
            reason = f"constraint '{solution.violated_limit.name}' cannot be met within the other limits"
        else:
            reason = _limit_message(problem, *solution.violated_limit)
        return Plan.without_replicas(PlanStatus.INFEASIBLE, reason)
    if solution.is_infeasible:
        return Plan.without_replicas(
            PlanStatus.INFEASIBLE, "no integer solution meets all limits at once; relax the limits"
        )
    return Plan.without_replicas(PlanStatus.FAILED, f"no plan found within {time_limit_s:g} s; a plan may exist")


def _limit_message(problem: NormalizedProblem, limit: LoadLimit, group: int) -> str:
    state = problem.canonical.state
    rack = state.rack[problem.brokers[problem.rack == group]]
    names = {
        LimitScope.PARTITION: lambda: state.name(group),
        LimitScope.BROKER: lambda: f"broker {state.ids[problem.brokers[group]]}",
        LimitScope.RACK: lambda: f"rack {state.racks[rack[0]]}",
    }
    return f"{names[limit.scope]()} cannot have {limit.lower[group]:.12g} {limit.counted} within the other limits"
