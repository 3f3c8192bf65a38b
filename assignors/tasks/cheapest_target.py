"""What to reach: the cheapest even assignment, counted from what the clients have now."""

from __future__ import annotations

import numpy as np

from assignors.flow.even_flow import EvenFlowProblem, solve
from assignors.flow.min_cost import MAX_COST
from assignors.model.columns import BoolArray, IntArray
from assignors.model.lags import best_available, caught_up, records_to_restore, scaled
from assignors.model.state import ApplicationState
from assignors.model.state import previous_holders
from assignors.tasks.high_availability import DEFAULT_NON_OVERLAP_COST, DEFAULT_TRAFFIC_COST
from assignors.tasks.standby_flow import place_standbys
from assignors.tasks.task_placement import TaskPlacement

MOST_UNITS = 1 << 20
"""To how many units records are told apart at most: a lag counts to this part of the largest one."""

_TIE_FACTOR, _TIE_PRIME = 40_503, 1_000_003
"""Make numbers up for tasks and clients such that no two placements come to the same sum, by any likelihood."""


def cheapest_target(state: ApplicationState, reliable_standbys: int) -> TaskPlacement:
    """Place all tasks, whoever is caught up.

    Guarantees: stateful actives are as even over threads as can be, each client having its share rounded down or up. No
    such assignment costs less by `traffic_cost` for each remote partition and `non_overlap_cost` for each task that
    leaves those who have it `at_hand`; and none of the same cost has fewer records to restore, as far as they are told
    apart: to a millionth of the largest lag, more coarsely where tasks times clients are many. Standbys are placed in
    the same way after the actives, and cost nothing but traffic where a copy is; stateless tasks even out the active
    ones.

    A target that is reached in part stays the target: what was done has made it cheaper than any other; and between
    equally good ones the tasks and clients themselves decide.

    Priority: evenness, then cost, then records, then staying. For standbys, being apart comes
    before all.

    Complexity: a flow over T·C arcs for actives, for standbys, and for stateless tasks.

    Args:
        state: what is to be assigned.
        reliable_standbys: how many standbys of a task are kept apart; all, with `rack.aware.assignment.tags`.
    """
    placement = TaskPlacement(state)
    if not len(state.clients):
        return placement
    configs = state.assignment_configs
    traffic, moving = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
    traffic = DEFAULT_TRAFFIC_COST if traffic is None else traffic
    moving = DEFAULT_NON_OVERLAP_COST if moving is None else moving
    ran, held = previous_holders(state)
    remote, records = state.remote_partitions(state.tasks.source), records_to_restore(state)
    costs = _in_order(traffic * remote + moving * ~best_available(state), records, ran, 2)
    _place(placement, np.flatnonzero(state.tasks.stateful), costs)
    if configs.num_standby_replicas > 0:
        lacking = ~(held | caught_up(state))
        standby_cost = traffic * state.remote_partitions(state.tasks.changelog) + moving * lacking
        kept_apart = configs.num_standby_replicas if configs.rack_aware_assignment_tags else reliable_standbys
        levels = len(state.tasks) * configs.num_standby_replicas + 3
        place_standbys(placement, _in_order(standby_cost, records, held, levels), kept_apart)
    _place(placement, np.flatnonzero(~state.tasks.stateful), remote * (len(state.clients) + 2) + ~ran)
    return placement


def _in_order(costs: IntArray, records: IntArray, stays: BoolArray, levels: int) -> IntArray:
    """One cost for three, each of which counts for more than what comes after it: cost, records, staying.

    A cycle of a flow changes one task a client at most, so that many times the next is enough. Records are counted in
    units such that the flow, with so many levels above these costs, can still be counted with.
    """
    num_tasks, num_clients = costs.shape
    above = (num_clients + 2) ** 3 * (int(costs.max(initial=0)) + 1) * levels
    units = min(max(MAX_COST // (above * num_tasks * (num_clients + 3)), 1), MOST_UNITS)
    then = scaled(records, units) * (num_clients + 2) + ~stays
    ordered: IntArray = costs * ((num_clients + 1) * (int(then.max(initial=0)) + 1)) + then
    return ordered


def _place(placement: TaskPlacement, rows: IntArray, costs: IntArray) -> None:
    if len(rows):
        taken = np.frombuffer(placement.active_count, dtype=np.int64).copy()
        tie = (rows[:, None] + 1) * (np.arange(costs.shape[1]) + 1) * _TIE_FACTOR % _TIE_PRIME
        flow = EvenFlowProblem(costs[rows], placement.state.clients.threads, taken, tie=tie)
        placement.move_actives(rows, solve(flow))
