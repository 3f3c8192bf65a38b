"""The tasks of single members, and assignments of whole groups: how one follows from the other.

Tasks are rows of the layout, as integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import cast

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.group.group_events import Member
from simulator.group.reconciliation import Reconciliation
from simulator.group.streams_coordinator import Tasks
from simulator.world.group_assignment import GroupAssignment

Place = tuple[int, int]
"""The row of a client, and the slot of a member of it (`Fleet.slot`)."""


def tasks_of_members(
    assignment: GroupAssignment, warmups: BoolArray | None, places: Mapping[Member, Place]
) -> dict[Member, Tasks]:
    """Return the tasks of each member.

    Args:
        assignment: T tasks on N clients.
        warmups: shape (T, N); which standbys are warm-ups; None for none.
        places: the members.
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
    """Return the assignment of a group whose members have tasks.

    Args:
        tasks: the tasks of each member.
        places: the members.
        shape: the numbers of tasks and clients.
    """
    assignment = GroupAssignment.empty(*shape)
    owner, standby, thread = assignment.owner, assignment.standby, assignment.thread
    for member, (active, *copies) in tasks.items():
        row, slot = places[member]
        held = _rows(frozenset().union(*copies))
        standby[held, row] = True
        thread[held, row] = slot
        owned = _rows(active)
        owner[owned] = row
        thread[owned, row] = slot
    return GroupAssignment(owner, standby, thread)


def reconcile_member(
    place: Place, before: Tasks, after: Tasks, current: GroupAssignment, is_targeted: BoolArray
) -> Reconciliation:
    """Let one member have other tasks.

    Args:
        place: the member.
        before: the tasks that it has.
        after: the tasks that it is to have.
        current: the assignment of the group.
        is_targeted: shape (T,); which tasks the target assigns to any member.

    Returns:
        The assignment in which it has those tasks.
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
    opened = _rows(gets - had)
    standby[opened, row] = True
    gained = _rows(after.active - before.active)
    owner[gained] = row
    thread[np.concatenate((opened, gained)), row] = slot
    return Reconciliation(GroupAssignment(owner, standby, thread), revoked, revoked & is_targeted)


def _rows(tasks: frozenset[object]) -> IntArray:
    return np.array(sorted(cast("frozenset[int]", tasks)), dtype=np.int64)
