"""Kafka Streams' sticky assignor for the pluggable interface of KIP-924.

The rack-aware optimization that KIP-924 offers to pluggable assignors differs slightly from the built-in one.

Source: `org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Final

import numpy as np

from assignors.errors import DivisionByZeroError, NullPointerError
from assignors.flow import solve_balance_subtopology
from assignors.java.hash_order import CollectionOrder, in_hash_order
from assignors.kafka_releases import CLIENT_RELEASES
from assignors.model.assignment import TaskAssignment, TaskType
from assignors.model.columns import NO_RACK, BoolArray, IntArray, Ragged
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.objective import STATELESS_WEIGHTS, STICKY_WEIGHTS, Weights
from assignors.recording import RecordedAssignor, Recorder
from assignors.tasks.rack_aware import costs_of_moving, describe_exchange, move_actives, traffic_by_rack
from assignors.tasks.standby import no_tag_constraints
from assignors.tasks.standby_exchange import MAX_ROUNDS, exchange_standbys
from assignors.tasks.stickiness import CallerCollections, Stickiness, shares_rounded_down
from assignors.tasks.task_placement import TaskPlacement


def exchange_within_subtopologies(
    placement: TaskPlacement, clients: Sequence[int], traffic: IntArray, non_overlap_cost: int, recorder: Recorder
) -> None:
    """Solve one balance_subtopology flow for each pair of clients in different racks, in the order of `clients`.

    Only the sticky assignor of KIP-924 does this; built-in ones exchange standbys by min_traffic with both strategies.

    Arguments as for `exchange_standbys`, without tags.

    Complexity: O(C²) flows in each round.
    """
    racks = placement.state.clients.rack.tolist()
    for _ in range(MAX_ROUNDS):
        moved = False
        for pair in combinations(clients, 2):
            first, second = sorted(pair)
            if racks[first] != racks[second]:
                costs = traffic[:, (racks[first], racks[second])]
                moved |= _exchange(placement, (first, second), costs, non_overlap_cost, recorder)
        if not moved:
            return


def _exchange(
    placement: TaskPlacement, pair: tuple[int, int], traffic: IntArray, non_overlap_cost: int, recorder: Recorder
) -> bool:
    first, second = pair
    standbys, owners = placement.standbys(), placement.owners()
    from_first = standbys[first] & ~standbys[second] & (owners != second)
    from_second = standbys[second] & ~standbys[first] & (owners != first)
    if not from_first.any() or not from_second.any():
        return False
    tasks = np.flatnonzero(from_first | from_second)
    owner = from_second[tasks].astype(np.intp)
    costs = costs_of_moving(traffic[tasks], owner, non_overlap_cost)
    solution = solve_balance_subtopology(costs, owner, placement.state.tasks.subtopology[tasks])
    recorder.flow(solution.effort)
    changed = np.flatnonzero(solution.owner != owner)
    if recorder.wants_steps:
        moved, ends = tasks[changed], (owner[changed], solution.owner[changed])
        role = TaskType.STANDBY
        recorder.exchange(
            describe_exchange(role, moved, np.array(pair), ends, traffic[moved], non_overlap_cost, spreads=True)
        )
    for position in changed.tolist():
        placement.unassign_standby(int(tasks[position]), pair[owner[position]])
        placement.assign_standby(int(tasks[position]), pair[solution.owner[position]])
    return len(changed) > 0


def optimize_rack_aware_active_tasks(
    placement: TaskPlacement,
    tasks: Sequence[int],
    clients: Sequence[int],
    weights: Weights,
    recorder: Recorder,
) -> None:
    """Move active tasks to the minimum total cost, if both costs are configured and all racks are known, as in Kafka.

    `placement`: the placement to change. `tasks`: tasks to move, rows in order. `clients`: all clients (rows) in the
    iteration order of the caller's map. `weights`: costs of remote source or changelog partitions, and of moves.
    `recorder`: receives the flow.

    Guarantees: as `rack_aware.optimize_active_tasks`.
    """
    state = placement.state
    if not tasks or not _is_configured(state):
        return
    partitions = _all_partitions(state)
    if _racks_are_known(state, partitions):
        traffic = traffic_by_rack(state, partitions, weights.traffic_cost)
        move_actives(placement, tasks, clients, traffic, weights.non_overlap_cost, recorder)


def optimize_rack_aware_standby_tasks(
    placement: TaskPlacement, clients: Sequence[int], weights: Weights, recorder: Recorder
) -> None:
    """Exchange standbys pair by pair with the configured strategy, if Kafka does; arguments as for active tasks.

    Guarantees: as `rack_aware.optimize_standby_tasks`, except that tags never forbid a move.

    Priority: pairs in the order of `clients`.
    """
    state = placement.state
    if not any(placement.standby) or not _is_configured(state) or not _racks_are_known(state, state.tasks.changelog):
        return
    traffic = traffic_by_rack(state, state.tasks.changelog, weights.traffic_cost)
    if state.assignment_configs.rack_aware_assignment_strategy is RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        exchange_within_subtopologies(placement, clients, traffic, weights.non_overlap_cost, recorder)
    else:
        exchange_standbys(placement, clients, traffic, weights.non_overlap_cost, no_tag_constraints(state), recorder)


def _all_partitions(state: ApplicationState) -> Ragged:
    """Return the source and changelog partitions of each task; a partition that is both counts once."""
    rows = range(len(state.tasks))
    source, changelog = state.tasks.source, state.tasks.changelog
    return Ragged.of([sorted({*source.row(task).tolist(), *changelog.row(task).tolist()}) for task in rows])


def _is_configured(state: ApplicationState) -> bool:
    configs = state.assignment_configs
    return (
        configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE
        and configs.rack_aware_traffic_cost is not None
        and configs.rack_aware_non_overlap_cost is not None
    )


def _racks_are_known(state: ApplicationState, partitions: Ragged) -> bool:
    """Return whether each client has a rack, and each partition a replica with a rack; other replicas do not matter."""
    has_rack: BoolArray = np.any(state.partitions.in_rack, axis=1)
    return not np.any(state.clients.rack == NO_RACK) and partitions.all(has_rack)


_FIRST_ROUNDED_UP: Final = "4.4"
"""First release that rounds the share of a client up."""


@dataclass(frozen=True, slots=True)
class Sticky(RecordedAssignor):
    """`StickyTaskAssignor`: a rewrite of the legacy assignor, with small differences in its assignments.

    Threads do not break ties between equally loaded clients. Each task with a changelog gets standbys. Racks matter
    only if both costs are configured, and changelog partitions count for active tasks, too.

    Kafka assigns standbys in the order of a hash set of objects without a hash code of their own, so that its
    assignment changes from run to run. Here the order is that of task ids.

    Up to Kafka 4.3, the share of a client is its threads times the tasks per thread, rounded down, as in the legacy
    assignor. From 4.4 on, it is the client's part of all tasks, rounded up: a client keeps as many tasks as a balanced
    assignment may give it, so fewer tasks move.

    Attributes:
        order: order in which the caller's collections return tasks and clients; ties depend on it.
        release: release of Kafka Streams, of `CLIENT_RELEASES`.

    Guarantees: as `LegacySticky`, with the share of the release.

    Priority: as `LegacySticky`.

    Complexity: as `LegacySticky`.

    Source: `org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor`, KIP-924; Kafka 4.3.1 and
    4.4.0 (`hasRoomForActiveTask`).
    """

    order: CollectionOrder = CollectionOrder.PRODUCTION
    release: str = CLIENT_RELEASES[-1]

    default_weights: ClassVar[Weights] = STICKY_WEIGHTS

    def __post_init__(self) -> None:
        CollectionOrder(self.order)
        if self.release not in CLIENT_RELEASES:
            known = ", ".join(CLIENT_RELEASES)
            raise ValueError(f"'{self.release}' is not a release of this assignor (releases: {known})")

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Assign tasks exactly as Kafka, and pass the steps to a recorder.

        Returns:
            The assignment.

        Raises:
            DivisionByZeroError: no client has a thread.
            NullPointerError: there are tasks, but no client (from 4.4 on).
        """
        caller = CallerCollections.of(state, self.order).with_hashed_clients()
        with_changelog = np.flatnonzero(state.tasks.changelog.counts()).tolist()
        return self.assign_in_order(state, replace(caller, stateful_tasks=with_changelog), recorder)

    def assign_in_order(self, state: ApplicationState, caller: CallerCollections, recorder: Recorder) -> TaskAssignment:
        """Assign as `assign_recorded`.

        `caller`: the orders of the collections of KIP-924's state; `stateful_tasks` are those with a changelog.
        """
        if int(state.clients.threads.sum()) == 0 and (len(state.clients) or not self._rounds_shares_up):
            raise DivisionByZeroError("/ by zero")
        if not len(state.clients) and len(state.tasks):
            raise NullPointerError('the return value of "java.util.Map.get(Object)" is null')
        placement = TaskPlacement(state)
        candidates = in_hash_order(caller.clients, caller.client_hashes)
        stickiness = Stickiness(placement, caller, candidates, recorder, prefers_threads=False)
        capacity = self._capacity(placement.threads, len(state.tasks))
        stickiness.place_actives(capacity, keep_all=False)
        placed = list(placement.owner)
        _optimize_actives(placement, caller.clients, recorder)
        stickiness.follow_moves(placed)
        num_standby_replicas = state.assignment_configs.num_standby_replicas
        stickiness.place_standbys(caller.stateful_tasks, num_standby_replicas)
        if num_standby_replicas > 0:
            weights = STICKY_WEIGHTS.configured(state.assignment_configs)
            optimize_rack_aware_standby_tasks(placement, caller.clients, weights, recorder)
        return placement.columns(None).to_assignment(state)

    @property
    def _rounds_shares_up(self) -> bool:
        return CLIENT_RELEASES.index(self.release) >= CLIENT_RELEASES.index(_FIRST_ROUNDED_UP)

    def _capacity(self, threads: Sequence[int], num_tasks: int) -> list[int]:
        if not self._rounds_shares_up:
            return shares_rounded_down(threads, num_tasks)
        num_threads = sum(threads)
        return [-(-num_tasks * own // num_threads) for own in threads]


def _optimize_actives(placement: TaskPlacement, clients: list[int], recorder: Recorder) -> None:
    stateful = placement.state.tasks.stateful
    weights = STICKY_WEIGHTS.configured(placement.state.assignment_configs)
    optimize_rack_aware_active_tasks(placement, np.flatnonzero(stateful).tolist(), clients, weights, recorder)
    stateless = np.flatnonzero(~stateful).tolist()
    optimize_rack_aware_active_tasks(placement, stateless, clients, STATELESS_WEIGHTS, recorder)
