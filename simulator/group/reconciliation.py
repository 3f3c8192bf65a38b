"""Cooperative hand-over: what each client is given now, and what its present owner has to give back first.

A task that moves is not given to its new owner while another thread still owns it. The old owner gives it back on
hearing of the assignment and joins anew; in the rebalance that follows, the task is free.

Source: KIP-429, `StreamsPartitionAssignor.populateActiveTaskAndPartitionsLists` and `buildStandbyTaskMap`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class GroupAssignment:
    """Who has what, along T tasks and the world's N clients.

    Attributes:
        owner: shape (T,); the client that each task is given to run, UNASSIGNED if none.
        standby: shape (T, N); who stands by.
        thread: shape (T, N); on which thread a client has a task in either role; anything where it has not.
    """

    owner: IntArray
    standby: BoolArray
    thread: IntArray

    @classmethod
    def none(cls, num_tasks: int, num_clients: int) -> GroupAssignment:
        """Nobody has anything."""
        shape = (num_tasks, num_clients)
        return cls(
            np.full(num_tasks, UNASSIGNED, dtype=np.int64),
            np.zeros(shape, dtype=np.bool_),
            np.zeros(shape, dtype=np.int64),
        )

    def without(self, client: int) -> GroupAssignment:
        """The same, but a client, a row, has nothing."""
        standby = self.standby.copy()
        standby[:, client] = False
        return GroupAssignment(np.where(self.owner == client, UNASSIGNED, self.owner), standby, self.thread)

    def held(self) -> BoolArray:
        """Shape (T, N); who has each task in either role."""
        held: BoolArray = self.standby | (self.owner[:, None] == np.arange(self.standby.shape[1]))
        return held

    def owner_thread(self) -> IntArray:
        """Shape (T,); the thread of its owner that each task is on; anything where it has none."""
        return self.thread[np.arange(len(self.owner)), self.owner]


@dataclass(frozen=True, slots=True, eq=False)
class Reconciliation:
    """What a rebalance does now.

    Attributes:
        given: what everybody has from now on.
        revoked: shape (T,); what its owner gives back.
        withheld: shape (T,); what its new owner will only get in the next rebalance.
    """

    given: GroupAssignment
    revoked: BoolArray
    withheld: BoolArray

    @classmethod
    def of(cls, given: GroupAssignment) -> Reconciliation:
        """Nobody gives anything back."""
        nothing: BoolArray = np.zeros(len(given.owner), dtype=np.bool_)
        return cls(given, nothing, nothing)


def without_stopped_clients(target: GroupAssignment, up: Sequence[bool]) -> GroupAssignment:
    """What was decided, as far as it reaches anybody: a client that has gone since takes nothing.

    Args:
        target: what was decided.
        up: N entries; which clients are there.
    """
    there = np.array([*up, False])
    owner = np.where(there[target.owner], target.owner, UNASSIGNED)
    return GroupAssignment(owner, target.standby & there[:-1], target.thread)


def reconcile_group(target: GroupAssignment, present: GroupAssignment, stateful: BoolArray) -> Reconciliation:
    """Go as far towards a target as is safe.

    Args:
        target: what the leader decided.
        present: what everybody has now; clients that are gone own nothing.
        stateful: shape (T,).
    """
    owned = present.owner != UNASSIGNED
    moves = (target.owner != present.owner) | (target.owner_thread() != present.owner_thread())
    revoked = owned & moves
    withheld = revoked & (target.owner != UNASSIGNED)
    owner = np.where(revoked, UNASSIGNED, target.owner)
    standby = target.standby.copy()
    # A standby that is to become active keeps its store open until it may, as a standby for one more round.
    waits = np.flatnonzero(withheld & stateful)
    waits = waits[present.standby[waits, target.owner[waits]]]
    standby[waits, target.owner[waits]] = True
    # Who gives a task back to another thread of its own still has it on the old one until then.
    thread = target.thread.copy()
    kept = np.flatnonzero(withheld & (target.owner == present.owner))
    thread[kept, present.owner[kept]] = present.thread[kept, present.owner[kept]]
    return Reconciliation(GroupAssignment(owner, standby, thread), revoked, withheld)


def reconcile_member(client: int, target: GroupAssignment, present: GroupAssignment) -> Reconciliation:
    """Let one client come as far towards its target as is safe, whatever the others do (KIP-1071).

    It gives back what is not to be its own, and gets what is free. What another still runs it will get later.

    Args:
        client: which, a row.
        target: what everybody shall have.
        present: what everybody has now.
    """
    owned = present.owner == client
    moves = (target.owner != client) | (target.thread[:, client] != present.thread[:, client])
    revoked = owned & moves
    gets = (target.owner == client) & (present.owner == UNASSIGNED)
    owner = np.where(gets, client, np.where(revoked, UNASSIGNED, present.owner))
    standby, thread = present.standby.copy(), present.thread.copy()
    standby[:, client] = target.standby[:, client]
    thread[:, client] = target.thread[:, client]
    return Reconciliation(GroupAssignment(owner, standby, thread), revoked, revoked & (target.owner != UNASSIGNED))
