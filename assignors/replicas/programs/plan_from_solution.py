"""From a solved placement programme to a plan, or to the reason why there is none."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import Plan, PlanStatus
from assignors.replicas.programs.placement_program import LimitScope, LoadLimit
from assignors.replicas.programs.solve import RoleProgramSolution
from assignors.replicas.programs.user_constraints import UserConstraintRow


def to_plan(
    question: NormalizedProblem,
    solution: RoleProgramSolution,
    time_limit_s: float,
    *,
    replicas: IntArray | None = None,
    objective: str = "",
    value: float | None = None,
    bound: float | None = None,
) -> Plan:
    """What a strategy answers; `replicas` and what follows only where the solution holds a placement."""
    if replicas is None:
        return _nothing(question, solution, time_limit_s)
    notes = []
    if not solution.is_optimal:
        notes.append(f"not proven to be the best: nothing is better than {bound:.12g}, this is {value:.12g}")
    if solution.was_cut_off:
        notes.append("stopped by the clock; another run may come out differently")
    status = PlanStatus.OPTIMAL if solution.is_optimal else PlanStatus.FEASIBLE
    is_proven = bound is not None and np.isfinite(bound)
    return Plan(status, replicas, "", objective, value, bound if is_proven else None, tuple(notes))


def _nothing(question: NormalizedProblem, solution: RoleProgramSolution, time_limit_s: float) -> Plan:
    if solution.lack is not None:
        if isinstance(solution.lack, UserConstraintRow):
            reason = f"constraint '{solution.lack.name}' cannot hold within the other limits"
        else:
            reason = _lack(question, *solution.lack)
        return Plan.none(PlanStatus.INFEASIBLE, reason)
    if solution.is_infeasible:
        return Plan.none(PlanStatus.INFEASIBLE, "no whole replicas keep to every limit at once; give the limits room")
    return Plan.none(
        PlanStatus.FAILED, f"nothing was found that {time_limit_s:g} s are enough for; there may be a plan"
    )


def _lack(question: NormalizedProblem, limit: LoadLimit, group: int) -> str:
    state = question.told.state
    rack = state.rack[question.brokers[question.rack == group]]
    names = {
        LimitScope.PARTITION: lambda: state.name(group),
        LimitScope.BROKER: lambda: f"broker {state.ids[question.brokers[group]]}",
        LimitScope.RACK: lambda: f"rack {state.racks[rack[0]]}",
    }
    return f"{names[limit.group]()} cannot have {limit.lower[group]:.12g} {limit.what} within the other limits"
