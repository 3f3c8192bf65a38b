"""The state of a group at one moment, as a watch polls it.

Task ids are in Kafka's text form (`0_3`); a task of a consumer group is a partition (`orders-3`). A snapshot exists in
every state of the group, an `Observation` only of a stable one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assignors.model.consumer_group import NO_GENERATION
from assignors.model.ids import TopicPartition


class GroupKind(StrEnum):
    """What the members of a group are.

    Attributes:
        APPLICATION: stream threads of a Kafka Streams application.
        CONSUMERS: other consumers.
    """

    APPLICATION = "application"
    CONSUMERS = "consumers"


class GroupPhase(StrEnum):
    """The phase of a group, of either protocol.

    Attributes:
        STABLE: every member has its assignment.
        REBALANCING: members join, the assignment is computed, or members do not have their target yet.
        EMPTY: the group has no members.
        GONE: the group does not exist.
    """

    STABLE = "stable"
    REBALANCING = "rebalancing"
    EMPTY = "empty"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class SnapshotMember:
    """A member: a stream thread, or a consumer.

    Attributes:
        id: Member id.
        client_id: Client id of its process; of a consumer a distinct name, since many consumers have the default one.
        process_id: UUID of its process. Kafka does not expose which consumers share a process: each counts as one, with
            its `group.instance.id` or else its member id.
        rack: `client.rack`; None if it has none.
        tags: `client.tag.*`.
        instance_id: `group.instance.id`; None for a dynamic member.
        active: Active tasks, sorted.
        standby: Standbys and warm-ups, sorted.
        target_active: Active tasks of its target, sorted; those of a classic group are its active tasks.
        target_standby: Standbys and warm-ups of its target, sorted.
        owned: Partitions that a member of a classic group owned when it joined the last rebalance, as its assignor
            reads them; of a consumer under the consumer protocol its target, in the coordinator's order.
        offset_sums: Offset sums by task that it reported: -2 for a task that was active.
        joined: Changes with each rebalance that the member joins.
        topics: Topics to which a consumer subscribes, in the order in which it lists them.
        pattern: Pattern to which a consumer of the consumer protocol subscribes; None without one.
        generation: Generation of `owned` that a consumer of a classic group reports.
        user_data_generation: The same in what a sticky assignor adds; None if it adds none.
    """

    id: str
    client_id: str
    process_id: str
    rack: str | None
    tags: Mapping[str, str]
    instance_id: str | None
    active: tuple[str, ...]
    standby: tuple[str, ...]
    target_active: tuple[str, ...]
    target_standby: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    offset_sums: Mapping[str, int] = field(default_factory=dict)
    joined: str = ""
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    generation: int = NO_GENERATION
    user_data_generation: int | None = None


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """The progress of a task in its source partitions.

    Attributes:
        committed: Sum of the committed offsets.
        end: Sum of the log end offsets, of the partitions with a committed offset.
    """

    committed: int
    end: int


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """A group at one moment.

    Attributes:
        at_ms: Time since 1970.
        group: `application.id`, or `group.id` of a consumer group.
        protocol: `classic`, `streams`, or `consumer` (KIP-848).
        state: Kafka's name of the state, such as `PreparingRebalance`.
        epoch: Number of the last assignment: the assignment epoch if the coordinator assigns, and the generation of a
            classic group if its members report it; None if unknown.
        members: Members, in the order in which the coordinator lists them; empty while a classic group rebalances,
            since its coordinator then returns no metadata.
        member_ids: Ids of all members, sorted, in every phase.
        next_rebalance_at_ms: Time at which a member must rejoin, since 1970; 0 at once, None if no member must.
        error_code: Largest error code that the leader sent instead of an assignment; 0 for none.
        changelog_ends: Sum of the end offsets of the changelogs of each stateful task.
        progress: Progress by task; none of tasks without committed offsets.
        offsets_error: Why offsets could not be read; None if they were, or were not requested.
        kind: What the members are; None if the state does not show it, as while a classic group rebalances.
    """

    at_ms: int
    group: str
    protocol: str
    state: str
    phase: GroupPhase
    epoch: int | None = None
    members: tuple[SnapshotMember, ...] = ()
    member_ids: tuple[str, ...] = ()
    next_rebalance_at_ms: int | None = None
    error_code: int = 0
    changelog_ends: Mapping[str, int] = field(default_factory=dict)
    progress: Mapping[str, TaskProgress] = field(default_factory=dict)
    offsets_error: str | None = None
    kind: GroupKind | None = None

    @property
    def is_coordinated(self) -> bool:
        """Return whether the coordinator assigns; it then lists members, assignments and targets in every state."""
        return self.protocol != "classic"

    @property
    def has_outdated_target(self) -> bool:
        """Return whether the group has changed since its coordinator computed the target."""
        return self.is_coordinated and self.state == "Assigning"

    @property
    def rebalance(self) -> tuple[object, ...]:
        """Return what is different after each rebalance, and equal between two.

        A static consumer that returns replaces what it reported without a rebalance, and without a new generation.
        """
        has_generation = self.kind is GroupKind.CONSUMERS and self.epoch is not None
        if self.is_coordinated or has_generation:
            return (self.epoch,)
        return (self.epoch, tuple(sorted((member.id, member.joined) for member in self.members)))

    def clients(self) -> dict[str, str]:
        """Return the client id of each process, by process id."""
        return {member.process_id: member.client_id for member in sorted(self.members, key=lambda member: member.id)}

    def actives(self) -> dict[str, str]:
        """Return the process of each active task."""
        return {task: member.process_id for member in self.members for task in member.active}

    def target_actives(self) -> dict[str, str]:
        """Return the process of each active task of the target."""
        return {task: member.process_id for member in self.members for task in member.target_active}
