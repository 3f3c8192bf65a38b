"""The task assignor of Kafka's streams groups, which the group coordinator runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from assignors.errors import KafkaError
from assignors.java.hash_order import CollectionOrder
from assignors.java.priority_queue import PriorityQueue
from assignors.kafka_releases import BROKERS
from assignors.model.assignment import UNASSIGNED, TaskAssignment, TaskType
from assignors.model.state import ApplicationState
from assignors.recording.recorder import PlacementStep, RecordedAssignor, Recorder, StepKind
from assignors.tasks.streams_group_assignment import StreamsGroupAssignment

RELEASES: Final = tuple(BROKERS)
"""Kafka releases whose assignor this is, oldest first. 4.2.1 is also 4.2.0, 4.2 is 4.2.2, and 4.3 answers as 4.2.1."""

_CHECKS_EVERY_CANDIDATE: Final = ("4.2", "4.4")
"""Releases with the fix of KAFKA-20899, which 4.3.0 and 4.3.1 lack."""

_FIRST_RANKED: Final = "4.4"
"""First release that ranks candidates (`StickyTaskAssignor.rankStandbyCandidates`)."""


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

    A client with N threads is a process with N members; `assignors.tasks.streams_group_assignment` documents their
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
