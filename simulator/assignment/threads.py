"""The threads of an assignment: which member of its client gets each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import BoolArray, IntArray, cells
from assignors.model.state import UNKNOWN_THREAD
from assignors.tasks.thread_assignment import ClientTasks, assign_to_threads
from simulator.flows.execution import Execution
from simulator.group.fleet import GroupProcesses
from simulator.world.group_assignment import GroupAssignment

_FEW_VALUES = 150
"""Number of values up to which a loop in Python groups them faster than NumPy."""

Slots = Mapping[int, tuple[int, ...]]
"""The slots of the members of each client in the group, ascending; see `Fleet`."""


def threads_of_slots(slot: IntArray, rows: IntArray, slots: Slots) -> IntArray:
    """Return the positions of slots among the members of their client.

    `slot`, shape (T, N): a slot of each task on each client. The result has shape (T, C), with UNKNOWN_THREAD for a
    slot without a member.
    """
    threads = np.full((slot.shape[0], len(rows)), UNKNOWN_THREAD, dtype=np.int64)
    for column, row in enumerate(rows.tolist()):
        numbers = np.array(slots[row], dtype=np.int64)
        place = np.minimum(np.searchsorted(numbers, slot[:, row]), len(numbers) - 1)
        threads[:, column] = np.where(numbers[place] == slot[:, row], place, UNKNOWN_THREAD)
    return threads


def positions_of_slots(slots: IntArray, columns: IntArray, members: Sequence[Sequence[int]]) -> IntArray:
    """Return the positions of slots among the members of their client, as `threads_of_slots`, for single copies.

    `slots`, shape (K,): the slot of each copy. `columns`, shape (K,): the client of each copy, a position in `members`.
    `members`: the slots of the members of each client, ascending. The result has shape (K,), with UNKNOWN_THREAD for a
    slot without a member.
    """
    counts = np.array([len(numbers) for numbers in members], dtype=np.int64)
    if all(not numbers or numbers[-1] == len(numbers) - 1 for numbers in members):
        # The slots are 0, 1, 2 and so on.
        return np.where((slots >= 0) & (slots < counts[columns]), slots, UNKNOWN_THREAD)
    numbers = np.array([number for of_client in members for number in of_client], dtype=np.int64)
    if not len(numbers):
        return np.full(len(slots), UNKNOWN_THREAD, dtype=np.int64)
    width = 1 + max(int(numbers.max()), int(slots.max(initial=0)))
    known = np.repeat(np.arange(len(members)), counts) * width + numbers
    keys = columns * width + slots
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    first = np.cumsum(counts) - counts
    threads: IntArray = np.where((known[place] == keys) & (slots >= 0), place - first[columns], UNKNOWN_THREAD)
    return threads


class ThreadAssigner:
    """Assigns the tasks of clients to their members in the group.

    `execution`: the current assignment and the copies of the clients. `first_slots`: the member of each process that
    joined the rebalance first; the first one if that is unknown. `last_slots`: the members of each process in the last
    assignment.
    """

    def __init__(
        self,
        execution: Execution,
        hashes: Sequence[int],
        processes: GroupProcesses,
        first_slots: Mapping[int, int],
        last_slots: Slots,
    ) -> None:
        self._execution = execution
        self._current = execution.assignment.with_rows(processes.num_rows)
        self._stateful = execution.layout.tasks.stateful
        self._hashes = hashes
        self._rows, self._slots = processes.rows, processes.slots
        self._first_slots = first_slots
        self._last_slots = last_slots

    def assign(self, all_lags: IntArray, columns: AssignmentColumns, *, by_leader: bool) -> GroupAssignment:
        """Return the assignment along the rows of processes, with the thread of every task.

        A coordinator's assignor assigns tasks to threads. A leader assigns the tasks of each client to its threads,
        whatever the assignor; so does a coordinator if its assignor does not. A client whose tasks and members do not
        change keeps them on their threads, as Kafka's algorithm would do (see `assignors.tasks.thread_assignment`). So
        threads are assigned for the other clients only. `all_lags`, shape (T, C): the lags in records. `by_leader` says
        whether the leader of a classic group assigns.
        """
        current, rows = self._current, self._rows
        owner = np.where(columns.active == UNASSIGNED, UNASSIGNED, rows[columns.active])
        standby: BoolArray = np.zeros(current.standby.shape, dtype=np.bool_)
        standby_of, standby_on = cells(columns.standby)
        standby_on = rows.take(standby_on)
        standby[standby_of, standby_on] = True
        if columns.thread is not None and not by_leader:
            thread = current.thread.copy()
            for column, row in enumerate(rows.tolist()):
                thread[:, row] = np.array(self._slots[row])[columns.thread[:, column]]
            return GroupAssignment(owner, standby, thread)
        moved = owner != current.owner
        is_affected = np.zeros(standby.shape[1] + 1, dtype=np.bool_)
        is_affected[owner[moved]] = True
        is_affected[current.owner[moved]] = True
        if len(standby_of) or len(current.standby_cells[0]):
            is_affected[cells(standby != current.standby)[1]] = True
        is_affected[[row for row in rows.tolist() if self._slots[row] != self._last_slots.get(row)]] = True
        affected_columns = np.flatnonzero(is_affected[rows])
        clients = rows[affected_columns]
        if not len(clients):
            return GroupAssignment(owner, standby, current.thread)
        thread = current.thread.copy()
        stateful, stateless = self._actives_by_client(owner, clients)
        standbys = _by_column(*_on_clients(standby_of, standby_on, clients), len(clients))
        lags = _lags_of(stateful, standbys, all_lags, affected_columns)
        tasks: list[int] = []
        slots_of_tasks: list[int] = []
        counts: list[int] = []
        for index, previous_threads in enumerate(self._previous_by_thread(clients)):
            client_tasks = ClientTasks(stateful[index], stateless[index], standbys[index])
            thread_tasks = assign_to_threads(client_tasks, previous_threads, lags[index], self._hashes)
            before = len(tasks)
            for role in (thread_tasks.active, thread_tasks.standby):
                for slot, of_thread in zip(self._slots[int(clients[index])], role, strict=True):
                    tasks += of_thread
                    slots_of_tasks += [slot] * len(of_thread)
            counts.append(len(tasks) - before)
        thread[tasks, np.repeat(clients, counts)] = slots_of_tasks
        return GroupAssignment(owner, standby, thread)

    def _actives_by_client(self, owner: IntArray, clients: IntArray) -> tuple[list[list[int]], list[list[int]]]:
        """Return the stateful and the stateless tasks that each of the given clients owns, ascending."""
        tasks, columns = _tasks_of(owner, clients)
        stateful: list[list[int]] = [[] for _ in range(len(clients))]
        stateless: list[list[int]] = [[] for _ in range(len(clients))]
        for task, column, has_state in zip(
            tasks.tolist(), columns.tolist(), self._stateful.take(tasks).tolist(), strict=True
        ):
            (stateful if has_state else stateless)[column].append(task)
        return stateful, stateless

    def _previous_by_thread(self, clients: IntArray) -> list[list[list[int]]]:
        """Return the copies that each thread of the given clients reports.

        The thread that had a copy that was just revoked reports it, closes it and rejoins immediately. The thread that
        joins first reports the other copies on disk, since it locks their directories
        (`TaskManager.tryToLockAllNonEmptyTaskDirectories`). Returns, for each client, the tasks of each thread.
        """
        current = self._current
        tasks, columns = _on_clients(*self._execution.restoration.copies_on_disk(), clients)
        # An assigned copy of a stateful task counts as a copy on disk, and stateless tasks have none.
        is_reported = current.holds(tasks, clients[columns]) | (self._execution.revoked_from[tasks] == clients[columns])
        members = [self._slots[client] for client in clients.tolist()]
        threads = positions_of_slots(current.thread[tasks, clients[columns]], columns, members)
        previous: list[list[list[int]]] = [[[] for _ in slots] for slots in members]
        first = [
            slots.index(self._first_slots.get(client, slots[0]))
            for client, slots in zip(clients.tolist(), members, strict=True)
        ]
        opened_by = np.where(is_reported, threads, UNKNOWN_THREAD)
        for task, column, number in zip(tasks.tolist(), columns.tolist(), opened_by.tolist(), strict=True):
            previous[column][first[column] if number == UNKNOWN_THREAD else number].append(task)
        return previous


def _lags_of(
    stateful: Sequence[list[int]], standbys: Sequence[list[int]], lags: IntArray, columns: IntArray
) -> list[dict[int, int]]:
    """Return the lags of the stateful tasks and standbys of each client, by task.

    `stateful`: stateful tasks of each of K clients. `lags`, shape (T, C): the lags. `columns`, shape (K,): the columns
    of the clients.
    """
    sticky = [first + second for first, second in zip(stateful, standbys, strict=True)]
    counts = np.array([len(tasks) for tasks in sticky], dtype=np.int64)
    flat = np.array([task for tasks in sticky for task in tasks], dtype=np.int64)
    values = iter(lags[flat, np.repeat(columns, counts)].tolist())
    return [dict(zip(tasks, values, strict=False)) for tasks in sticky]


def _on_clients(tasks: IntArray, clients: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the copies on the chosen clients: the tasks, and the positions of the clients in `chosen`."""
    column_of = np.full(max(clients.max(initial=0), chosen.max(initial=0)) + 1, UNASSIGNED, dtype=np.int64)
    column_of[chosen] = np.arange(len(chosen))
    columns = column_of[clients]
    is_chosen = columns != UNASSIGNED
    return tasks[is_chosen], columns[is_chosen]


def _tasks_of(owner: IntArray, clients: IntArray) -> tuple[IntArray, IntArray]:
    """Return the tasks that the given clients own, ascending, and the position of the owner in `clients`."""
    column_of = np.full(max(owner.max(initial=0), clients.max(initial=0)) + 2, UNASSIGNED, dtype=np.int64)
    column_of[clients] = np.arange(len(clients))
    columns = column_of[owner]  # the last entry is that of UNASSIGNED, -1
    tasks = np.flatnonzero(columns != UNASSIGNED)
    return tasks, columns[tasks]


def _by_column(values: IntArray, columns: IntArray, num_columns: int) -> list[list[int]]:
    """Return the values of each column, in their order."""
    if len(values) <= _FEW_VALUES:
        by_column: list[list[int]] = [[] for _ in range(num_columns)]
        for value, column in zip(values.tolist(), columns.tolist(), strict=True):
            by_column[column].append(value)
        return by_column
    listed = values[np.argsort(columns, kind="stable")].tolist()
    ends = np.cumsum(np.bincount(columns, minlength=num_columns)).tolist()
    return [listed[start:end] for start, end in pairwise([0, *ends])]
