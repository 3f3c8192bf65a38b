"""The target of the incremental assignor: the cheapest balanced assignment, with costs from the current one."""

from __future__ import annotations

import numpy as np

from assignors.flow.even_flow import EvenFlowProblem, solve_even_flow
from assignors.flow.min_cost import MAX_COST
from assignors.model.columns import BoolArray, IntArray
from assignors.model.lags import best_available, caught_up, records_to_restore, scale_down
from assignors.model.state import ApplicationState, previous_holders
from assignors.objective.cost import HIGH_AVAILABILITY_WEIGHTS
from assignors.tasks.standby_flow import place_standbys
from assignors.tasks.task_placement import TaskPlacement

MOST_UNITS = 1 << 20
"""Maximum number of units in which records are measured: lags are rounded to this fraction of the largest."""

_TIE_FACTOR, _TIE_PRIME = 40_503, 1_000_003
"""Factors of tie-break costs: two placements practically never have the same sum."""


def cheapest_target(state: ApplicationState, reliable_standbys: int) -> TaskPlacement:
    """Place all tasks, regardless of which clients are caught up.

    Guarantees: stateful active tasks are balanced over threads: each client has its share rounded down or up. No such
    assignment costs less, with `traffic_cost` for each remote partition and `non_overlap_cost` for each task that
    leaves its `best_available` clients; none of the same cost has fewer records to restore, up to rounding (to a
    millionth of the largest lag, more coarsely where tasks times clients are many). Standbys are placed the same way
    after the active tasks; an existing copy costs only its traffic, and the lag of a caught-up copy does not count.
    Stateless tasks balance the active tasks.

    A partially reached target remains the target: the steps so far have made it cheaper than any other. Between equal
    targets, tie-break costs of tasks and clients decide.

    Priority: balance, then cost, then records, then staying. For standbys, separation comes first.

    Complexity: one flow over T·C arcs for active tasks, for standbys, and for stateless tasks.

    Args:
        state: the state to assign.
        reliable_standbys: number of standbys of a task to separate; all with `rack.aware.assignment.tags`.

    Returns:
        The placement.
    """
    placement = TaskPlacement(state)
    if not len(state.clients):
        return placement
    configs = state.assignment_configs
    weights = HIGH_AVAILABILITY_WEIGHTS.configured(configs)
    ran, held = previous_holders(state)
    remote, records = state.remote_partitions(state.tasks.source), records_to_restore(state)
    costs = weights.traffic_cost * remote + weights.non_overlap_cost * ~best_available(state)
    costs = _in_order(costs, records, ran, 2)
    _place(placement, np.flatnonzero(state.tasks.stateful), costs)
    if configs.num_standby_replicas > 0:
        is_caught_up = caught_up(state)
        lacking = ~(held | is_caught_up)
        # A running standby reports older offsets than a closed copy; by records, two copies would swap at each probing.
        standby_records = np.where(is_caught_up, 0, records)
        remote_changelogs = state.remote_partitions(state.tasks.changelog)
        standby_cost = weights.traffic_cost * remote_changelogs + weights.non_overlap_cost * lacking
        num_separated = configs.num_standby_replicas if configs.rack_aware_assignment_tags else reliable_standbys
        levels = len(state.tasks) * configs.num_standby_replicas + 3
        place_standbys(placement, _in_order(standby_cost, standby_records, held, levels), num_separated)
    _place(placement, np.flatnonzero(~state.tasks.stateful), remote * (len(state.clients) + 2) + ~ran)
    return placement


def _in_order(costs: IntArray, records: IntArray, stays: BoolArray, levels: int) -> IntArray:
    """Combine cost, records and staying into one cost, in this priority.

    A cycle of a flow changes at most one task of each client, so each cost is weighted by more than a cycle can change
    of the next. Records are measured in units such that the solver can represent the costs with `levels` levels above.

    Returns:
        Shape of `costs`.
    """
    if not costs.size:
        return costs
    num_tasks, num_clients = costs.shape
    above = (num_clients + 2) ** 3 * (int(costs.max(initial=0)) + 1) * levels
    units = min(max(MAX_COST // (above * num_tasks * (num_clients + 3)), 1), MOST_UNITS)
    tie_breaks = scale_down(records, units) * (num_clients + 2) + ~stays
    ordered: IntArray = costs * ((num_clients + 1) * (int(tie_breaks.max(initial=0)) + 1)) + tie_breaks
    return ordered


def _place(placement: TaskPlacement, rows: IntArray, costs: IntArray) -> None:
    if len(rows):
        taken = np.frombuffer(placement.active_count, dtype=np.int64).copy()
        tie = (rows[:, None] + 1) * (np.arange(costs.shape[1]) + 1) * _TIE_FACTOR % _TIE_PRIME
        flow = EvenFlowProblem(costs[rows], placement.state.clients.threads, taken, tie=tie)
        placement.move_actives(rows, solve_even_flow(flow))
