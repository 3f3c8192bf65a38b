"""The threads of an assignment: which member of its client gets each task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import UNKNOWN_THREAD, ApplicationState
from assignors.tasks.thread_assignment import ClientTasks, ThreadTasks, assign_to_threads
from simulator.flows.execution import Execution
from simulator.world.group_assignment import GroupAssignment

Slots = Mapping[int, tuple[int, ...]]
"""The slots of the members of each client in the group, ascending; see `Fleet`."""


def threads_of_slots(slot: IntArray, rows: IntArray, slots: Slots) -> IntArray:
    """Return the positions of slots among the members of their client.

    Args:
        slot: shape (T, N); a slot of each task on each client.
        rows: C clients.
        slots: the slots of their members.

    Returns:
        Shape (T, C); UNKNOWN_THREAD for a slot without a member.
    """
    threads = np.full((slot.shape[0], len(rows)), UNKNOWN_THREAD, dtype=np.int64)
    for column, row in enumerate(rows.tolist()):
        numbers = np.array(slots[row], dtype=np.int64)
        place = np.minimum(np.searchsorted(numbers, slot[:, row]), len(numbers) - 1)
        threads[:, column] = np.where(numbers[place] == slot[:, row], place, UNKNOWN_THREAD)
    return threads


class ThreadAssigner:
    """Assigns the tasks of clients to their members in the group.

    Args:
        execution: the current assignment and the copies of the clients.
        hashes: `task_hash` of each task.
        slots: the members of each client.
        first_slots: the member of each client that joined the rebalance first; the first one if that is unknown.
    """

    def __init__(
        self, execution: Execution, hashes: Sequence[int], slots: Slots, first_slots: Mapping[int, int]
    ) -> None:
        self._execution = execution
        self._stateful = execution.layout.tasks.stateful
        self._hashes = hashes
        self._slots = slots
        self._first_slots = first_slots

    def assign(
        self,
        rows: IntArray,
        state: ApplicationState,
        columns: AssignmentColumns,
        last_slots: Slots,
        *,
        by_leader: bool,
    ) -> GroupAssignment:
        """Return the assignment along the world's clients, with the thread of every task.

        A coordinator's assignor assigns tasks to threads. A leader assigns the tasks of each client to its threads,
        whatever the assignor; so does a coordinator if its assignor does not. A client whose tasks and members do not
        change keeps them on their threads, as Kafka's algorithm would do (see
        `assignors.tasks.thread_assignment`). So threads are assigned for the other clients only.

        Args:
            rows: the clients in the assignment.
            state: the input of the assignor.
            columns: the assignment, along the rows of the state.
            last_slots: the members in the last assignment.
            by_leader: whether the leader of a classic group assigns.
        """
        current = self._execution.assignment
        owner = np.where(columns.active == UNASSIGNED, UNASSIGNED, rows[columns.active])
        standby = np.zeros_like(current.standby)
        standby[:, rows] = columns.standby
        thread = current.thread.copy()
        if columns.thread is not None and not by_leader:
            for column, row in enumerate(rows.tolist()):
                thread[:, row] = np.array(self._slots[row])[columns.thread[:, column]]
            return GroupAssignment(owner, standby, thread)
        moved = owner != current.owner
        is_affected = np.zeros(standby.shape[1] + 1, dtype=np.bool_)
        is_affected[owner[moved]] = True
        is_affected[current.owner[moved]] = True
        is_affected[:-1] |= (standby != current.standby).any(axis=0)
        for row in rows.tolist():
            is_affected[row] |= self._slots[row] != last_slots.get(row)
        affected_columns = np.flatnonzero(is_affected[rows])
        clients = rows[affected_columns]
        is_active = owner[:, None] == clients
        stateful = _rows_by_column(is_active & self._stateful[:, None])
        stateless = _rows_by_column(is_active & ~self._stateful[:, None])
        standbys = _rows_by_column(standby[:, clients])
        lags = state.lags[:, affected_columns].T.tolist()
        for index, previous_threads in enumerate(self._previous_by_thread(clients)):
            client = int(clients[index])
            client_tasks = ClientTasks(stateful[index], stateless[index], standbys[index])
            thread_tasks = assign_to_threads(client_tasks, previous_threads, lags[index], self._hashes)
            slots = self._slots[client]
            slot_of_task = {task: slots[number] for task, number in _threads_of_tasks(thread_tasks)}
            thread[list(slot_of_task), client] = list(slot_of_task.values())
        return GroupAssignment(owner, standby, thread)

    def _previous_by_thread(self, clients: IntArray) -> Iterator[list[list[int]]]:
        """Yield the copies that each thread of the given clients reports.

        The thread that had a copy that was just revoked reports it, closes it and rejoins immediately. The thread that
        joins first reports the other copies on disk, since it locks their directories
        (`TaskManager.tryToLockAllNonEmptyTaskDirectories`).

        Args:
            clients: rows of the clients.

        Yields:
            For each client, the tasks of each thread.
        """
        current = self._execution.assignment
        holds = ((current.owner[:, None] == clients) | current.standby[:, clients]) & self._stateful[:, None]
        unassigned = self._execution.restoration.holds_copy(clients) & ~holds
        revoked = unassigned & (self._execution.revoked_from[:, None] == clients)
        threads = threads_of_slots(current.thread, clients, self._slots)
        has_thread = threads != UNKNOWN_THREAD
        own_copies = _rows_by_column((holds | revoked) & has_thread)
        on_disk = _rows_by_column((unassigned & ~revoked) | ((holds | revoked) & ~has_thread))
        for index, client in enumerate(clients.tolist()):
            slots = self._slots[client]
            previous_threads: list[list[int]] = [[] for _ in slots]
            for task, number in zip(own_copies[index], threads[own_copies[index], index].tolist(), strict=True):
                previous_threads[number].append(task)
            first_slot = self._first_slots.get(client, slots[0])
            previous_threads[slots.index(first_slot)] += on_disk[index]
            yield previous_threads


def _threads_of_tasks(thread_tasks: ThreadTasks) -> Iterator[tuple[int, int]]:
    """Yield each task of a client with its thread."""
    for role in (thread_tasks.active, thread_tasks.standby):
        for number, tasks in enumerate(role):
            for task in tasks:
                yield task, number


def _rows_by_column(is_set: BoolArray) -> list[list[int]]:
    """Return the rows that are set in each column."""
    columns, rows = np.nonzero(np.ascontiguousarray(is_set.T))
    all_rows = rows.tolist()
    ends = np.searchsorted(columns, np.arange(is_set.shape[1] + 1)).tolist()
    return [all_rows[start:end] for start, end in pairwise(ends)]
