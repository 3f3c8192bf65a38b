"""The assignment of tasks to the clients of a world and to their threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray, cells


@dataclass(frozen=True, eq=False)
class GroupAssignment:
    """An assignment of T tasks to the world's N clients: a target of the group, or the current assignment.

    The arrays are not changed, so what follows from them is computed once.

    Attributes:
        owner: shape (T,); the client that has each task as active task, UNASSIGNED if none.
        standby: shape (T, N); which clients have a standby or warm-up.
        thread: shape (T, N); the thread of the client that has the task, in either role; arbitrary elsewhere.
    """

    owner: IntArray
    standby: BoolArray
    thread: IntArray

    @classmethod
    def empty(cls, num_tasks: int, num_clients: int) -> GroupAssignment:
        """Return an assignment without any assigned task."""
        shape = (num_tasks, num_clients)
        return cls(
            np.full(num_tasks, UNASSIGNED, dtype=np.int64),
            np.zeros(shape, dtype=np.bool_),
            np.zeros(shape, dtype=np.int64),
        )

    def with_rows(self, number: int) -> GroupAssignment:
        """Return the assignment to as many rows as given, of which those after the clients have nothing."""
        added = number - self.standby.shape[1]
        if not added:
            return self
        more = ((0, 0), (0, added))
        return GroupAssignment(self.owner, np.pad(self.standby, more), np.pad(self.thread, more))

    def with_rows_as_clients(self, clients: Sequence[int], num_clients: int) -> GroupAssignment:
        """Return the assignment to N clients, from one to N and more rows, of which several may be a client's.

        If several rows of a client have a task, the active one counts, then the one of the client itself.
        """
        if not clients:
            return self
        owner, standby, thread = self.owner.copy(), self.standby[:, :num_clients].copy(), self.thread.copy()
        for row, client in enumerate(clients, num_clients):
            copies = self.standby[:, row] & ~standby[:, client] & (self.owner != client)
            standby[copies, client] = True
            thread[copies, client] = self.thread[copies, row]
        for row, client in enumerate(clients, num_clients):
            active = self.owner == row
            owner[active] = client
            thread[active, client] = self.thread[active, row]
        owned = np.flatnonzero(owner != UNASSIGNED)
        standby[owned, owner[owned]] = False
        return GroupAssignment(owner, standby, thread[:, :num_clients])

    def of_tasks(self, rows: IntArray) -> GroupAssignment:
        """Return the assignment of some tasks."""
        return GroupAssignment(self.owner[rows], self.standby[rows], self.thread[rows])

    def without(self, client: int) -> GroupAssignment:
        """Return the assignment without the tasks of a client, given by its row."""
        standby = self.standby.copy()
        standby[:, client] = False
        return GroupAssignment(np.where(self.owner == client, UNASSIGNED, self.owner), standby, self.thread)

    def without_thread(self, client: int, thread: int) -> GroupAssignment:
        """Return the assignment without the tasks of one thread of a client."""
        on_thread = self.thread[:, client] == thread
        standby = self.standby.copy()
        standby[on_thread, client] = False
        owner = np.where((self.owner == client) & on_thread, UNASSIGNED, self.owner)
        return GroupAssignment(owner, standby, self.thread)

    def with_thread(self, client: int, thread: int, number: int) -> GroupAssignment:
        """Return the assignment with another number for a thread of a client."""
        numbers = self.thread.copy()
        numbers[numbers[:, client] == thread, client] = number
        return GroupAssignment(self.owner, self.standby, numbers)

    def with_tasks_of(self, client: int, thread: int, other: GroupAssignment) -> GroupAssignment:
        """Return the assignment in which one thread of a client has the tasks that it has in another one."""
        cleared = self.without_thread(client, thread)
        on_thread = other.thread[:, client] == thread
        active, standby = (other.owner == client) & on_thread, other.standby[:, client] & on_thread
        copies, numbers = cleared.standby.copy(), cleared.thread.copy()
        copies[standby, client] = True
        numbers[active | standby, client] = thread
        return GroupAssignment(np.where(active, client, cleared.owner), copies, numbers)

    def with_free_tasks_of(self, client: int, thread: int, before: GroupAssignment) -> GroupAssignment:
        """Return the assignment in which one thread of a client has the tasks that it had before, if they are free."""
        on_thread = before.thread[:, client] == thread
        active = (before.owner == client) & on_thread & (self.owner == UNASSIGNED)
        standby = before.standby[:, client] & on_thread & (self.owner != client)
        copies, numbers = self.standby.copy(), self.thread.copy()
        copies[:, client] |= standby
        numbers[active | standby, client] = thread
        return GroupAssignment(np.where(active, client, self.owner), copies, numbers)

    def held(self) -> BoolArray:
        """Return which clients have each task in either role, shape (T, N)."""
        held = self.standby.copy()
        tasks = np.flatnonzero(self.owner != UNASSIGNED)
        held[tasks, self.owner[tasks]] = True
        return held

    def holds(self, tasks: IntArray, clients: IntArray) -> BoolArray:
        """Return whether clients have tasks in either role, for K pairs, shape (K,)."""
        is_held: BoolArray = self.owner[tasks] == clients
        if len(self.standby_cells[0]):
            is_held |= self.standby[tasks, clients]
        return is_held

    def owner_thread(self) -> IntArray:
        """Return the thread of each active task on its owner, shape (T,); arbitrary where it has no owner."""
        return self._owner_thread

    @cached_property
    def standby_cells(self) -> tuple[IntArray, IntArray]:
        """Return the tasks and clients of all standbys and warm-ups, by task."""
        return cells(self.standby)

    @cached_property
    def held_cells(self) -> tuple[IntArray, IntArray]:
        """Return the tasks and clients of all tasks that clients have in either role, by task."""
        tasks = np.flatnonzero(self.owner != UNASSIGNED)
        standby_of, standby_on = self.standby_cells
        if not len(standby_of):
            return tasks, self.owner[tasks]
        tasks, clients = np.concatenate((tasks, standby_of)), np.concatenate((self.owner[tasks], standby_on))
        order = np.argsort(tasks * self.standby.shape[1] + clients)
        return tasks[order], clients[order]

    @cached_property
    def _owner_thread(self) -> IntArray:
        return self.thread[np.arange(len(self.owner)), self.owner]
