"""The task assignor of Kafka's streams groups, which the group coordinator runs, and a preview of its warm-ups.

Tasks and processes are row numbers of the state (a process is a client); members are numbered in the order in which the
coordinator iterates over them.

Source: `AssignmentMemberSpec` (4.2 and 4.3), `MemberMetadataAndStateImpl` (4.4) and `ProcessState` in
`org.apache.kafka.coordinator.group.streams.assignor`, Kafka 4.2.0 to 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple

import numpy as np

from assignors.errors import KafkaError
from assignors.java.hash_order import CollectionOrder, computed_hash_order, hash_order, string_hash
from assignors.java.priority_queue import PriorityQueue
from assignors.kafka_releases import BROKERS
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignment, TaskType
from assignors.model.columns import BoolArray
from assignors.model.ids import TaskId
from assignors.model.state import UNKNOWN_THREAD, ApplicationState
from assignors.recording import PlacementStep, RecordedAssignor, Recorder, StepKind
from assignors.tasks.warmup_refinement import RefinedAssignment, refine


class CoordinatorMember(NamedTuple):
    """A stream thread, which is a member of a streams group.

    Attributes:
        id: member id; `PROCESS-StreamThread-N`, N from 1, if unknown.
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
    if not threads or not tasks:
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
    rows = state.row_of_task
    if state.thread_offsets:
        for number, reported_by_thread in enumerate(state.thread_offsets[client]):
            offsets[number] = [
                (rows[task], offset) for task, offset in sorted(reported_by_thread.items()) if task in rows
            ]
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
    rows = state.row_of_task
    return [rows[task] for task in dict.fromkeys(tasks) if task in rows]


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


RELEASES: Final = tuple(BROKERS)
"""Kafka releases whose assignor this is, oldest first. 4.2.1 is also 4.2.0, 4.2 is 4.2.2, and 4.3 answers as 4.2.1."""

_CHECKS_EVERY_CANDIDATE: Final = ("4.2", "4.4")
"""Releases with the fix of KAFKA-20899, which 4.3.0 and 4.3.1 lack."""

_FIRST_RANKED: Final = "4.4"
"""First release that ranks candidates (`StickyTaskAssignor.rankStandbyCandidates`)."""

_FIRST_PUBLIC: Final = "4.4"
"""First release whose assignor has the interfaces of KIP-1357."""


def has_public_interfaces(release: str) -> bool:
    """Return whether the assignor of a release has the interfaces of KIP-1357."""
    return RELEASES.index(release) >= RELEASES.index(_FIRST_PUBLIC)


class TaskAssignorError(KafkaError):
    """There are tasks, but no member can run them.

    Attributes:
        java_class: class of Kafka's exception.
    """

    java_class: ClassVar[str] = "org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignorException"


class OldTaskAssignorError(TaskAssignorError):
    """`TaskAssignorError` before Kafka 4.4, which moved the class (KIP-1357)."""

    java_class: ClassVar[str] = "org.apache.kafka.coordinator.group.streams.assignor.TaskAssignorException"


@dataclass(frozen=True, slots=True)
class StreamsGroupSticky(RecordedAssignor):
    """`StickyTaskAssignor` of the group coordinator, which assigns the tasks of streams groups (KIP-1071).

    Attributes:
        order: whether the coordinator's members are in a hash map, as in production, or sorted; ties depend on it.
        members: member ids with their process ids, in the order of the coordinator (as
            `kafka-streams-groups.sh --describe --members` prints them). Member ids are random, and ties depend on their
            positions in the coordinator's maps. Members that are missing here get generated names and come last, like
            members that join.
        release: release of the broker, of `RELEASES`.

    A client with N threads is a process with N members; `assignors.tasks.streams_group_sticky` documents their
    names, previous tasks and reported offsets. Only threads, previous tasks, `num.standby.replicas` and, from 4.4 on,
    reported offsets matter. Racks, tags, instance ids, lags, end offsets and all other configs do not; there are no
    warm-ups, and no follow-up rebalance is requested.

    From 4.4 on, a member that reports an offset of a task is a candidate for it, like a previous standby member.
    Previous standby members come first, then the others; both in the order of their offsets, the largest first. The
    first candidate whose process lacks the task is chosen, or a later one with less load. Before, previous standby
    members were in the order of the coordinator, and if the first one's process had the task, all were ignored; except
    in 4.2.2, which has the fix but no other change of 4.4.

    Guarantees: a member keeps an active task while it has fewer tasks than its share: the remaining tasks divided by
    the remaining members, rounded up. The share shrinks when members reach it. A process never holds a task twice. A
    standby that no process can hold is omitted.

    Priority: the previous active member, then a previous standby member, then the process with the fewest tasks per
    member. Subtopology numbers are compared as text: 10 before 2.

    Kafka's subtopologies have the tasks 0 to N-1, all stateful or all stateless. Other states are assigned by the same
    algorithm, but cannot be verified with Kafka.

    Complexity: O(log C) for each task, O(C log C) for each copy if the holders of the task are the least loaded.

    Source: `org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor`, Kafka 4.2.0, 4.2.2, 4.3.1
    and 4.4.0 (KAFKA-20899).
    """

    order: CollectionOrder = CollectionOrder.PRODUCTION
    members: Mapping[str, str] = field(default_factory=dict)
    release: str = RELEASES[-1]

    def __post_init__(self) -> None:
        CollectionOrder(self.order)
        if self.release not in RELEASES:
            raise ValueError(f"'{self.release}' is not a release of this assignor (releases: {', '.join(RELEASES)})")

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Assign tasks exactly as Kafka's group coordinator, and pass the steps to a recorder.

        Returns:
            The assignment.

        Raises:
            TaskAssignorError: there are tasks, but no client with a thread.
        """
        is_ranked = _is_since(self.release, _FIRST_RANKED)
        group = StreamsGroupAssignment(state, self.order, self.members, computes_processes=is_ranked)
        checked_run = _CheckedRun if self.release in _CHECKS_EVERY_CANDIDATE else _AssignmentRun
        run = (_RankedRun if is_ranked else checked_run)(state, group, recorder)
        run.assign_actives()
        if state.assignment_configs.num_standby_replicas > 0:
            run.assign_standbys()
        return run.group.columns().to_assignment(state)


def _is_since(release: str, first: str) -> bool:
    return RELEASES.index(release) >= RELEASES.index(first)


class _Share:
    """The maximum number of tasks of a member: the remaining tasks divided by the remaining members, rounded up."""

    def __init__(self, tasks: int, members: int) -> None:
        self._spread(tasks, members)

    def _spread(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.size = -(-tasks // members) if members else 0

    def update(self, count: int) -> None:
        """Update the share after a member reached a count; a member that has exactly its share is removed."""
        if count == self.size:
            self._spread(self._tasks - count, self._members - 1)


class _AssignmentRun:
    """One run of the assignor of Kafka 4.2.0, 4.2.1 and 4.3."""

    error: ClassVar[type[TaskAssignorError]] = OldTaskAssignorError

    def __init__(self, state: ApplicationState, group: StreamsGroupAssignment, recorder: Recorder) -> None:
        self.group = group
        self._recorder = recorder
        self._tasks = state.tasks
        self._replicas = state.assignment_configs.num_standby_replicas
        self._by_subtopology = [(str(task.subtopology), task.partition) for task in state.tasks.ids]
        self._by_partition = [(task.partition, str(task.subtopology)) for task in state.tasks.ids]
        num_copies = len(state.tasks) + self._replicas * int(state.tasks.stateful.sum())
        self._active_share = _Share(len(state.tasks), len(group.members))
        self._share = _Share(num_copies, len(group.members))
        self._ran_on: dict[int, int] = {}  # If several members claim a task, the last one counts.
        for number, member in enumerate(group.members):
            self._ran_on.update(dict.fromkeys(member.previous_active, number))
        self._candidates = self._find_candidates()

    def _find_candidates(self) -> dict[int, list[int]]:
        """Return the members that are preferred for a copy of each task, the first ones most."""
        candidates: dict[int, list[int]] = {}
        for number, member in enumerate(self.group.members):
            for task in member.previous_standby:
                candidates.setdefault(task, []).append(number)
        return candidates

    def assign_actives(self) -> None:
        """Assign all active tasks; raise TaskAssignorError if there are tasks, but no client with a thread."""
        remaining = sorted(range(len(self._tasks)), key=self._by_partition.__getitem__)
        remaining = [task for task in remaining if not self._stays(StepKind.KEPT, task, self._ran_on.get(task))]
        remaining = [
            task
            for task in remaining
            if not self._stays(StepKind.STOOD_BY, task, self._least_loaded(self._candidates.get(task, ())))
        ]
        remaining.sort(key=self._by_subtopology.__getitem__)
        queue = self.group.queue()
        for task in remaining:
            if not len(queue):
                raise self.error(f"No process available to assign active task {self._tasks.ids[task]}.")
            process = queue.poll()
            self._record_least_loaded(TaskType.ACTIVE, task, process)
            self._note_active(self.group.give_to_least_loaded(task, process, active=True))
            self.group.put_back(queue, process)

    def _stays(self, kind: StepKind, task: int, member: int | None) -> bool:
        if member is None or self.group.count[member] >= self._active_share.size:
            return False
        self._record_kept(kind, TaskType.ACTIVE, task, member, self._active_share)
        self._note_active(self.group.give(task, member, active=True))
        return True

    def _record_kept(self, kind: StepKind, role: TaskType, task: int, member: int, share: _Share) -> None:
        if self._recorder.wants_steps:
            placed = (kind, role, task, UNASSIGNED, self.group.members[member].process)
            self._recorder.step(PlacementStep(*placed, held=self.group.count[member], room=share.size))

    def _record_least_loaded(self, role: TaskType, task: int, process: int) -> None:
        if self._recorder.wants_steps:
            load = self.group.load(process)
            self._recorder.step(
                PlacementStep(StepKind.LEAST_LOADED, role, task, UNASSIGNED, process, destination_load=load)
            )

    def _note_active(self, count: int) -> None:
        self._active_share.update(count)
        self._share.update(count)

    def _least_loaded(self, members: Sequence[int], without: int | None = None) -> int | None:
        """Return the member that has fewer tasks, in a less loaded process, than those before it.

        None if there is no member, or if the process of the *first* member holds the task `without`: Kafka checks the
        first member instead of the one that it found (KAFKA-20899, fixed in 4.2.2 and 4.4).
        """
        if not members:
            return None
        group = self.group
        chosen = members[0]
        load = group.load(group.members[chosen].process)
        for member in members[1:]:
            process = group.members[member].process
            lighter = group.load(process) < load and group.count[member] < group.count[chosen]
            if lighter and without not in group.held[process]:
                chosen, load = member, group.load(process)
        return None if without in group.held[group.members[members[0]].process] else chosen

    def assign_standbys(self) -> None:
        """Assign standbys of stateful tasks to processes without a copy, from the last task to the first."""
        stateful = [task for task in range(len(self._tasks)) if self._tasks.stateful[task]]
        unplaced: list[tuple[int, int]] = []
        for task in sorted(stateful, key=self._by_partition.__getitem__, reverse=True):
            placed = 0
            while placed < self._replicas and self._keeps_copy(task):
                placed += 1
            unplaced.append((task, self._replicas - placed))
        unplaced.sort(key=lambda copies: self._by_subtopology[copies[0]], reverse=True)
        queue = self.group.queue()
        for task, copies in unplaced:
            for _ in range(copies):
                if not self._give_standby(task, queue):
                    break

    def _keeps_copy(self, task: int) -> bool:
        group = self.group
        ran_on = self._ran_on.get(task)
        if (
            ran_on is not None
            and task not in group.held[group.members[ran_on].process]
            and self._is_below_share(ran_on)
        ):
            self._record_kept(StepKind.KEPT, TaskType.STANDBY, task, ran_on, self._share)
            self._share.update(group.give(task, ran_on, active=False))
            return True
        standby_member = self._least_loaded(self._candidates.get(task, ()), without=task)
        if standby_member is not None and self._is_below_share(standby_member):
            self._record_kept(StepKind.STOOD_BY, TaskType.STANDBY, task, standby_member, self._share)
            self._share.update(group.give(task, standby_member, active=False))
            return True
        return False

    def _is_below_share(self, member: int) -> bool:
        return self.group.count[member] < self._share.size

    def _give_standby(self, task: int, queue: PriorityQueue) -> bool:
        """Assign a standby to the least loaded process without the task.

        Returns False if all processes hold the task.
        """
        group, polled = self.group, []
        is_assigned = False
        while not is_assigned and len(queue):
            process = queue.poll()
            polled.append(process)
            if task not in group.held[process]:
                self._record_least_loaded(TaskType.STANDBY, task, process)
                self._share.update(group.give_to_least_loaded(task, process, active=False))
                is_assigned = True
        for process in reversed(polled):  # Ties in the heap depend on the order of insertion.
            group.put_back(queue, process)
        return is_assigned


class _CheckedRun(_AssignmentRun):
    """One run of the assignor of Kafka 4.2.2."""

    def _least_loaded(self, members: Sequence[int], without: int | None = None) -> int | None:
        """Return the member that has fewer tasks, in a less loaded process, than those before it.

        Only members whose process lacks the task `without` count; None if there is none.
        """
        group = self.group
        free = [member for member in members if without not in group.held[group.members[member].process]]
        return super()._least_loaded(free)


class _RankedRun(_CheckedRun):
    """One run of the assignor of Kafka 4.4."""

    error: ClassVar[type[TaskAssignorError]] = TaskAssignorError

    def _find_candidates(self) -> dict[int, list[int]]:
        ranked: dict[int, list[tuple[bool, int, int]]] = {}
        for number, member in enumerate(self.group.members):
            offset_of = dict(member.offsets)
            for task in member.previous_standby:
                ranked.setdefault(task, []).append((False, -offset_of.pop(task, 0), number))
            for task, offset in offset_of.items():
                ranked.setdefault(task, []).append((True, -offset, number))
        return {task: [number for _, _, number in sorted(candidates)] for task, candidates in ranked.items()}


@dataclass(frozen=True, slots=True)
class StreamsGroupPreview:
    """The broker's assignor with the announced warm-ups of streams groups; not that of any release.

    Attributes:
        preview: must be true: what is announced may change until it is released.
        order: as in `StreamsGroupSticky`.
        members: as in `StreamsGroupSticky`.

    The target assignment is that of Kafka 4.4, for which warm-ups count as standbys (apache/kafka pull request 23314).
    `assignors.tasks.warmup_refinement` has the rules of the steps towards it. `assign` returns the first step;
    simulations take the other steps when a copy of a staged task has caught up.

    Raises:
        ValueError: `preview` is not set.
    """

    preview: bool = False
    order: CollectionOrder = CollectionOrder.PRODUCTION
    members: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.preview is not True:
            raise ValueError("a preview of an unreleased Kafka may change; set its parameter preview to true")

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the first step towards the target assignment; all previous standbys count as standbys.

        Returns:
            The assignment.

        Raises:
            TaskAssignorError: there are tasks, but no client with a thread.
        """
        none: BoolArray = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
        return self.step(state, self.target(state), none).columns.to_assignment(state)

    def target(self, state: ApplicationState) -> AssignmentColumns:
        """Return the target assignment.

        Raises:
            TaskAssignorError: there are tasks, but no client with a thread.
        """
        assigned = StreamsGroupSticky(self.order, self.members).assign(state)
        return AssignmentColumns.of(state, assigned)

    def step(self, state: ApplicationState, target: AssignmentColumns, warmups: BoolArray) -> RefinedAssignment:
        """Return the next step towards a target; see `refine`."""
        return refine(state, target, warmups)
