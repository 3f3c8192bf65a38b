"""The incremental assignor: reaches the cheapest balanced assignment in steps, and restores no more than necessary.

The target of the incremental assignor: the cheapest balanced assignment, with costs from the current one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from assignors.flow.min_cost import MAX_COST, EvenFlowProblem, solve_even_flow
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignment
from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import ProcessId, TaskId
from assignors.model.lags import best_available, caught_up, records_to_restore, scale_down
from assignors.model.state import LATEST_OFFSET, ApplicationState, previous_holders
from assignors.model.traffic_rates import check_count
from assignors.objective import HIGH_AVAILABILITY_WEIGHTS
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
    targets, tie-break costs of tasks and clients decide. `reliable_standbys`: number of standbys of a task to separate;
    all with `rack.aware.assignment.tags`.

    Priority: balance, then cost, then records, then staying. For standbys, separation comes first.

    Complexity: one flow over T·C arcs for active tasks, for standbys, and for stateless tasks.
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
    The result has the shape of `costs`.
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


@dataclass(frozen=True, slots=True)
class IncrementalMove:
    """A move of an active task.

    Attributes:
        source: client that ran it; None for no client.
        destination: client that runs it.
    """

    task: TaskId
    source: ProcessId | None
    destination: ProcessId


@dataclass(frozen=True, slots=True)
class IncrementalRound:
    """The changes of one rebalance of a plan.

    Attributes:
        moves: active tasks that move.
        warm_ups: copies (task, client) that are restored after the rebalance.
        records: number of records that they lack.
        remote_partitions: source partitions that active tasks then read across racks.
    """

    moves: tuple[IncrementalMove, ...]
    warm_ups: tuple[tuple[TaskId, ProcessId], ...]
    records: int
    remote_partitions: int


@dataclass(frozen=True, slots=True)
class Incremental:
    """Moves tasks towards the cheapest balanced assignment, the most valuable moves first.

    Attributes:
        reliable_standbys: number of standbys of a task to place in different racks; all with
            `rack.aware.assignment.tags`.

    Guarantees: the target is a cheapest assignment with the fewest records to restore. While
    no client joins or leaves and each task is caught up on some client, no copy is restored twice, and without standbys
    no more is restored than the first target lacks. (A restored standby can make another target as cheap with less to
    restore: in random groups with standbys, one copy in 500 was restored in vain.) A task runs on a caught-up client if
    one exists. At most `max.warmup.replicas` copies are restored in addition to those that a task needs for its number
    of standbys. A probing rebalance is requested until the target is reached.

    Priority: caught-up clients; then copies that are partly restored; then saved traffic for each restored record.

    Complexity: that of the target, and O(C) for each copy that is not caught up.

    Source: KIP-441 (warm-ups, probing rebalances), KIP-925 (costs); the order of restoration is this project's.

    Raises:
        ValueError: `reliable_standbys` is not a whole number, or is negative.
    """

    reliable_standbys: int = 1

    def __post_init__(self) -> None:
        check_count("reliable_standbys", self.reliable_standbys)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Compute the assignment of the next rebalance."""
        return _RoundBuilder(state, self.reliable_standbys).columns().to_assignment(state)

    def plan(self, state: ApplicationState) -> tuple[IncrementalRound, ...]:
        """Return the rebalances until the target is reached.

        Assumes that the group does not change, and that copies are restored before the next rebalance.

        Returns:
            One entry for each rebalance.
        """
        rounds = []
        while True:
            columns = _RoundBuilder(state, self.reliable_standbys).columns()
            rounds.append(_describe_round(state, columns))
            if columns.followup_rebalance_delay_ms is None:
                return tuple(rounds)
            state = _restored(state, columns)


class _RoundBuilder:
    """Computes the next assignment on the way to the target, within the limits of one rebalance."""

    def __init__(self, state: ApplicationState, reliable_standbys: int) -> None:
        self._state = state
        self._target = cheapest_target(state, reliable_standbys)
        self._ready = caught_up(state)
        self._records = records_to_restore(state)
        self._is_best_available, self._held = best_available(state), previous_holders(state)[1]
        self._remote_source = state.remote_partitions(state.tasks.source)
        self._remote_changelog = state.remote_partitions(state.tasks.changelog)

    def columns(self) -> AssignmentColumns:
        """Compute the assignment."""
        state, wanted = self._state, self._target.columns(None)
        if not len(state.clients):
            return wanted
        active, standby = self._actives(wanted.active), wanted.standby.copy()
        rows = np.arange(len(active))
        is_complete = self._ready[rows, wanted.active] & (self._ready | ~wanted.standby).all(axis=1)
        candidates = []
        for task in np.flatnonzero(state.tasks.stateful & ~(is_complete & (active == wanted.active))).tolist():
            standby[task], waiting = self._copies(task, int(active[task]), wanted)
            candidates += [(*self._rank(task, client, saved), task, client) for client, saved in waiting]
        for *_, task, client in sorted(candidates)[: state.assignment_configs.max_warmup_replicas]:
            standby[task, client] = True
        is_reached = (active == wanted.active).all() and (standby == wanted.standby).all()
        followup_ms = None if is_reached else state.assignment_configs.probing_rebalance_interval_ms
        return AssignmentColumns(active, standby, followup_ms)

    def _actives(self, wanted: IntArray) -> IntArray:
        """Return the current owner of each task."""
        active = wanted.copy()
        placement = TaskPlacement(self._state)
        waiting = ~self._ready[np.arange(len(wanted)), wanted]
        ready = np.flatnonzero(~waiting)
        placement.move_actives(ready, wanted[ready])
        for task in np.flatnonzero(waiting).tolist():
            active[task] = self._best_available(placement, task, int(wanted[task]))
            placement.assign_active(task, int(active[task]))
        return active

    def _best_available(self, placement: TaskPlacement, task: int, wanted: int) -> int:
        held = self._held[task]
        return min(
            np.flatnonzero(self._is_best_available[task]).tolist(),
            key=lambda client: (client != wanted, not held[client], placement.active_load(client)),
        )

    def _copies(self, task: int, owner: int, wanted: AssignmentColumns) -> tuple[BoolArray, list[tuple[int, int]]]:
        """Return the standbys of a task for now, and the clients to warm up with the partitions that each saves."""
        ready, records, destination = self._ready[task], self._records[task], int(wanted.active[task])
        intended = [client for client in np.flatnonzero(wanted.standby[task]).tolist() if client != owner]
        num_standbys = int(wanted.standby[task].sum())
        kept = [client for client in intended if ready[client]]
        not_ready = sorted(
            (client for client in intended if not ready[client]), key=lambda client: (records[client], client)
        )
        substitutes = self._substitutes(task, {owner, destination, *intended})[: num_standbys - len(kept)]
        if destination != owner:
            not_ready.append(destination)
        needed = max(num_standbys - len(kept) - len(substitutes), 0)
        standby = np.zeros(len(ready), dtype=np.bool_)
        standby[[*kept, *substitutes, *not_ready[:needed]]] = True
        replaced = iter(substitutes)
        return standby, [
            (client, self._saved(task, client, owner if client == destination else next(replaced, client), destination))
            for client in not_ready[needed:]
        ]

    def _substitutes(self, task: int, excluded: set[int]) -> list[int]:
        """Return the clients with another caught-up copy, the lowest lag first."""
        candidates = [c for c in np.flatnonzero(self._held[task] & self._ready[task]).tolist() if c not in excluded]
        return sorted(candidates, key=lambda client: (self._records[task, client], client))

    def _saved(self, task: int, client: int, current: int, destination: int) -> int:
        remote = self._remote_source if client == destination else self._remote_changelog
        return int(remote[task, current] - remote[task, client])

    def _rank(self, task: int, client: int, saved: int) -> tuple[bool, Fraction, int]:
        """Return the sort key of a warm-up; the lowest is first."""
        records = int(self._records[task, client])
        return not self._held[task, client], Fraction(-saved, max(records, 1)), records


def _describe_round(state: ApplicationState, columns: AssignmentColumns) -> IncrementalRound:
    ids, clients = state.tasks.ids, state.clients.ids
    ran = previous_holders(state)[0]
    moves = []
    for task in np.flatnonzero(columns.active != UNASSIGNED).tolist():
        destination = int(columns.active[task])
        if not ran[task, destination]:
            sources = np.flatnonzero(ran[task]).tolist()
            moves.append(IncrementalMove(ids[task], clients[sources[0]] if sources else None, clients[destination]))
    assigned = _assigned(columns) & ~caught_up(state)
    return IncrementalRound(
        moves=tuple(moves),
        warm_ups=tuple((ids[task], clients[client]) for task, client in np.argwhere(assigned).tolist()),
        records=int(records_to_restore(state)[assigned].sum()),
        remote_partitions=int(state.remote_partitions(state.tasks.source)[_active(columns)].sum()),
    )


def _active(columns: AssignmentColumns) -> BoolArray:
    active = np.zeros_like(columns.standby)
    runs = np.flatnonzero(columns.active != UNASSIGNED)
    active[runs, columns.active[runs]] = True
    return active


def _assigned(columns: AssignmentColumns) -> BoolArray:
    return columns.standby | _active(columns)


def _restored(state: ApplicationState, columns: AssignmentColumns) -> ApplicationState:
    """Return the state after all assigned copies have caught up."""
    stateful, active = state.tasks.stateful[:, None], _active(columns)
    lags = np.where(stateful & active, LATEST_OFFSET, np.where(columns.standby, 0, state.lags))
    ids = state.tasks.ids
    return replace(
        state,
        lags=lags,
        previous_active=[tuple(ids[task] for task in np.flatnonzero(held).tolist()) for held in active.T],
        previous_standby=[tuple(ids[task] for task in np.flatnonzero(held).tolist()) for held in columns.standby.T],
    )
