"""Kafka Streams' older sticky assignor, and its assignor for unknown lags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.errors import IllegalStateError
from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.objective import STATELESS_WEIGHTS, STICKY_WEIGHTS, Weights
from assignors.recording import RecordedAssignor, Recorder
from assignors.tasks.rack_aware import (
    can_enable,
    optimize_active_tasks,
    optimize_standby_tasks,
)
from assignors.tasks.standby import no_tag_constraints
from assignors.tasks.stickiness import CallerCollections, Stickiness, shares_rounded_down
from assignors.tasks.task_placement import TaskPlacement


@dataclass(frozen=True, slots=True)
class LegacySticky(RecordedAssignor):
    """`LegacyStickyTaskAssignor`: keeps tasks on the clients that held them, within each client's share.

    Attributes:
        order: order in which the caller's collections return tasks and clients; ties depend on it.

    Guarantees: a task stays on the client that ran it while the client has fewer active tasks than its threads times
    the average number of tasks per thread, rounded down. Lags do not matter: a task may move to a client without its
    state. No probing rebalance is requested.

    Priority: the previous client within its share, then a previous standby within its share, then load, then clients
    with tasks that the task was not yet placed with; last, with a rack-aware strategy, traffic against moves.

    Complexity: O(C) array operations for each copy; see `assignors.flow` for the rack-aware step.

    Source: `org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor`, KIP-925.
    """

    order: CollectionOrder = CollectionOrder.PRODUCTION

    default_weights: ClassVar[Weights] = STICKY_WEIGHTS

    def __post_init__(self) -> None:
        CollectionOrder(self.order)

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Assign tasks exactly as Kafka, and pass the steps to a recorder.

        Returns:
            The assignment.

        Raises:
            KafkaError: Kafka throws for this state; see `assignors.errors`.
        """
        caller = CallerCollections.of(state, self.order)
        placement = place_sticky(state, caller, preserve_actives=False, rack_aware=can_enable(state), recorder=recorder)
        return placement.columns(None).to_assignment(state)


def place_sticky(
    state: ApplicationState,
    caller: CallerCollections,
    *,
    preserve_actives: bool,
    rack_aware: bool,
    recorder: Recorder,
) -> TaskPlacement:
    """Place all tasks as the legacy assignor does.

    `caller`: the orders of the caller's collections; `preserve_actives` says whether previous active tasks stay on
    their clients regardless of balance; `rack_aware` says whether to optimize for racks. Raises IllegalStateError if no
    thread can run tasks, or a task to optimize reads no partition.
    """
    num_threads = int(state.clients.threads.sum())
    if num_threads == 0:
        raise IllegalStateError("`totalCapacity` should never be zero.")
    placement = TaskPlacement(state)
    stickiness = Stickiness(placement, caller, caller.clients, recorder, prefers_threads=True)
    capacity = shares_rounded_down(placement.threads, len(state.tasks))
    stickiness.place_actives(capacity, keep_all=preserve_actives)
    if rack_aware:
        placed = list(placement.owner)
        _optimize_actives(placement, recorder)
        stickiness.follow_moves(placed)
    num_standby_replicas = state.assignment_configs.num_standby_replicas
    stickiness.place_standbys(caller.stateful_tasks, num_standby_replicas)
    if rack_aware and num_standby_replicas > 0:
        optimize_standby_tasks(
            placement, STICKY_WEIGHTS.configured(state.assignment_configs), no_tag_constraints(state), recorder
        )
    return placement


def _optimize_actives(placement: TaskPlacement, recorder: Recorder) -> None:
    stateful = placement.state.tasks.stateful
    weights = STICKY_WEIGHTS.configured(placement.state.assignment_configs)
    optimize_active_tasks(placement, np.flatnonzero(stateful).tolist(), weights, recorder)
    stateless = np.flatnonzero(~stateful).tolist()
    optimize_active_tasks(placement, stateless, STATELESS_WEIGHTS, recorder)


@dataclass(frozen=True, slots=True)
class FallbackPrior(RecordedAssignor):
    """`FallbackPriorTaskAssignor`: the previous assignment; new and lost tasks are placed as by the sticky assignor.

    Attributes:
        order: order in which the caller's collections return tasks and clients; ties depend on it.

    Guarantees: each task stays on the client that ran it. A probing rebalance is always requested. Racks and lags do
    not matter.

    Priority: the previous client, then as `LegacySticky`.

    Complexity: as `LegacySticky`.

    Source: `org.apache.kafka.streams.processor.internals.assignment.FallbackPriorTaskAssignor`, KIP-441.
    """

    order: CollectionOrder = CollectionOrder.PRODUCTION

    def __post_init__(self) -> None:
        CollectionOrder(self.order)

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Assign tasks exactly as Kafka, and pass the steps to a recorder.

        Returns:
            The assignment.

        Raises:
            KafkaError: Kafka throws for this state; see `assignors.errors`.
        """
        caller = CallerCollections.of(state, self.order)
        placement = place_sticky(state, caller, preserve_actives=True, rack_aware=False, recorder=recorder)
        followup_ms = state.assignment_configs.probing_rebalance_interval_ms
        return placement.columns(followup_ms).to_assignment(state)
