"""The incremental assignor: reaches the cheapest balanced assignment in steps, and restores no more than necessary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignment
from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import ProcessId, TaskId
from assignors.model.lags import best_available, caught_up, records_to_restore
from assignors.model.parameters import check_count
from assignors.model.state import LATEST_OFFSET, ApplicationState, previous_holders
from assignors.tasks.cheapest_target import cheapest_target
from assignors.tasks.task_placement import TaskPlacement


@dataclass(frozen=True, slots=True)
class IncrementalMove:
    """A move of an active task.

    Attributes:
        task: the task.
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

    Guarantees: the target is that of `cheapest_target`: a cheapest assignment with the fewest records to restore. While
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
