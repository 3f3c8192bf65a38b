from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import assignor_sim as sim

Task = tuple[str, int]


@dataclass(frozen=True)
class RackSpread:
    """Tasks stay on their member while it has capacity; standbys go to racks without a copy of the task.

    Other tasks go to a process with a standby, then to the process with the fewest tasks per member. Ties go to the
    lower process id; in a process, to the member with the fewest tasks.
    """

    def assign(
        self, group_spec: sim.GroupSpec, topology_describer: sim.TopologyDescriber
    ) -> Mapping[str, sim.MemberAssignment]:
        processes: dict[str, Process] = {}
        for member_id in sorted(group_spec.member_ids()):
            metadata = group_spec.member_metadata(member_id)
            process = processes.setdefault(metadata.process_id, Process(metadata.process_id, metadata.rack_id))
            process.members.append(Member(member_id, group_spec.member_assignment_state(member_id)))
        members = [member for process in processes.values() for member in process.members]
        tasks = [
            (subtopology, partition)
            for subtopology in topology_describer.subtopologies()
            for partition in range(topology_describer.max_num_input_partitions(subtopology))
        ]
        if tasks and not members:
            raise sim.TaskAssignorError("no member can run the tasks")
        capacity = -(-len(tasks) // max(1, len(members)))
        moving = []
        for task in tasks:
            stays_on = [m for m in members if has(m.state.active_tasks, task) and len(m.active) < capacity]
            if stays_on:
                min(stays_on, key=lambda member: member.id).active.append(task)
            else:
                moving.append(task)
        for task in moving:
            with_capacity = [p for p in processes.values() if any(len(m.active) < capacity for m in p.members)]
            chosen = min(with_capacity, key=lambda p: (not p.had_standby(task), p.load(), p.id))
            free = [member for member in chosen.members if len(member.active) < capacity]
            min(free, key=lambda m: (not has(m.state.standby_tasks, task), len(m.active), m.id)).active.append(task)
        for task in tasks:
            if topology_describer.is_stateful(task[0]):
                for _ in range(group_spec.configs.num_standby_replicas):
                    add_standby(task, list(processes.values()))
        return {m.id: sim.MemberAssignment(by_subtopology(m.active), by_subtopology(m.standby)) for m in members}


def add_standby(task: Task, processes: list["Process"]) -> None:
    """Assign one more standby to a process without the task, if there is one: if possible, in another rack."""
    racks = {process.rack for process in processes if process.holds(task)}
    without = [process for process in processes if not process.holds(task)]
    if without:
        chosen = min(without, key=lambda p: (p.rack in racks, not p.had_copy(task), p.load(), p.id))
        min(chosen.members, key=lambda m: (len(m.active) + len(m.standby), m.id)).standby.append(task)


@dataclass
class Member:
    """A member and the tasks assigned to it so far."""

    id: str
    state: sim.MemberAssignmentState
    active: list[Task] = field(default_factory=list)
    standby: list[Task] = field(default_factory=list)


@dataclass
class Process:
    """A process, whose members must not have two copies of a task."""

    id: str
    rack: str | None
    members: list[Member] = field(default_factory=list)

    def holds(self, task: Task) -> bool:
        return any(task in member.active or task in member.standby for member in self.members)

    def had_standby(self, task: Task) -> bool:
        return any(has(member.state.standby_tasks, task) for member in self.members)

    def had_copy(self, task: Task) -> bool:
        return self.had_standby(task) or any(has(member.state.active_tasks, task) for member in self.members)

    def load(self) -> float:
        return sum(len(member.active) + len(member.standby) for member in self.members) / len(self.members)


def has(tasks: Mapping[str, Set[int]], task: Task) -> bool:
    return task[1] in tasks.get(task[0], frozenset())


def by_subtopology(tasks: list[Task]) -> dict[str, set[int]]:
    partitions: dict[str, set[int]] = {}
    for subtopology, partition in tasks:
        partitions.setdefault(subtopology, set()).add(partition)
    return partitions
