"""Cooperative rebalancing: how far clients can move towards a new assignment, and what they must revoke first.

A task that moves is not given to its new owner while another thread still owns it. The old owner revokes it when it
receives the assignment, and rejoins. In the follow-up rebalance the task is free.

Source: KIP-429, `StreamsPartitionAssignor.populateActiveTaskAndPartitionsLists` and `buildStandbyTaskMap`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, cells
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


def reconcile_member(client: int, thread: int, target: GroupAssignment, current: GroupAssignment) -> Reconciliation:
    """Compute how far one member can move towards its target, independently of the others (KIP-1071).

    Args:
        client: row of the client.
        thread: the thread of the client that is the member.
        target: the target assignment of the group.
        current: the current assignment of the threads.

    Returns:
        The member revokes what is not in its target, and gets the tasks of its target that are free. It gets the tasks
        that other members still own later; as one process has one copy of a task, these include tasks of which another
        thread of the client still has a standby. (Source: `CurrentAssignmentBuilder.hasUnreleasedActiveTasks`.)
    """
    in_target, in_current = target.thread[:, client] == thread, current.thread[:, client] == thread
    is_owner, is_standby = current.owner == client, current.standby[:, client]
    is_target = (target.owner == client) & in_target
    revoked = is_owner & in_current & ~is_target
    held_elsewhere = (is_owner | is_standby) & ~in_current
    assigned = is_target & (current.owner == UNASSIGNED) & ~held_elsewhere
    owner = np.where(assigned, client, np.where(revoked, UNASSIGNED, current.owner))
    standbys = target.standby[:, client] & in_target & ~held_elsewhere
    standby, numbers = current.standby.copy(), current.thread.copy()
    standby[:, client] = (is_standby & ~in_current) | standbys
    numbers[assigned | standbys, client] = thread
    return Reconciliation(GroupAssignment(owner, standby, numbers), revoked, revoked & (target.owner != UNASSIGNED))


def revoke_tasks(client: int, thread: int, kept: GroupAssignment | None, current: GroupAssignment) -> Reconciliation:
    """Let one member revoke active tasks, which no other member gets now.

    Args:
        client: row of the client.
        thread: the thread of the client that is the member.
        kept: the assignment whose tasks the member keeps; None if it revokes all.
        current: the current assignment of the threads.

    Returns:
        The assignment without the tasks that the member revokes.
    """
    revoked = (current.owner == client) & (current.thread[:, client] == thread)
    if kept is not None:
        revoked &= ~((kept.owner == client) & (kept.thread[:, client] == thread))
    owner = np.where(revoked, UNASSIGNED, current.owner)
    none: BoolArray = np.zeros_like(revoked)
    return Reconciliation(GroupAssignment(owner, current.standby, current.thread), revoked, none)


def without_tasks_of_others(
    target: GroupAssignment, owned: GroupAssignment, client: int, thread: int
) -> GroupAssignment:
    """Return a target without the active tasks of a member that other members still own for the coordinator.

    Args:
        target: the target assignment of the group.
        owned: the tasks that members have reported to the coordinator, also those of members that are down.
        client: row of the client.
        thread: the thread of the client that is the member.

    Returns:
        The target, in which tasks of the member are missing if another member owns them.
    """
    is_own = (owned.owner == client) & (owned.thread[:, client] == thread)
    is_target = (target.owner == client) & (target.thread[:, client] == thread)
    withheld = is_target & (owned.owner != UNASSIGNED) & ~is_own
    return GroupAssignment(np.where(withheld, UNASSIGNED, target.owner), target.standby, target.thread)


def lacks_only_free_tasks(target: GroupAssignment, owned: GroupAssignment, client: int, thread: int) -> bool:
    """Return whether a member lacks tasks of its target, none of which another member owns for the coordinator.

    Args:
        target: as for `without_tasks_of_others`.
        owned: as for `without_tasks_of_others`.
        client: row of the client.
        thread: the thread of the client that is the member.
    """
    is_own = (owned.owner == client) & (owned.thread[:, client] == thread)
    lacks = (target.owner == client) & (target.thread[:, client] == thread) & ~is_own
    return bool(lacks.any() and (owned.owner[lacks] == UNASSIGNED).all())


def without_untargeted_tasks(
    owned: GroupAssignment, target: GroupAssignment, client: int, thread: int
) -> GroupAssignment:
    """Return the tasks of members without those of one member that are not in its target.

    Args:
        owned: the tasks that members have reported to the coordinator.
        target: the target assignment of the group.
        client: row of the client.
        thread: the thread of the client that is the member.

    Returns:
        The tasks, of which the member has active ones only where its target has them, too.
    """
    is_own = (owned.owner == client) & (owned.thread[:, client] == thread)
    is_target = (target.owner == client) & (target.thread[:, client] == thread)
    return GroupAssignment(np.where(is_own & ~is_target, UNASSIGNED, owned.owner), owned.standby, owned.thread)


def threads_behind(target: GroupAssignment, current: GroupAssignment) -> set[tuple[int, int]]:
    """Return the threads, by client, whose tasks differ from their target."""
    threads: set[tuple[int, int]] = set()
    owner_moves = (target.owner != current.owner) | (target.owner_thread() != current.owner_thread())
    standby_moves = target.standby != current.standby
    standby_moves |= target.standby & current.standby & (target.thread != current.thread)
    for assignment in (target, current):
        moved = np.flatnonzero(owner_moves & (assignment.owner != UNASSIGNED))
        pairs = [(assignment.owner[moved], assignment.owner_thread()[moved])]
        tasks, clients = cells(standby_moves & assignment.standby)
        pairs.append((clients, assignment.thread[tasks, clients]))
        for rows, numbers in pairs:
            threads.update(zip(rows.tolist(), numbers.tolist(), strict=True))
    return threads
