"""Rack-aware optimisation as KIP-924 offers it to pluggable assignors; not quite what the built-in ones use.

Source: `org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, Ragged
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.recording.recorder import Recorder
from assignors.tasks.active_task_flow import move_actives, traffic_by_rack
from assignors.tasks.standby import no_tag_constraints
from assignors.tasks.standby_exchange import exchange_standbys
from assignors.tasks.standby_exchange_by_subtopology import exchange_within_subtopologies
from assignors.tasks.task_placement import TaskPlacement


def optimize_rack_aware_active_tasks(
    placement: TaskPlacement,
    tasks: Sequence[int],
    clients: Sequence[int],
    traffic_cost: int,
    non_overlap_cost: int,
    recorder: Recorder,
) -> None:
    """Move active tasks to the least total cost, if Kafka would: both costs configured, and all racks known.

    Args:
        placement: what to change.
        tasks: the tasks to optimise, rows in order.
        clients: all clients (rows) in the order in which the caller's map hands them out.
        traffic_cost: cost of a source or changelog partition without replica in the client's rack.
        non_overlap_cost: cost of moving a task.
        recorder: is told the flow.

    Guarantees: as `rack_aware.optimize_active_tasks`.
    """
    state = placement.state
    if not tasks or not _is_configured(state):
        return
    partitions = _all_partitions(state)
    if _racks_are_known(state, partitions):
        traffic = traffic_by_rack(state, partitions, traffic_cost)
        move_actives(placement, tasks, clients, traffic, non_overlap_cost, recorder)


def optimize_rack_aware_standby_tasks(
    placement: TaskPlacement, clients: Sequence[int], traffic_cost: int, non_overlap_cost: int, recorder: Recorder
) -> None:
    """Exchange standbys pair by pair with the configured strategy, if Kafka would; arguments as for active tasks.

    Guarantees: as `rack_aware.optimize_standby_tasks`, only that tags never forbid a move.

    Priority: pairs in the order of `clients`.
    """
    state = placement.state
    if not any(placement.standby) or not _is_configured(state) or not _racks_are_known(state, state.tasks.changelog):
        return
    traffic = traffic_by_rack(state, state.tasks.changelog, traffic_cost)
    if state.assignment_configs.rack_aware_assignment_strategy is RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        exchange_within_subtopologies(placement, clients, traffic, non_overlap_cost, recorder)
    else:
        exchange_standbys(placement, clients, traffic, non_overlap_cost, no_tag_constraints(state), recorder)


def _all_partitions(state: ApplicationState) -> Ragged:
    """The source and changelog partitions of each task; one that is both counts once."""
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
    """Whether each client has a rack, and each partition a replica with one; replicas without do not count here."""
    has_rack: BoolArray = np.any(state.partitions.in_rack, axis=1)
    return not np.any(state.clients.rack == NO_RACK) and partitions.all(has_rack)
