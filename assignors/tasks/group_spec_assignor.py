"""Run an assignor with the vocabulary of KIP-1357 on the state of an application, as a group coordinator does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from assignors.errors import InvalidAssignmentError
from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignment
from assignors.model.columns import NO_RACK, TaskTable
from assignors.model.group_spec import (
    GroupSpec,
    MemberAssignment,
    MemberAssignmentMetadata,
    MemberAssignmentState,
    StreamsGroupAssignor,
    TopologyDescriber,
)
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_sticky import CoordinatorMember, members_of


@dataclass(frozen=True, slots=True)
class GroupSpecAssignor:
    """A task assignor that passes the members of a streams group to a `StreamsGroupAssignor`, and validates its answer.

    Attributes:
        assignor: the assignor.
        order: whether the coordinator's members are in a hash map, as in production, or sorted.
        members: member ids with their process ids; see `StreamsGroupSticky.members`.

    A client with N threads is a process with N members; `assignors.tasks.streams_group_sticky` documents their
    names, previous tasks and reported offsets. The coordinator does not validate answers. Here, these are errors: an
    unknown member or task, a task that is active on two members, a standby of a stateless task, and a process with two
    copies of a task. A task without active member is not: it does not run.
    """

    assignor: StreamsGroupAssignor
    order: CollectionOrder = CollectionOrder.PRODUCTION
    members: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        CollectionOrder(self.order)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks.

        Returns the assignment, with the threads that get the tasks. Raises InvalidAssignmentError if the answer is
        invalid, with all reasons; or the tasks are not those of a topology.
        """
        return assign_group(state, self.order, self.members, self._ask)

    def _ask(self, group: GroupSpec, topology: TopologyDescriber) -> Mapping[str, MemberAssignment]:
        given = self.assignor.assign(group, topology)
        mistakes = list(_type_mistakes(given))
        if mistakes:
            raise InvalidAssignmentError("; ".join(mistakes))
        return given


def assign_group(
    state: ApplicationState,
    order: CollectionOrder,
    member_ids: Mapping[str, str],
    ask: Callable[[GroupSpec, TopologyDescriber], Mapping[str, MemberAssignment]],
) -> TaskAssignment:
    """Return what an assignor answers for the members of a state; see `GroupSpecAssignor`."""
    topology = topology_of(state)
    members = {member.id: member for member in members_of(state, order, member_ids)}
    given = ask(group_spec_of(state, list(members.values())), topology)
    columns = _columns(state, members, given, topology)
    if columns is None:
        raise InvalidAssignmentError("; ".join(_mistakes(given, members, topology)))
    return columns.to_assignment(state)


def group_spec_of(state: ApplicationState, members: Sequence[CoordinatorMember]) -> GroupSpec:
    """Return the members of a state in the vocabulary of KIP-1357, in their order."""
    metadata: dict[str, MemberAssignmentMetadata] = {}
    states: dict[str, MemberAssignmentState] = {}
    for member in members:
        rack = int(state.clients.rack[member.process])
        instance = state.clients.instance_ids[member.process] if state.clients.instance_ids else None
        metadata[member.id] = MemberAssignmentMetadata(
            process_id=str(state.clients.ids[member.process]),
            instance_id=None if instance is None else f"{instance}-{member.thread + 1}",
            rack_id=None if rack == NO_RACK else state.partitions.racks[rack],
            client_tags=state.clients.tags[member.process],
        )
        ends = state.task_end_offsets[member.process] if state.task_end_offsets else {}
        offsets, end_offsets = _offsets_by_subtopology(state, member.offsets, ends)
        states[member.id] = MemberAssignmentState(
            active_tasks=_by_subtopology(state, member.previous_active),
            standby_tasks=_by_subtopology(state, member.previous_standby),
            task_offsets=offsets,
            task_end_offsets=end_offsets,
        )
    return GroupSpec(metadata, states, state.assignment_configs)


def topology_of(state: ApplicationState) -> TopologyDescriber:
    """Return the subtopologies of the tasks of a state.

    Raises InvalidAssignmentError if a subtopology does not have the tasks 0 to N-1, or only some of them have state.
    """
    return _topology(state.tasks)


@lru_cache(maxsize=8)
def _topology(tasks: TaskTable) -> TopologyDescriber:
    partitions: dict[str, set[int]] = {}
    stateful: dict[str, set[bool]] = {}
    for task, has_state in zip(tasks.ids, tasks.stateful.tolist(), strict=True):
        partitions.setdefault(str(task.subtopology), set()).add(task.partition)
        stateful.setdefault(str(task.subtopology), set()).add(has_state)
    for subtopology, numbers in partitions.items():
        missing = next((number for number in range(max(numbers)) if number not in numbers), None)
        if missing is not None:
            raise InvalidAssignmentError(
                f"a streams group has the tasks 0 to N-1 of a subtopology; {subtopology}_{missing} is missing"
            )
        if len(stateful[subtopology]) > 1:
            raise InvalidAssignmentError(
                f"in a streams group, all tasks of a subtopology have state, or none; in {subtopology}, some have"
            )
    return TopologyDescriber(
        {subtopology: len(numbers) for subtopology, numbers in partitions.items()},
        frozenset(subtopology for subtopology, has_state in stateful.items() if True in has_state),
    )


def _by_subtopology(state: ApplicationState, rows: Sequence[int]) -> dict[str, frozenset[int]]:
    partitions: dict[str, set[int]] = {}
    for row in rows:
        task = state.tasks.ids[row]
        partitions.setdefault(str(task.subtopology), set()).add(task.partition)
    return {subtopology: frozenset(numbers) for subtopology, numbers in partitions.items()}


_Offsets = dict[str, dict[int, int]]


def _offsets_by_subtopology(
    state: ApplicationState, offsets: Sequence[tuple[int, int]], ends: Mapping[TaskId, int]
) -> tuple[_Offsets, _Offsets]:
    """Return the offsets of a member's tasks, and the known end offsets of the same tasks."""
    own: _Offsets = {}
    last: _Offsets = {}
    for row, offset in offsets:
        task = state.tasks.ids[row]
        subtopology = str(task.subtopology)
        own.setdefault(subtopology, {})[task.partition] = offset
        end = ends.get(task)
        if end is not None:
            last.setdefault(subtopology, {})[task.partition] = end
    return own, last


def _type_mistakes(given: object) -> Iterator[str]:
    """Yield which parts of an answer have a wrong type; an assignor is code of the user, maybe without type checks."""
    if not isinstance(given, Mapping):
        yield f"assign returned a {type(given).__name__}, expected a mapping from member id to MemberAssignment"
        return
    for member_id, tasks in given.items():
        if not isinstance(member_id, str) or not isinstance(tasks, MemberAssignment):
            pair = f"{type(member_id).__name__}: {type(tasks).__name__}"
            yield f"assign returned a mapping with {pair}, expected str: MemberAssignment"
            continue
        for role in (tasks.active_tasks, tasks.standby_tasks):
            if not isinstance(role, Mapping) or not all(
                isinstance(key, str) and isinstance(numbers, Set) and all(type(number) is int for number in numbers)
                for key, numbers in role.items()
            ):
                yield f"tasks of {member_id} must be a mapping from subtopology (str) to a set of partitions (int)"


def _mistakes(
    given: Mapping[str, MemberAssignment], members: Mapping[str, CoordinatorMember], topology: TopologyDescriber
) -> Iterator[str]:
    active_on: dict[tuple[str, int], str] = {}
    held: dict[tuple[int, str, int], str] = {}
    for member_id, tasks in given.items():
        member = members.get(member_id)
        if member is None:
            yield f"{member_id} is not a member of the group"
            continue
        for subtopology, partition, is_active in _tasks(tasks):
            task = f"{subtopology}_{partition}"
            if not 0 <= partition < topology.partitions.get(subtopology, 0):
                yield f"task {task}, assigned to {member_id}, is not a task of this application"
                continue
            if not is_active and subtopology not in topology.stateful:
                yield f"task {task} is stateless and cannot be a standby on {member_id}"
            if is_active:
                first = active_on.setdefault((subtopology, partition), member_id)
                if first != member_id:
                    yield f"task {task} is active on {first} and on {member_id}"
                    continue
            holder = held.get((member.process, subtopology, partition))
            if holder is not None:
                others = member_id if holder == member_id else f"{holder} and {member_id}"
                yield f"task {task} is twice in one process: on {others}"
            held[member.process, subtopology, partition] = member_id


def _tasks(tasks: MemberAssignment) -> Iterator[tuple[str, int, bool]]:
    """Yield subtopology, partition and whether it is active, of all tasks of a member."""
    for role, is_active in ((tasks.active_tasks, True), (tasks.standby_tasks, False)):
        for subtopology, partitions in role.items():
            for partition in sorted(partitions):
                yield subtopology, partition, is_active


def _columns(
    state: ApplicationState,
    members: Mapping[str, CoordinatorMember],
    given: Mapping[str, MemberAssignment],
    topology: TopologyDescriber,
) -> AssignmentColumns | None:
    """Return the columns of an answer; None if `_mistakes` finds any."""
    shape = (len(state.tasks), len(state.clients))
    owner = [UNASSIGNED] * shape[0]
    thread_of: dict[tuple[int, int], int] = {}
    standbys: list[tuple[int, int]] = []
    for member_id, tasks in given.items():
        member = members.get(member_id)
        if member is None:
            return None
        for role, is_active in ((tasks.active_tasks, True), (tasks.standby_tasks, False)):
            for subtopology, partitions in role.items():
                count = topology.partitions.get(subtopology, 0)
                if not is_active and partitions and subtopology not in topology.stateful:
                    return None
                for partition in partitions:
                    if not 0 <= partition < count:
                        return None
                    row = state.row_of_task[TaskId(int(subtopology), partition)]
                    cell = row, member.process
                    if cell in thread_of or (is_active and owner[row] != UNASSIGNED):
                        return None
                    thread_of[cell] = member.thread
                    if is_active:
                        owner[row] = member.process
                    else:
                        standbys.append(cell)
    standby, thread = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int64)
    if standbys:
        standby[tuple(zip(*standbys, strict=True))] = True
    if thread_of:
        thread[tuple(zip(*thread_of, strict=True))] = list(thread_of.values())
    return AssignmentColumns(np.array(owner, dtype=np.int64), standby, None, thread)
