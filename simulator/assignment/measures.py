"""What is measured of an assignment: how even it is, and what it puts at risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import NO_RACK, BoolArray, IntArray, Ragged
from assignors.model.state import ApplicationState
from assignors.objective.bounds import min_remote_source_partitions
from simulator.group.reconciliation import GroupAssignment
from simulator.world.layout import FloatArray, Layout


@dataclass(frozen=True, slots=True)
class Measures:
    """Figures of an assignment; None where racks are not known.

    Attributes:
        cross_rack_source_partitions: source partitions without a replica in the rack of the client that reads them.
        cross_rack_source_partitions_bound: what no assignment could undercut.
        cross_rack_standby_partitions: the same for the changelogs of standbys.
        load_skew: most minus least active + standby tasks per thread.
        active_skew: most minus least active tasks per thread.
        stateful_skew: most minus least active tasks with state per thread.
        stateless_skew: most minus least active tasks without state per thread.
        standby_skew: most minus least standby tasks per thread.
        subtopology_skew: the largest difference between two clients in active tasks of one subtopology.
        standbys: standby and warm-up copies.
        tasks_without_rack_redundancy: stateful tasks all of whose copies stand in one rack.
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
    """What an assignment puts at risk: stateful tasks of which no copy is left when something goes.

    Attributes:
        tasks_lost_by_rack: how many, when all clients in a rack go, by the rack's name; None where racks are not known.
        worst_one_client_loss: how many, when the client goes that takes most with it.
        worst_pair_loss: how many, when those two clients go that take most with them.
    """

    tasks_lost_by_rack: Mapping[str, int] | None
    worst_one_client_loss: int
    worst_pair_loss: int


def measure(state: ApplicationState, columns: AssignmentColumns) -> Measures:
    """Measure an assignment.

    Complexity: O(T·R + T·C).
    """
    tasks, clients = state.tasks, state.clients
    running = np.flatnonzero(columns.active != UNASSIGNED)
    owner = columns.active[running]
    standby_of, standby_on = _pairs(columns.standby)
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
        subtopology_skew=_subtopology_skew(tasks.subtopology[running], owner, len(clients)),
        standbys=len(standby_of),
        tasks_without_rack_redundancy=_tasks_in_one_rack(state, columns) if racks_known else None,
    )


def failure_losses(layout: Layout, held: GroupAssignment, racks: IntArray) -> FailureLosses:
    """Find out what an assignment puts at risk.

    Args:
        layout: T tasks.
        held: who has what, along N clients.
        racks: shape (N,); where the clients are: columns of the layout's racks, NO_RACK if that is not known.

    Complexity: O(T·N + N²).
    """
    copies = _copies(layout.tasks.stateful, held.owner, held.standby)
    of_client = _spots(copies, np.arange(len(racks)), (len(layout.tasks), len(racks)))
    lost = None
    if not (racks[copies[1]] == NO_RACK).any():
        in_rack = _spots(copies, racks, (len(layout.tasks), len(layout.racks)))
        lost = dict(zip(layout.racks, _in_one(in_rack).tolist(), strict=True))
    return FailureLosses(
        tasks_lost_by_rack=lost,
        worst_one_client_loss=int(_in_one(of_client).max(initial=0)),
        worst_pair_loss=_worst_two(of_client),
    )


def _pairs(standby: BoolArray) -> tuple[IntArray, IntArray]:
    """Tasks and clients of the standbys; np.nonzero does the same, but slower where they are few."""
    task, client = np.divmod(np.flatnonzero(standby), max(1, standby.shape[1]))
    return task, client


def _remote(state: ApplicationState, partitions: Ragged, tasks: IntArray, clients: IntArray) -> int:
    """How many partitions these copies read from another rack."""
    by_rack = state.partitions.count_remote(partitions)
    return int(by_rack[tasks, state.clients.rack[clients]].sum())


def _spread(values: FloatArray) -> float:
    return float(values.max() - values.min()) if len(values) else 0.0


def _subtopology_skew(subtopology: IntArray, owner: IntArray, num_clients: int) -> int:
    """The largest difference between two clients, from the subtopology and the owner of each task that runs."""
    if not len(subtopology):
        return 0
    present, number = np.unique(subtopology, return_inverse=True)
    cells = np.bincount(number * num_clients + owner, minlength=len(present) * num_clients)
    counts = cells.reshape(len(present), num_clients)
    return int((counts.max(axis=1) - counts.min(axis=1)).max())


def _tasks_in_one_rack(state: ApplicationState, columns: AssignmentColumns) -> int:
    copies = _copies(state.tasks.stateful, columns.active, columns.standby)
    shape = (len(state.tasks), len(state.partitions.racks))
    return int(_in_one(_spots(copies, state.clients.rack, shape)).sum())


def _copies(stateful: BoolArray, active: IntArray, standby: BoolArray) -> tuple[IntArray, IntArray]:
    """Tasks and clients of all copies of stateful tasks."""
    running = np.flatnonzero((active != UNASSIGNED) & stateful)
    standby_of, standby_on = _pairs(standby)
    return np.concatenate((running, standby_of)), np.concatenate((active[running], standby_on))


def _spots(copies: tuple[IntArray, IntArray], spot: IntArray, shape: tuple[int, int]) -> BoolArray:
    """Whether a task has a copy in a spot, shape (T, spots), from the spot of each client."""
    tasks, clients = copies
    there = np.zeros(shape, dtype=np.bool_)
    there[tasks, spot[clients]] = True
    return there


def _in_one(there: BoolArray) -> IntArray:
    """How many tasks have all their copies in one spot, shape (spots,)."""
    only: IntArray = there[np.count_nonzero(there, axis=1) == 1].sum(axis=0)
    return only


def _worst_two(there: BoolArray) -> int:
    """The most tasks all of whose copies are in two spots, or in one of them."""
    num_spots = there.shape[1]
    alone = _in_one(there)
    if num_spots < 2:
        return int(alone.sum())
    lost = alone[:, None] + alone
    both = np.nonzero(there[np.count_nonzero(there, axis=1) == 2])[1].reshape(-1, 2)
    np.add.at(lost, (both[:, 0], both[:, 1]), 1)
    return int(lost[np.triu_indices(num_spots, k=1)].max())
