"""Kafka Streams' sticky assignor for the pluggable interface of KIP-924."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.errors import DivisionByZeroError
from assignors.java.hash_order import CollectionOrder, in_hash_order
from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.recording.recorder import NO_RECORDER, Recorder
from assignors.tasks.assignment_utils import optimize_rack_aware_active_tasks, optimize_rack_aware_standby_tasks
from assignors.tasks.legacy_sticky import DEFAULT_NON_OVERLAP_COST, DEFAULT_TRAFFIC_COST, sticky_costs
from assignors.tasks.rack_aware import STATELESS_NON_OVERLAP_COST, STATELESS_TRAFFIC_COST
from assignors.tasks.stickiness import CallerCollections, Stickiness
from assignors.tasks.task_placement import TaskPlacement


@dataclass(frozen=True, slots=True)
class Sticky:
    """`StickyTaskAssignor`: the legacy assignor written anew, with small differences that its answers show.

    Equally loaded clients are not told apart by their threads; standbys go to all tasks that have a changelog; racks
    count only if both costs are configured, and changelog partitions count for active tasks as well.

    Kafka gives standbys in the order of a hash set of objects without a hash code of their own, so that the real answer
    changes from run to run. Here they come in the order of task ids.

    Attributes:
        order: in which collections the caller is taken to hand over tasks and clients; ties hang on it.

    Guarantees: as `LegacySticky`.

    Priority: as `LegacySticky`.

    Complexity: as `LegacySticky`.

    Source: `org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor`, KIP-924.
    """

    order: CollectionOrder = CollectionOrder.PRODUCTION

    default_traffic_cost = DEFAULT_TRAFFIC_COST
    default_non_overlap_cost = DEFAULT_NON_OVERLAP_COST

    def __post_init__(self) -> None:
        CollectionOrder(self.order)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks exactly as Kafka would.

        Raises:
            KafkaError: Kafka would throw here; see `assignors.errors`.
        """
        return self.assign_recorded(state, NO_RECORDER)

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """As `assign`, and tell the recorder how."""
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
            optimize_rack_aware_standby_tasks(placement, caller.clients, *sticky_costs(state), recorder)
        return placement.columns(None).to_assignment(state)


def _optimize_actives(placement: TaskPlacement, clients: list[int], recorder: Recorder) -> None:
    stateful = placement.state.tasks.stateful
    costs = sticky_costs(placement.state)
    optimize_rack_aware_active_tasks(placement, np.flatnonzero(stateful).tolist(), clients, *costs, recorder)
    stateless = np.flatnonzero(~stateful).tolist()
    costs = (STATELESS_TRAFFIC_COST, STATELESS_NON_OVERLAP_COST)
    optimize_rack_aware_active_tasks(placement, stateless, clients, *costs, recorder)
