"""Cooperative rebalancing: how far clients can move towards a new assignment, and what they must revoke first.

A task that moves is not given to its new owner while another thread still owns it. The old owner revokes it when it
receives the assignment, and rejoins. In the follow-up rebalance the task is free.

Source: KIP-429, `StreamsPartitionAssignor.populateActiveTaskAndPartitionsLists` and `buildStandbyTaskMap`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray
from simulator.world.group_assignment import GroupAssignment


@dataclass(frozen=True, slots=True, eq=False)
class Reconciliation:
    """The part of a rebalance that takes effect now.

    Attributes:
        assignment: the new assignment of the clients.
        revoked: shape (T,); the tasks that their owners revoke.
        withheld: shape (T,); the tasks that their new owners get only in the next rebalance.
    """

    assignment: GroupAssignment
    revoked: BoolArray
    withheld: BoolArray

    @classmethod
    def without_moves(cls, assignment: GroupAssignment) -> Reconciliation:
        """Return an assignment that takes effect immediately, because no task is revoked."""
        none: BoolArray = np.zeros(len(assignment.owner), dtype=np.bool_)
        return cls(assignment, none, none)


def without_stopped_threads(target: GroupAssignment, running: BoolArray) -> GroupAssignment:
    """Return a target assignment without the tasks of threads that stopped after it was computed.

    Args:
        target: the target assignment.
        running: shape (N, K + 1); see `Fleet.running`.

    Returns:
        The tasks of stopped threads are unassigned; the target itself if there are none.
    """
    last_slot = running.shape[1] - 1
    owner_runs = running[target.owner, np.minimum(target.owner_thread(), last_slot)]
    tasks, clients = target.standby_cells
    stopped = ~running[clients, np.minimum(target.thread[tasks, clients], last_slot)]
    if not stopped.any() and (owner_runs | (target.owner == UNASSIGNED)).all():
        return target
    standby = target.standby.copy()
    standby[tasks[stopped], clients[stopped]] = False
    return GroupAssignment(np.where(owner_runs, target.owner, UNASSIGNED), standby, target.thread)


def reconcile_group(
    target: GroupAssignment, current: GroupAssignment, stateful: BoolArray, copies: BoolArray
) -> Reconciliation:
    """Compute how far the whole group can move towards a target (classic protocol).

    Args:
        target: the assignment of the leader.
        current: the current assignment; stopped clients own nothing.
        stateful: shape (T,); which tasks are stateful.
        copies: shape (T, N); the copies that clients have, be they assigned or only on disk.

    Returns:
        Every task stays where it is, goes to a free place, or is revoked and withheld until the next rebalance.
    """
    owned = current.owner != UNASSIGNED
    moves = (target.owner != current.owner) | (target.owner_thread() != current.owner_thread())
    revoked = owned & moves
    withheld = revoked & (target.owner != UNASSIGNED)
    owner = np.where(revoked, UNASSIGNED, target.owner)
    standby = target.standby.copy()
    # The new owner's copy is a standby for one more round, so its store stays open, or is opened if it was only on disk
    # (`StreamsPartitionAssignor.buildStandbyTaskMap`: `ClientState.previouslyOwnedStandby`).
    promoted = np.flatnonzero(withheld & stateful & (target.owner != current.owner))
    promoted = promoted[copies[promoted, target.owner[promoted]]]
    standby[promoted, target.owner[promoted]] = True
    # A task that moves to another thread of its client stays on the old thread until it is revoked.
    thread = target.thread
    same_client = np.flatnonzero(withheld & (target.owner == current.owner))
    if len(same_client):
        thread = thread.copy()
        thread[same_client, current.owner[same_client]] = current.thread[same_client, current.owner[same_client]]
    return Reconciliation(GroupAssignment(owner, standby, thread), revoked, withheld)
