"""Cooperative rebalancing: how far clients can move towards a new assignment, and what they must revoke first.

A task that moves is not given to its new owner while another thread still owns it. The old owner revokes it when it
receives the assignment, and rejoins. In the follow-up rebalance the task is free.

Source: KIP-429, `StreamsPartitionAssignor.populateActiveTaskAndPartitionsLists` and `buildStandbyTaskMap`.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def without_stopped_clients(target: GroupAssignment, up: Sequence[bool]) -> GroupAssignment:
    """Return a target assignment without the tasks of clients that stopped after it was computed.

    Args:
        target: the target assignment.
        up: N entries; which clients are up.

    Returns:
        The tasks of stopped clients are unassigned.
    """
    is_up = np.array([*up, False])
    owner = np.where(is_up[target.owner], target.owner, UNASSIGNED)
    return GroupAssignment(owner, target.standby & is_up[:-1], target.thread)


def reconcile_group(target: GroupAssignment, current: GroupAssignment, stateful: BoolArray) -> Reconciliation:
    """Compute how far the whole group can move towards a target (classic protocol).

    Args:
        target: the assignment of the leader.
        current: the current assignment; stopped clients own nothing.
        stateful: shape (T,); which tasks are stateful.

    Returns:
        Every task stays where it is, goes to a free place, or is revoked and withheld until the next rebalance.
    """
    owned = current.owner != UNASSIGNED
    moves = (target.owner != current.owner) | (target.owner_thread() != current.owner_thread())
    revoked = owned & moves
    withheld = revoked & (target.owner != UNASSIGNED)
    owner = np.where(revoked, UNASSIGNED, target.owner)
    standby = target.standby.copy()
    # A standby that becomes active stays a standby for one more round, so its store stays open.
    promoted = np.flatnonzero(withheld & stateful)
    promoted = promoted[current.standby[promoted, target.owner[promoted]]]
    standby[promoted, target.owner[promoted]] = True
    # A task that moves to another thread of its client stays on the old thread until it is revoked.
    thread = target.thread.copy()
    same_client = np.flatnonzero(withheld & (target.owner == current.owner))
    thread[same_client, current.owner[same_client]] = current.thread[same_client, current.owner[same_client]]
    return Reconciliation(GroupAssignment(owner, standby, thread), revoked, withheld)


def reconcile_member(client: int, target: GroupAssignment, current: GroupAssignment) -> Reconciliation:
    """Compute how far one client can move towards its target, independently of the others (KIP-1071).

    Args:
        client: row of the client.
        target: the target assignment of the group.
        current: the current assignment of the clients.

    Returns:
        The client revokes what is not in its target, and gets the tasks of its target that are free. It gets the tasks
        that other clients still own later.
    """
    owned = current.owner == client
    moves = (target.owner != client) | (target.thread[:, client] != current.thread[:, client])
    revoked = owned & moves
    assigned = (target.owner == client) & (current.owner == UNASSIGNED)
    owner = np.where(assigned, client, np.where(revoked, UNASSIGNED, current.owner))
    standby, thread = current.standby.copy(), current.thread.copy()
    standby[:, client] = target.standby[:, client]
    thread[:, client] = target.thread[:, client]
    return Reconciliation(GroupAssignment(owner, standby, thread), revoked, revoked & (target.owner != UNASSIGNED))
