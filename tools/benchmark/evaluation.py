"""The assignments of an entry for an instance: the first one, and the final one of rebalances without any change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from assignors import registry
from assignors.contract.invariants import compute
from assignors.contract.settling import ROUNDS, carried_out, is_same
from assignors.errors import AssignorError
from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.state import ApplicationState, previous_holders
from assignors.model.traffic_rates import RateAwareAssignor
from scenarios.problem_answers import solve_problem
from scenarios.problems import Problem, parse_problem
from simulator.assignment.measures import measure
from tools.benchmark.entries import Entry
from tools.benchmark.optima import Optimum, cost_of, is_balanced

FIELDS = (
    "instance",
    "entry",
    "outcome",
    "rounds",
    "balanced",
    "cost",
    "cross_rack_source_partitions",
    "moved_copies",
    "load_skew",
    "subtopology_skew",
)
_FIELD = {
    "rack.aware.assignment.strategy": "rack_aware_assignment_strategy",
    "rack.aware.assignment.traffic_cost": "rack_aware_traffic_cost",
    "rack.aware.assignment.non_overlap_cost": "rack_aware_non_overlap_cost",
}
"""Fields of problems, by config key."""

ANSWER_FIELDS = ("assignment", "probing_rebalance", "active_cost", "stateless_cost", "standby_cost", "error")


def with_configs(problem: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    """Return a problem with the assignor and the configs of an entry."""
    changed = {_FIELD[key]: value for key, value in entry.configs.items()}
    return {**problem, "assignor": entry.assignor, "configs": {**problem["configs"], **changed}}


def answer(problem: Mapping[str, Any], entry: Entry, assignor: str | None = None) -> dict[str, Any]:
    """Return the first assignment of an entry, or of another assignor with its configs, without times."""
    info = registry.load(assignor or entry.assignor)
    # Costs are those of the registered assignor, whose defaults Kafka's class has.
    weights = registry.find(entry.assignor).weights
    solved = solve_problem(Problem(1, with_configs(problem, entry)), str(problem["id"]), replace(info, weights=weights))
    return {key: solved[key] for key in ANSWER_FIELDS}


def evaluate(problem: Mapping[str, Any], entry: Entry, optimum: Optimum | None) -> dict[str, str]:
    """Return the figures of the final assignment of an entry for an instance, as a row of CSV.

    Every copy of an assignment has caught up before the next rebalance, of which there are at most 50.
    """
    state = parse_problem(with_configs(problem, entry))
    row = dict.fromkeys(FIELDS, "") | {"instance": str(problem["id"]), "entry": entry.name}
    assignor = entry.reviewed().make()
    if isinstance(assignor, RateAwareAssignor) and assignor.needs_rates:
        return row | {"outcome": "needs rates"}
    try:
        final, rounds = _settled(state, assignor)
    except AssignorError as error:
        return row | {"outcome": f"error: {error}"}
    if final is None:
        return row | {"outcome": "not settled"}
    figures = measure(state, final)
    cost = cost_of(state, final)
    remote = figures.cross_rack_source_partitions
    return row | {
        "outcome": "settled",
        "rounds": str(rounds),
        "balanced": str(int(is_balanced(state, final, optimum.slack if optimum else 0))),
        "cost": "" if cost is None else str(cost),
        "cross_rack_source_partitions": "" if remote is None else str(remote),
        "moved_copies": str(_moved(state, final)),
        "load_skew": f"{figures.load_skew:.10g}",
        "subtopology_skew": str(figures.subtopology_skew),
    }


def _settled(state: ApplicationState, assignor: TaskAssignor) -> tuple[AssignmentColumns | None, int]:
    """Return the assignment that two rebalances in a row give, and the number of rebalances to it; None without."""
    configs = state.assignment_configs
    warmups = max(len(state.tasks), configs.max_warmup_replicas)
    current = replace(state, assignment_configs=replace(configs, max_warmup_replicas=warmups))
    last: AssignmentColumns | None = None
    for number in range(1, ROUNDS + 1):
        found = compute(current, assignor)
        if last is not None and is_same(found, last):
            return found, number - 1
        last, current = found, carried_out(current, found)
    return None, ROUNDS


def _moved(state: ApplicationState, columns: AssignmentColumns) -> int:
    """Return the number of copies of stateful tasks on clients that held no copy of the task."""
    _, held = previous_holders(state)
    placed = columns.standby.copy()
    placed[np.arange(len(state.tasks)), columns.active] = True
    return int((placed & ~held)[state.tasks.stateful].sum())
