"""How groups and single members move towards a new assignment, and what they must revoke first.

In a classic group, a task that moves is not given to its new owner while another thread still owns it. The old owner
revokes it when it receives the assignment, and rejoins. In the follow-up rebalance the task is free. In a group whose
coordinator computes targets (`streams_coordinator`), each member moves by itself, to what the coordinator gives it.

Source: KIP-429, `StreamsPartitionAssignor.populateActiveTaskAndPartitionsLists` and `buildStandbyTaskMap`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.group.member import Member, Place
from simulator.group.streams_coordinator import Tasks
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

    `running`, shape (N, K + 1): see `Fleet.running`. The tasks of stopped threads become unassigned; without any, the
    result is `target` itself.
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

    `current`: the current assignment; stopped clients own nothing. `stateful`, shape (T,): which tasks are stateful.
    `copies`, shape (T, N): the copies that clients have, be they assigned or only on disk. In the result, every task
    stays where it is, goes to a free place, or is revoked and withheld until the next rebalance.
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


def tasks_of_members(
    assignment: GroupAssignment, warmups: BoolArray | None, places: Mapping[Member, Place]
) -> dict[Member, Tasks]:
    """Return the tasks of each member.

    `assignment`: T tasks on N clients. `warmups`, shape (T, N): which standbys are warm-ups; None for none.
    """
    if not places:
        return {}
    members = list(places)
    last = 1 + max(slot for _, slot in places.values())  # The slot of no member.
    lookup = np.full((assignment.standby.shape[1], last + 1), -1)
    for number, (row, slot) in enumerate(places.values()):
        lookup[row, slot] = number
    active = np.flatnonzero(assignment.owner != UNASSIGNED)
    standby, clients = assignment.standby_cells
    is_warmup = np.zeros(len(standby), dtype=np.bool_) if warmups is None else warmups[standby, clients]
    copies = lookup[clients, np.minimum(assignment.thread[standby, clients], last)]
    owners = lookup[assignment.owner[active], np.minimum(assignment.owner_thread()[active], last)]
    by_role = [
        _by_member(active, owners, len(members)),
        _by_member(standby[~is_warmup], copies[~is_warmup], len(members)),
        _by_member(standby[is_warmup], copies[is_warmup], len(members)),
    ]
    return {member: Tasks(*tasks) for member, *tasks in zip(members, *by_role, strict=True)}


def _by_member(tasks: IntArray, members: IntArray, num_members: int) -> list[frozenset[int]]:
    order = np.argsort(members, kind="stable")
    listed = tasks[order].tolist()
    ends = np.searchsorted(members[order], np.arange(num_members + 1)).tolist()
    return [frozenset(listed[start:end]) for start, end in pairwise(ends)]


def assignment_of(
    tasks: Mapping[Member, Tasks], places: Mapping[Member, Place], shape: tuple[int, int]
) -> GroupAssignment:
    """Return the assignment of a group whose members have tasks."""
    assignment = GroupAssignment.empty(*shape)
    owner, standby, thread = assignment.owner, assignment.standby, assignment.thread
    for member, (_, *copies) in tasks.items():
        row, slot = places[member]
        held = _rows(frozenset().union(*copies))
        standby[held, row] = True
        thread[held, row] = slot
    for member, (active, *_) in tasks.items():
        row, slot = places[member]
        owned = _rows(active)
        owner[owned] = row
        thread[owned, row] = slot
    return GroupAssignment(owner, standby, thread)


def reconcile_member(
    place: Place,
    before: Tasks,
    after: Tasks,
    current: GroupAssignment,
    is_targeted: BoolArray,
    is_locked: BoolArray,
) -> Reconciliation:
    """Let one member have other tasks.

    `is_targeted`, shape (T,): which tasks the target assigns to any member. `is_locked`, shape (T,): which tasks only
    one thread of a client opens, see `Fleet.locks_tasks`. Returns the assignment in which it has those tasks, except
    those that another thread of its client has open: it has to wait for a locked one. Of two copies without a lock, the
    assignment has the active one, or the first one.
    """
    row, slot = place
    owner, standby, thread = current.owner.copy(), current.standby.copy(), current.thread.copy()
    revoked: BoolArray = np.zeros(len(owner), dtype=np.bool_)
    lost = _rows(before.active - after.active)
    lost = lost[(owner[lost] == row) & (thread[lost, row] == slot)]
    revoked[lost] = True
    owner[lost] = UNASSIGNED
    had, gets = before.standby | before.warmup, after.standby | after.warmup
    closed = _rows(had - gets)
    standby[closed[thread[closed, row] == slot], row] = False
    opened, gained = _rows(gets - had), _rows(after.active - before.active)
    is_elsewhere = ((owner == row) | standby[:, row]) & (thread[:, row] != slot)
    opened = opened[~is_elsewhere[opened]]
    gained = gained[~(is_elsewhere & is_locked)[gained]]
    standby[opened, row] = True
    standby[gained, row] = False
    owner[gained] = row
    thread[np.concatenate((opened, gained)), row] = slot
    return Reconciliation(GroupAssignment(owner, standby, thread), revoked, revoked & is_targeted)


def _rows(tasks: frozenset[object]) -> IntArray:
    return np.array(sorted(cast("frozenset[int]", tasks)), dtype=np.int64)
