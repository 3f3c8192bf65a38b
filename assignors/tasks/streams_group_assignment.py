"""A streams group as its coordinator sees it: members, the processes they live in, and how loaded each is.

Rows only: tasks and processes are row numbers of the state (a process is a client), members are numbered in the order
in which the coordinator comes across them.

Source: `AssignmentMemberSpec` and `ProcessState` in `org.apache.kafka.coordinator.group.streams.assignor`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from assignors.java.hash_order import CollectionOrder, hash_order, string_hash
from assignors.java.priority_queue import PriorityQueue
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState


class CoordinatorMember(NamedTuple):
    """One stream thread, which in a streams group is a member of its own.

    Attributes:
        id: its member id; `PROCESS-StreamThread-N`, N from 1, where it is not known.
        process: the row of its client.
        previous_active: rows of the tasks that it ran, by our reckoning.
        previous_standby: rows of the tasks that it held besides.
    """

    id: str
    process: int
    previous_active: tuple[int, ...]
    previous_standby: tuple[int, ...]


def members_of(
    state: ApplicationState, order: CollectionOrder, told: Mapping[str, str] = MappingProxyType({})
) -> list[CoordinatorMember]:
    """The threads of all clients as members, in the order of the coordinator's map.

    Args:
        state: the clients.
        order: of the map.
        told: member ids that are known, each with its process id, as the coordinator lists them. Those of a process
            belong to its threads in the order of the ids; threads without one get names of our own, and come last.

    A state tells what a client had, not which of its threads. The tasks that still exist are dealt out in Kafka's
    order, one a thread in turn: actives from the first thread on, standbys from the thread after the last active.
    """
    listed = (
        range(len(state.clients)) if state.client_insertion_order is None else state.client_insertion_order.tolist()
    )
    ids_of: dict[str, list[str]] = {}
    for member_id, process in sorted(told.items()):
        ids_of.setdefault(process, []).append(member_id)
    members = [member for client in listed for member in _threads(state, client, ids_of)]
    if order == CollectionOrder.SORTED:
        return sorted(members)
    place = {member_id: number for number, member_id in enumerate(told)}
    members.sort(key=lambda member: place.get(member.id, len(place)))
    return [members[position] for position in hash_order([string_hash(member.id) for member in members])]


def _threads(state: ApplicationState, client: int, ids_of: Mapping[str, Sequence[str]]) -> Iterator[CoordinatorMember]:
    threads = int(state.clients.threads[client])
    process = str(state.clients.ids[client])
    told = ids_of.get(process, ())
    active = _known(state, state.previous_active[client])
    standby = _known(state, state.previous_standby[client])
    for thread in range(threads):
        first_standby = (thread - len(active)) % threads
        yield CoordinatorMember(
            told[thread] if thread < len(told) else f"{process}-StreamThread-{thread + 1}",
            client,
            tuple(active[thread::threads]),
            tuple(standby[first_standby::threads]),
        )


def _known(state: ApplicationState, tasks: Sequence[TaskId]) -> list[int]:
    return [state.row_of_task[task] for task in dict.fromkeys(tasks) if task in state.row_of_task]


class StreamsGroupAssignment:
    """The assignment in the making, with the counts that the coordinator's choices hang on.

    Attributes:
        members: see `members_of`.
        count: how many tasks each member has been given, in either role.
        held: per client the tasks it has been given, in either role.
        processes: the clients that have members, in the order of the coordinator's hash map.
    """

    def __init__(self, state: ApplicationState, order: CollectionOrder, told: Mapping[str, str]) -> None:
        self.members = members_of(state, order, told)
        self.count = [0] * len(self.members)
        self.held: list[set[int]] = [set() for _ in state.clients.ids]
        self._capacity: list[int] = state.clients.threads.tolist()
        self._task_count = [0] * len(state.clients)
        self._owner = np.full(len(state.tasks), UNASSIGNED, dtype=np.int64)
        self._standby = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
        self._members_of: dict[int, list[int]] = {}
        for number, member in enumerate(self.members):
            self._members_of.setdefault(member.process, []).append(number)
        self._by_load: dict[int, PriorityQueue] = {}
        self.processes = self._in_hash_map(list(self._members_of), [str(client) for client in state.clients.ids])

    def _in_hash_map(self, processes: Sequence[int], names: Sequence[str]) -> list[int]:
        # Kafka makes the map as large as if every member were a process of its own.
        capacity = 1 << max(len(self.members) - 1, 0).bit_length()
        return [processes[at] for at in hash_order([string_hash(names[row]) for row in processes], capacity)]

    def load(self, process: int) -> float:
        """Tasks per member, in either role."""
        return self._task_count[process] / self._capacity[process]

    def queue(self) -> PriorityQueue:
        """All processes by load, as they come out of Kafka's heap."""
        keys = [(self.load(row) if self._capacity[row] else 0.0, 0) for row in range(len(self._capacity))]
        queue = PriorityQueue(keys)
        for process in self.processes:
            queue.offer(process)
        return queue

    def put_back(self, queue: PriorityQueue, process: int) -> None:
        """Offer a process, taken from `queue`, again with the load that it has now."""
        queue.set_key(process, (self.load(process), 0))
        queue.offer(process)

    def give(self, task: int, member: int, *, active: bool) -> int:
        """Give a member a task.

        Returns:
            How many tasks the member has now.
        """
        self._by_load.pop(self.members[member].process, None)  # Kafka drops the heap; a later one may break ties anew.
        return self._give(task, member, active)

    def give_to_least_loaded(self, task: int, process: int, *, active: bool) -> int:
        """Give a task to the member of a process that has fewest tasks; ties as in Kafka's heap.

        Returns:
            How many tasks that member has now.
        """
        members = self._members_of[process]
        if len(members) == 1:
            return self._give(task, members[0], active)
        heap = self._by_load.get(process)
        if heap is None:
            heap = self._by_load[process] = PriorityQueue([(self.count[member], 0) for member in members])
            for place in hash_order([string_hash(self.members[member].id) for member in members]):
                heap.offer(place)
        place = heap.poll()
        count = self._give(task, members[place], active)
        heap.set_key(place, (count, 0))
        heap.offer(place)
        return count

    def _give(self, task: int, member: int, active: bool) -> int:
        process = self.members[member].process
        self.held[process].add(task)
        self._task_count[process] += 1
        self.count[member] += 1
        if active:
            self._owner[task] = process
        else:
            self._standby[task, process] = True
        return self.count[member]

    def columns(self) -> AssignmentColumns:
        """What each client has been given: all that its members have."""
        return AssignmentColumns(self._owner, self._standby, None)
