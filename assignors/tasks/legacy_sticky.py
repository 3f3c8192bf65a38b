"""Kafka Streams' older sticky assignor: keeps tasks where they were, as far as every client gets its share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.errors import IllegalStateError
from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.recording.recorder import NO_RECORDER, Recorder
from assignors.tasks.rack_aware import (
    STATELESS_NON_OVERLAP_COST,
    STATELESS_TRAFFIC_COST,
    can_enable,
    optimize_active_tasks,
    optimize_standby_tasks,
)
from assignors.tasks.standby import no_tag_constraints
from assignors.tasks.stickiness import CallerCollections, Stickiness
from assignors.tasks.task_placement import TaskPlacement

DEFAULT_TRAFFIC_COST = 1
DEFAULT_NON_OVERLAP_COST = 10


@dataclass(frozen=True, slots=True)
class LegacySticky:
    """`LegacyStickyTaskAssignor`: tasks stay where they ran or stood by, until somebody else has clearly less to do.

    Attributes:
        order: in which collections the caller is taken to hand over tasks and clients; ties hang on it.

    Guarantees: a task stays with the client that ran it while that has fewer active tasks than its threads times the
    average number of tasks a thread, rounded down. Nothing is asked of lags: a task may go to a client without its
    state. Never asks for a probing rebalance.

    Priority: staying put within that share, then a former standby within it, then load, then tasks that were not yet
    together on a client; with a rack-aware strategy, traffic against staying put at last.

    Complexity: O(C) array operations a task and copy; the rack-aware step is documented in `assignors.flow`.

    Source: `org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor`, KIP-925.
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
        placement = stick(state, self.order, preserve_actives=False, rack_aware=can_enable(state), recorder=recorder)
        return placement.columns(None).to_assignment(state)


def stick(
    state: ApplicationState,
    order: CollectionOrder,
    *,
    preserve_actives: bool,
    rack_aware: bool,
    recorder: Recorder,
) -> TaskPlacement:
    """Place all tasks as the legacy assignor does.

    Args:
        state: what to assign.
        order: see `LegacySticky`.
        preserve_actives: whether previous active tasks stay where they are at any rate.
        rack_aware: whether to optimise for racks.
        recorder: is told the flows and the steps.

    Raises:
        IllegalStateError: there is no thread to run tasks, or a task that is to be optimised reads no partition.
    """
    num_threads = int(state.clients.threads.sum())
    if num_threads == 0:
        raise IllegalStateError("`totalCapacity` should never be zero.")
    caller = CallerCollections.of(state, order)
    placement = TaskPlacement(state)
    stickiness = Stickiness(placement, caller, caller.clients, recorder, prefers_threads=True)
    stickiness.place_actives(len(state.tasks) // num_threads, keep_all=preserve_actives)
    if rack_aware:
        placed = list(placement.owner)
        _optimize_actives(placement, recorder)
        stickiness.follow_moves(placed)
    num_standby_replicas = state.assignment_configs.num_standby_replicas
    stickiness.place_standbys(caller.stateful_tasks, num_standby_replicas)
    if rack_aware and num_standby_replicas > 0:
        optimize_standby_tasks(placement, *sticky_costs(state), no_tag_constraints(state), recorder)
    return placement


def sticky_costs(state: ApplicationState) -> tuple[int, int]:
    """The traffic cost and the non-overlap cost of stateful tasks."""
    configs = state.assignment_configs
    traffic, non_overlap = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
    return (
        DEFAULT_TRAFFIC_COST if traffic is None else traffic,
        DEFAULT_NON_OVERLAP_COST if non_overlap is None else non_overlap,
    )


def _optimize_actives(placement: TaskPlacement, recorder: Recorder) -> None:
    stateful = placement.state.tasks.stateful
    optimize_active_tasks(placement, np.flatnonzero(stateful).tolist(), *sticky_costs(placement.state), recorder)
    stateless = np.flatnonzero(~stateful).tolist()
    optimize_active_tasks(placement, stateless, STATELESS_TRAFFIC_COST, STATELESS_NON_OVERLAP_COST, recorder)
