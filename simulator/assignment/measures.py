"""Figures of an assignment: cross-rack partitions, balance, and the losses if racks or clients fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import NO_RACK, BoolArray, IntArray, Ragged, TaskTable, cells
from assignors.model.state import ApplicationState
from assignors.objective import min_remote_source_partitions
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import FloatArray, Layout


@dataclass(frozen=True, slots=True)
class Measures:
    """Figures of an assignment; cross-rack figures are None if racks are unknown.

    Attributes:
        cross_rack_source_partitions: source partitions without a replica in the rack of the client that reads them.
        cross_rack_source_partitions_bound: a lower bound of `cross_rack_source_partitions` for any assignment.
        cross_rack_standby_partitions: changelog partitions of standbys without a replica in the rack of their client.
        load_skew: maximum minus minimum of active + standby tasks per thread.
        active_skew: maximum minus minimum of active tasks per thread.
        stateful_skew: maximum minus minimum of stateful active tasks per thread.
        stateless_skew: maximum minus minimum of stateless active tasks per thread.
        standby_skew: maximum minus minimum of standbys and warm-ups per thread.
        subtopology_skew: the largest difference between two clients in active tasks of one subtopology; in a consumer
            group, between two that subscribe to its topic.
        standbys: the number of standby and warm-up copies.
        tasks_without_rack_redundancy: stateful tasks all of whose copies are in one rack.
    """

    cross_rack_source_partitions: int | None
    cross_rack_source_partitions_bound: int | None
    cross_rack_standby_partitions: int | None
    load_skew: float
    active_skew: float
    stateful_skew: float
    stateless_skew: float
    standby_skew: float
    subtopology_skew: int
    standbys: int
    tasks_without_rack_redundancy: int | None


@dataclass(frozen=True, slots=True)
class FailureLosses:
    """The stateful tasks that lose all their copies if racks or clients fail.

    Attributes:
        tasks_lost_by_rack: the number of lost tasks if all clients of a rack fail, by rack; None if racks are unknown.
        worst_one_client_loss: the number of lost tasks if the worst client fails.
        worst_pair_loss: the number of lost tasks if the worst two clients fail.
    """

    tasks_lost_by_rack: Mapping[str, int] | None
    worst_one_client_loss: int
    worst_pair_loss: int

    @property
    def worst_rack_loss(self) -> int | None:
        """Return the number of lost tasks if the worst rack fails; None if racks are unknown."""
        return None if self.tasks_lost_by_rack is None else max(self.tasks_lost_by_rack.values(), default=0)


def measure(state: ApplicationState, columns: AssignmentColumns) -> Measures:
    """Compute the figures of an assignment.

    Complexity: O(T·R + T·C).
    """
    tasks, clients = state.tasks, state.clients
    running = np.flatnonzero(columns.active != UNASSIGNED)
    owner = columns.active[running]
    standby_of, standby_on = cells(columns.standby)
    stateful = np.bincount(owner[tasks.stateful[running]], minlength=len(clients))
    active = np.bincount(owner, minlength=len(clients))
    standby = np.bincount(standby_on, minlength=len(clients))
    racks_known = not (clients.rack == NO_RACK).any()
    return Measures(
        cross_rack_source_partitions=_remote(state, tasks.source, running, owner) if racks_known else None,
        cross_rack_source_partitions_bound=min_remote_source_partitions(state),
        cross_rack_standby_partitions=_remote(state, tasks.changelog, standby_of, standby_on) if racks_known else None,
        load_skew=_spread((active + standby) / clients.threads),
        active_skew=_spread(active / clients.threads),
        stateful_skew=_spread(stateful / clients.threads),
        stateless_skew=_spread((active - stateful) / clients.threads),
        standby_skew=_spread(standby / clients.threads),
        subtopology_skew=_subtopology_skew(state, running, owner),
        standbys=len(standby_of),
        tasks_without_rack_redundancy=_tasks_without_rack_redundancy(state, columns) if racks_known else None,
    )


def failure_losses(layout: Layout, assignment: GroupAssignment, racks: IntArray) -> FailureLosses:
    """Count the tasks that lose all their copies if racks or clients fail.

    `racks`: shape (N,); the racks of the clients: columns of the layout's racks, NO_RACK if unknown.

    Complexity: O(T·N + N²).
    """
    copies = _copies(layout.tasks.stateful, assignment.owner, assignment.standby)
    of_client = _copies_by_domain(copies, np.arange(len(racks)), (len(layout.tasks), len(racks)))
    tasks_lost_by_rack = None
    if not (racks[copies[1]] == NO_RACK).any():
        in_rack = _copies_by_domain(copies, racks, (len(layout.tasks), len(layout.racks)))
        tasks_lost_by_rack = dict(zip(layout.racks, _count_within_one_domain(in_rack).tolist(), strict=True))
    return FailureLosses(
        tasks_lost_by_rack=tasks_lost_by_rack,
        worst_one_client_loss=int(_count_within_one_domain(of_client).max(initial=0)),
        worst_pair_loss=_worst_pair_loss(of_client),
    )


def _remote(state: ApplicationState, partitions: Ragged, tasks: IntArray, clients: IntArray) -> int:
    """Count the partitions that copies read from another rack."""
    by_rack = state.partitions.count_remote(partitions)
    return int(by_rack[tasks, state.clients.rack[clients]].sum())


def _spread(values: FloatArray) -> float:
    return float(values.max() - values.min()) if len(values) else 0.0


def _subtopology_skew(state: ApplicationState, running: IntArray, owner: IntArray) -> int:
    """Return the largest difference between two clients that may have tasks of the same subtopology."""
    if not len(running):
        return 0
    num_clients = len(state.clients)
    number, num_subtopologies = _number_subtopologies(state.tasks)
    counts = np.bincount(number[running] * num_clients + owner, minlength=num_subtopologies * num_clients)
    counts = counts.reshape(num_subtopologies, num_clients)
    if state.subscribers is None:
        return int((counts.max(axis=1) - counts.min(axis=1)).max())
    present, first = np.unique(number[running], return_index=True)
    subscribes, counts = state.subscribers[running[first]], counts[present]
    fewest = np.where(subscribes, counts, len(running)).min(axis=1)
    return int((counts.max(axis=1) - fewest).max())


@lru_cache(maxsize=16)
def _number_subtopologies(tasks: TaskTable) -> tuple[IntArray, int]:
    """Return the number of the subtopology of each task, from 0 without gaps, and how many subtopologies there are."""
    present, number = np.unique(tasks.subtopology, return_inverse=True)
    return number, len(present)


def _tasks_without_rack_redundancy(state: ApplicationState, columns: AssignmentColumns) -> int:
    copies = _copies(state.tasks.stateful, columns.active, columns.standby)
    shape = (len(state.tasks), len(state.partitions.racks))
    return int(_count_within_one_domain(_copies_by_domain(copies, state.clients.rack, shape)).sum())


def _copies(stateful: BoolArray, active: IntArray, standby: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the tasks and clients of all copies of stateful tasks."""
    running = np.flatnonzero((active != UNASSIGNED) & stateful)
    standby_of, standby_on = cells(standby)
    return np.concatenate((running, standby_of)), np.concatenate((active[running], standby_on))


def _copies_by_domain(copies: tuple[IntArray, IntArray], domain: IntArray, shape: tuple[int, int]) -> BoolArray:
    """Return whether each task has a copy in each failure domain, shape (T, D), from the domain of each client."""
    tasks, clients = copies
    has_copy = np.zeros(shape, dtype=np.bool_)
    has_copy[tasks, domain[clients]] = True
    return has_copy


def _count_within_one_domain(has_copy: BoolArray) -> IntArray:
    """Return how many tasks have all their copies in each failure domain, shape (D,)."""
    counts: IntArray = has_copy[np.count_nonzero(has_copy, axis=1) == 1].sum(axis=0)
    return counts


def _worst_pair_loss(has_copy: BoolArray) -> int:
    """Return the largest number of tasks whose copies are all in the same one or two failure domains."""
    num_domains = has_copy.shape[1]
    single_losses = _count_within_one_domain(has_copy)
    if num_domains < 2:
        return int(single_losses.sum())
    losses = single_losses[:, None] + single_losses
    pairs = np.nonzero(has_copy[np.count_nonzero(has_copy, axis=1) == 2])[1].reshape(-1, 2)
    np.add.at(losses, (pairs[:, 0], pairs[:, 1]), 1)
    return int(losses[np.triu_indices(num_domains, k=1)].max())
