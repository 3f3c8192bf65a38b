"""The vocabulary of a task assignor that brokers run for streams groups (KIP-1357).

The names are those of `org.apache.kafka.coordinator.group.api.streams.assignor` (Kafka 4.4.0) in snake case, except
that Kafka's `TaskAssignor` is `StreamsGroupAssignor` here, and its `GroupAssignment` is the mapping of its members.
Subtopologies are strings, as in the coordinator; a task is one partition of a subtopology.

Source: KIP-1357; `GroupSpec`, `MemberAssignmentMetadata`, `MemberAssignmentState`, `TopologyDescriber`,
`MemberAssignment`, Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from assignors.model.configs import AssignmentConfigs

_NO_TASKS: Mapping[str, Set[int]] = MappingProxyType({})
_NO_OFFSETS: Mapping[str, Mapping[int, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class MemberAssignmentMetadata:
    """What a member announces when it joins: a stream thread of a process.

    Attributes:
        process_id: process id of its Kafka Streams client.
        instance_id: `group.instance.id` with the number of the thread; None for a dynamic member.
        rack_id: `client.rack`; None if not configured.
        client_tags: `client.tag.*`.
    """

    process_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemberAssignmentState:
    """The tasks that a member owns, and the offsets that it reports.

    Attributes:
        active_tasks: partitions of its active tasks by subtopology.
        standby_tasks: partitions of its standbys by subtopology.
        warmup_tasks: partitions of its warm-ups by subtopology; none in Kafka 4.4.
        task_offsets: sum of the changelog offsets of its copies by subtopology and partition.
        task_end_offsets: sum of the end offsets of the same changelogs.
    """

    active_tasks: Mapping[str, Set[int]] = field(default_factory=lambda: _NO_TASKS)
    standby_tasks: Mapping[str, Set[int]] = field(default_factory=lambda: _NO_TASKS)
    warmup_tasks: Mapping[str, Set[int]] = field(default_factory=lambda: _NO_TASKS)
    task_offsets: Mapping[str, Mapping[int, int]] = field(default_factory=lambda: _NO_OFFSETS)
    task_end_offsets: Mapping[str, Mapping[int, int]] = field(default_factory=lambda: _NO_OFFSETS)


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A streams group: the input of an assignor, together with its topology.

    Attributes:
        metadata: what each member announced, by member id.
        states: the tasks of each member, by member id.
        configs: configs of the group; Kafka passes `num_standby_replicas` and `rack_aware_assignment_tags`.
    """

    metadata: Mapping[str, MemberAssignmentMetadata]
    states: Mapping[str, MemberAssignmentState]
    configs: AssignmentConfigs

    def member_ids(self) -> tuple[str, ...]:
        """Return the members in the iteration order of the coordinator's hash map: sort before order matters."""
        return tuple(self.metadata)

    def member_metadata(self, member_id: str) -> MemberAssignmentMetadata:
        """Return what a member announced.

        Raises:
            KeyError: the group has no such member.
        """
        return self.metadata[member_id]

    def member_assignment_state(self, member_id: str) -> MemberAssignmentState:
        """Return the tasks of a member; none if it has just joined.

        Raises:
            KeyError: the group has no such member.
        """
        return self.states[member_id]


@dataclass(frozen=True, slots=True)
class TopologyDescriber:
    """The subtopologies of a streams group.

    Attributes:
        partitions: number of tasks of each subtopology.
        stateful: subtopologies that have a changelog.
    """

    partitions: Mapping[str, int]
    stateful: frozenset[str]

    def subtopologies(self) -> list[str]:
        """Return the ids of all subtopologies in the order of strings: 10 comes before 2."""
        return sorted(self.partitions)

    def max_num_input_partitions(self, subtopology_id: str) -> int:
        """Return the number of tasks of a subtopology: the partitions of its largest input topic.

        Raises:
            KeyError: there is no such subtopology.
        """
        return self.partitions[subtopology_id]

    def is_stateful(self, subtopology_id: str) -> bool:
        """Return whether a subtopology has a changelog.

        Raises:
            KeyError: there is no such subtopology.
        """
        if subtopology_id not in self.partitions:
            raise KeyError(subtopology_id)
        return subtopology_id in self.stateful


@dataclass(frozen=True, slots=True)
class MemberAssignment:
    """The tasks that an assignor gives to a member.

    Attributes:
        active_tasks: partitions of its active tasks by subtopology.
        standby_tasks: partitions of its standbys by subtopology.
    """

    active_tasks: Mapping[str, Set[int]] = field(default_factory=lambda: _NO_TASKS)
    standby_tasks: Mapping[str, Set[int]] = field(default_factory=lambda: _NO_TASKS)


@runtime_checkable
class StreamsGroupAssignor(Protocol):
    """A strategy that assigns tasks to the members of a streams group; typically a frozen dataclass.

    `assign` is pure and deterministic, and does not change its arguments. Its two arguments distinguish it from the
    `assign` of `TaskAssignor`.
    """

    def assign(self, group_spec: GroupSpec, topology_describer: TopologyDescriber) -> Mapping[str, MemberAssignment]:
        """Return the tasks of each member by member id; a member that is missing gets none."""
        ...
