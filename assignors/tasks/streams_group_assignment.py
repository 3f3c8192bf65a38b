"""The assignment of a streams group as its coordinator builds it: members, their processes, and the load of each.

Tasks and processes are row numbers of the state (a process is a client); members are numbered in the order in which the
coordinator iterates over them.

Source: `AssignmentMemberSpec` (4.2 and 4.3), `MemberMetadataAndStateImpl` (4.4) and `ProcessState` in
`org.apache.kafka.coordinator.group.streams.assignor`, Kafka 4.2.0 to 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from assignors.java.hash_order import CollectionOrder, computed_hash_order, hash_order, string_hash
from assignors.java.priority_queue import PriorityQueue
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.ids import TaskId
from assignors.model.state import UNKNOWN_THREAD, ApplicationState


class CoordinatorMember(NamedTuple):
    """A stream thread, which is a member of a streams group.

    Attributes:
        id: member id; `PROCESS-StreamThread-N`, N from 1, if unknown.
        process: row of its client.
        previous_active: rows of the tasks that it ran.
        previous_standby: rows of the other tasks that it held.
        offsets: rows of tasks with the offsets that it reports.
        thread: number of the thread among those of its client, from 0.
    """

    id: str
    process: int
    previous_active: tuple[int, ...]
    previous_standby: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...] = ()
    thread: int = 0


def members_of(
    state: ApplicationState, order: CollectionOrder, member_ids: Mapping[str, str] = MappingProxyType({})
) -> list[CoordinatorMember]:
    """Return the threads of all clients as members, in the iteration order of the coordinator's map.

    A thread has the previous tasks that `ApplicationState.previous_thread` says; `ApplicationState.thread_standbys`, if
    not empty, says the standbys. If the threads are unknown, tasks that still exist are distributed round-robin in
    Kafka's order: active tasks from the first thread on, standbys from the thread after the last active task, and then
    other copies whose offsets the client reports. The thread that had a task reports its offset, unless
    `ApplicationState.thread_offsets` says what each thread reports. `member_ids`: known member ids with their process
    ids, in the order of the coordinator. Those of a process belong to its threads in the order of the ids; other
    threads get generated names, and come last.
    """
    clients = (
        range(len(state.clients)) if state.client_insertion_order is None else state.client_insertion_order.tolist()
    )
    ids_of: dict[str, list[str]] = {}
    for member_id, process in sorted(member_ids.items()):
        ids_of.setdefault(process, []).append(member_id)
    members = [member for client in clients for member in _threads(state, client, ids_of)]
    if order == CollectionOrder.SORTED:
        return sorted(members)
    position = {member_id: number for number, member_id in enumerate(member_ids)}
    members.sort(key=lambda member: position.get(member.id, len(position)))
    return [members[position] for position in hash_order([string_hash(member.id) for member in members])]


def _threads(state: ApplicationState, client: int, ids_of: Mapping[str, Sequence[str]]) -> Iterator[CoordinatorMember]:
    threads = int(state.clients.threads[client])
    process = str(state.clients.ids[client])
    member_ids = ids_of.get(process, ())
    active = _by_thread(state, client, _known(state, state.previous_active[client]), 0)
    num_dealt = sum(len(tasks) for tasks in active) if state.previous_thread is None else 0
    if state.thread_standbys:
        standby = [_known(state, tasks) for tasks in state.thread_standbys[client]]
    else:
        standby = _by_thread(state, client, _known(state, state.previous_standby[client]), num_dealt)
    offsets = _offsets_by_thread(state, client, active, standby)
    for thread in range(threads):
        yield CoordinatorMember(
            member_ids[thread] if thread < len(member_ids) else f"{process}-StreamThread-{thread + 1}",
            client,
            tuple(active[thread]),
            tuple(standby[thread]),
            tuple(offsets.get(thread, ())),
            thread,
        )


def _by_thread(state: ApplicationState, client: int, tasks: Sequence[int], first: int) -> list[list[int]]:
    """Return the tasks of each thread; those whose thread is unknown are dealt round-robin, beginning with `first`."""
    threads = int(state.clients.threads[client])
    of_thread: list[list[int]] = [[] for _ in range(threads)]
    if not threads:
        return of_thread
    known = [UNKNOWN_THREAD] * len(tasks)
    if state.previous_thread is not None:
        known = state.previous_thread[list(tasks), client].tolist()
    number = first
    for task, thread in zip(tasks, known, strict=True):
        if 0 <= thread < threads:
            of_thread[thread].append(task)
        else:
            of_thread[number % threads].append(task)
            number += 1
    return of_thread


def _offsets_by_thread(
    state: ApplicationState, client: int, active: Sequence[Sequence[int]], standby: Sequence[Sequence[int]]
) -> dict[int, list[tuple[int, int]]]:
    """Return the offsets that each thread of a client reports; a task in both roles counts as a standby."""
    offsets: dict[int, list[tuple[int, int]]] = {}
    if state.thread_offsets:
        for number, reported_by_thread in enumerate(state.thread_offsets[client]):
            rows = _known(state, sorted(reported_by_thread))
            offsets[number] = [(row, reported_by_thread[state.tasks.ids[row]]) for row in rows]
        return offsets
    if not state.task_offsets:
        return offsets
    threads = int(state.clients.threads[client])
    thread_of = {task: thread for role in (active, standby) for thread, tasks in enumerate(role) for task in tasks}
    next_number = sum(len(tasks) for role in (active, standby) for tasks in role)
    reported = state.task_offsets[client]
    for task in _known(state, sorted(reported)):
        thread = thread_of.get(task)
        if thread is None:
            thread = next_number % threads
            next_number += 1
        offsets.setdefault(thread, []).append((task, reported[state.tasks.ids[task]]))
    return offsets


def _known(state: ApplicationState, tasks: Sequence[TaskId]) -> list[int]:
    return [state.row_of_task[task] for task in dict.fromkeys(tasks) if task in state.row_of_task]


class StreamsGroupAssignment:
    """A mutable assignment, with the counts on which the coordinator's choices depend.

    Attributes:
        members: members in the order of `members_of`.
        count: number of tasks of each member, in either role.
        held: tasks of each client, in either role.
        processes: clients with members, in the iteration order of the coordinator's hash map.
    """

    def __init__(
        self,
        state: ApplicationState,
        order: CollectionOrder,
        member_ids: Mapping[str, str],
        *,
        computes_processes: bool = False,
    ) -> None:
        """Create an assignment without tasks.

        `order`: order of the coordinator's map of members; `member_ids`: see `members_of`; `computes_processes` says
        whether the coordinator fills its map of processes by `computeIfAbsent`, as from 4.4 on.
        """
        self.members = members_of(state, order, member_ids)
        self.count = [0] * len(self.members)
        self.held: list[set[int]] = [set() for _ in state.clients.ids]
        self._capacity: list[int] = state.clients.threads.tolist()
        self._task_count = [0] * len(state.clients)
        self._owner = np.full(len(state.tasks), UNASSIGNED, dtype=np.int64)
        self._standby = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
        self._thread = np.zeros((len(state.tasks), len(state.clients)), dtype=np.int64)
        self._members_of: dict[int, list[int]] = {}
        for number, member in enumerate(self.members):
            self._members_of.setdefault(member.process, []).append(number)
        self._by_load: dict[int, PriorityQueue] = {}
        self.processes = self._in_hash_map(
            list(self._members_of), [str(client) for client in state.clients.ids], computes_processes
        )

    def _in_hash_map(self, processes: Sequence[int], names: Sequence[str], is_computed: bool) -> list[int]:
        # Kafka allocates the map as if each member were a process of its own.
        capacity = 1 << max(len(self.members) - 1, 0).bit_length()
        hashes = [string_hash(names[row]) for row in processes]
        if not is_computed:
            return [processes[at] for at in hash_order(hashes, capacity)]
        is_called_again = bool(processes) and self._members_of[processes[-1]][0] + 1 < len(self.members)
        order = computed_hash_order(hashes, capacity, is_called_again=is_called_again)
        return [processes[at] for at in order]

    def load(self, process: int) -> float:
        """Return the number of tasks per member of a process, in either role."""
        return self._task_count[process] / self._capacity[process]

    def queue(self) -> PriorityQueue:
        """Return all processes by load, in Kafka's heap."""
        keys = [(self.load(row) if self._capacity[row] else 0.0, 0) for row in range(len(self._capacity))]
        queue = PriorityQueue(keys)
        for process in self.processes:
            queue.offer(process)
        return queue

    def put_back(self, queue: PriorityQueue, process: int) -> None:
        """Insert a process that was taken from `queue` again, with its current load."""
        queue.set_key(process, (self.load(process), 0))
        queue.offer(process)

    def give(self, task: int, member: int, *, active: bool) -> int:
        """Assign a task to a member; return the number of tasks of the member."""
        self._by_load.pop(
            self.members[member].process, None
        )  # Kafka discards the heap; a new one may break ties differently.
        return self._give(task, member, active)

    def give_to_least_loaded(self, task: int, process: int, *, active: bool) -> int:
        """Assign a task to the member of a process with the fewest tasks; Kafka's heap breaks ties.

        Returns the number of tasks of the member.
        """
        members = self._members_of[process]
        if len(members) == 1:
            return self._give(task, members[0], active)
        heap = self._by_load.get(process)
        if heap is None:
            heap = self._by_load[process] = PriorityQueue([(self.count[member], 0) for member in members])
            for position in hash_order([string_hash(self.members[member].id) for member in members]):
                heap.offer(position)
        position = heap.poll()
        count = self._give(task, members[position], active)
        heap.set_key(position, (count, 0))
        heap.offer(position)
        return count

    def _give(self, task: int, member: int, active: bool) -> int:
        process = self.members[member].process
        self.held[process].add(task)
        self._task_count[process] += 1
        self.count[member] += 1
        self._thread[task, process] = self.members[member].thread
        if active:
            self._owner[task] = process
        else:
            self._standby[task, process] = True
        return self.count[member]

    def columns(self) -> AssignmentColumns:
        """Return the assignment of all clients."""
        return AssignmentColumns(self._owner, self._standby, None, self._thread)
