"""Kafka Streams' sticky assignor for the pluggable interface of KIP-924."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.errors import DivisionByZeroError
from assignors.java.hash_order import CollectionOrder, in_hash_order
from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.objective.cost import STATELESS_WEIGHTS, STICKY_WEIGHTS, Weights
from assignors.recording.recorder import NO_RECORDER, Recorder
from assignors.tasks.assignment_utils import optimize_rack_aware_active_tasks, optimize_rack_aware_standby_tasks
from assignors.tasks.stickiness import CallerCollections, Stickiness
from assignors.tasks.task_placement import TaskPlacement


@dataclass(frozen=True, slots=True)
class Sticky:
    """`StickyTaskAssignor`: a rewrite of the legacy assignor, with small differences in its assignments.

    Threads do not break ties between equally loaded clients. Each task with a changelog gets standbys. Racks matter
    only if both costs are configured, and changelog partitions count for active tasks, too.

    Kafka assigns standbys in the order of a hash set of objects without a hash code of their own, so that its
    assignment changes from run to run. Here the order is that of task ids.

    Attributes:
        order: order in which the caller's collections return tasks and clients; ties depend on it.

    Guarantees: as `LegacySticky`.

    Priority: as `LegacySticky`.

    Complexity: as `LegacySticky`.

    Source: `org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor`, KIP-924.
    """

    order: CollectionOrder = CollectionOrder.PRODUCTION

    default_weights: ClassVar[Weights] = STICKY_WEIGHTS

    def __post_init__(self) -> None:
        CollectionOrder(self.order)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks exactly as Kafka.

        Returns:
            The assignment.

        Raises:
            KafkaError: Kafka throws for this state; see `assignors.errors`.
        """
        return self.assign_recorded(state, NO_RECORDER)

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Assign tasks as `assign`, and pass the steps to a recorder.

        Returns:
            The assignment.

        Raises:
            DivisionByZeroError: no client has a thread.
        """
        num_threads = int(state.clients.threads.sum())
        if num_threads == 0:
            raise DivisionByZeroError("/ by zero")
        caller = CallerCollections.of(state, self.order).with_hashed_clients()
        placement = TaskPlacement(state)
        candidates = in_hash_order(caller.clients, caller.client_hashes)
        stickiness = Stickiness(placement, caller, candidates, recorder, prefers_threads=False)
        stickiness.place_actives(len(state.tasks) // num_threads, keep_all=False)
        placed = list(placement.owner)
        _optimize_actives(placement, caller.clients, recorder)
        stickiness.follow_moves(placed)
        num_standby_replicas = state.assignment_configs.num_standby_replicas
        stickiness.place_standbys(np.flatnonzero(state.tasks.changelog.counts()).tolist(), num_standby_replicas)
        if num_standby_replicas > 0:
            weights = STICKY_WEIGHTS.configured(state.assignment_configs)
            optimize_rack_aware_standby_tasks(placement, caller.clients, weights, recorder)
        return placement.columns(None).to_assignment(state)


def _optimize_actives(placement: TaskPlacement, clients: list[int], recorder: Recorder) -> None:
    stateful = placement.state.tasks.stateful
    weights = STICKY_WEIGHTS.configured(placement.state.assignment_configs)
    optimize_rack_aware_active_tasks(placement, np.flatnonzero(stateful).tolist(), clients, weights, recorder)
    stateless = np.flatnonzero(~stateful).tolist()
    optimize_rack_aware_active_tasks(placement, stateless, clients, STATELESS_WEIGHTS, recorder)
