"""Kafka Streams' sticky assignor for the pluggable interface of KIP-924."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from assignors.errors import DivisionByZeroError, NullPointerError
from assignors.java.hash_order import CollectionOrder, in_hash_order
from assignors.kafka_releases import CLIENT_RELEASES
from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.objective.cost import STATELESS_WEIGHTS, STICKY_WEIGHTS, Weights
from assignors.recording.recorder import RecordedAssignor, Recorder
from assignors.tasks.assignment_utils import optimize_rack_aware_active_tasks, optimize_rack_aware_standby_tasks
from assignors.tasks.stickiness import CallerCollections, Stickiness, shares_rounded_down
from assignors.tasks.task_placement import TaskPlacement

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
        if int(state.clients.threads.sum()) == 0 and (len(state.clients) or not self._rounds_shares_up):
            raise DivisionByZeroError("/ by zero")
        if not len(state.clients) and len(state.tasks):
            raise NullPointerError('the return value of "java.util.Map.get(Object)" is null')
        caller = CallerCollections.of(state, self.order).with_hashed_clients()
        placement = TaskPlacement(state)
        candidates = in_hash_order(caller.clients, caller.client_hashes)
        stickiness = Stickiness(placement, caller, candidates, recorder, prefers_threads=False)
        capacity = self._capacity(placement.threads, len(state.tasks))
        stickiness.place_actives(capacity, keep_all=False)
        placed = list(placement.owner)
        _optimize_actives(placement, caller.clients, recorder)
        stickiness.follow_moves(placed)
        num_standby_replicas = state.assignment_configs.num_standby_replicas
        stickiness.place_standbys(np.flatnonzero(state.tasks.changelog.counts()).tolist(), num_standby_replicas)
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
