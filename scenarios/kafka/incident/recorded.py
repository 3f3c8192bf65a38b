"""The recorded rebalances of a group: members, what they reported, and what they were assigned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assignors.model.consumer_group import NO_GENERATION, ConsumerMember
from assignors.model.ids import TopicId, TopicPartition
from scenarios.kafka.observation.group_snapshot import GroupKind

Protocol = Literal["classic", "streams", "consumer"]


@dataclass(frozen=True, slots=True)
class RecordedConsumer:
    """What was recorded of a member of a consumer group without Kafka Streams.

    Attributes:
        client_id: `client.id`, which several members may share.
        host: Host of the client, as the coordinator sees it.
        reported: What the assignor knew of it.
        rebalance_timeout_ms: Its rebalance timeout, which is `max.poll.interval.ms`; -1 if it was not recorded.
    """

    client_id: str
    host: str
    reported: ConsumerMember
    rebalance_timeout_ms: int = -1


@dataclass(frozen=True, slots=True)
class RecordedMember:
    """A stream thread or a consumer in one rebalance; tasks in Kafka's text form and order.

    A task of a consumer group is a partition, such as `orders-3`. Kafka does not record which consumers share a
    process: each counts as one.

    Attributes:
        id: Member id.
        process_id: Process id; of a consumer, the first member id of the same client.
        client_id: Client id that the threads of the process share; of a consumer, a distinct name.
        thread: Client id of the thread, which a restarted process uses again; of a consumer, its process id.
        rack: `client.rack`; None if it has none, or it was not recorded.
        tags: `client.tag.*`.
        instance_id: `group.instance.id`; None for a dynamic member.
        active: Assigned active tasks.
        standby: Assigned standby tasks, including warm-ups.
        previous_active: Tasks that it ran before, as it reported them or as its coordinator knew them.
        previous_standby: Other tasks of which it had a copy.
        offset_sums: Sum of the changelog offsets of each task with a copy, as it reported them; `LATEST_OFFSET` for a
            running task. Empty if it reported none.
        topics: Topics that it subscribed to; empty if they were not recorded.
        next_rebalance_at_ms: Time since 1970 at which it must rejoin; None if it need not, 0 for at once.
        session_timeout_ms: Session timeout; None if it was not recorded.
        consumer: What was recorded of a consumer; None for a stream thread.
    """

    id: str
    process_id: str
    client_id: str
    thread: str = ""
    rack: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    instance_id: str | None = None
    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()
    previous_active: tuple[str, ...] = ()
    previous_standby: tuple[str, ...] = ()
    offset_sums: Mapping[str, int] = field(default_factory=dict)
    owned: frozenset[TopicPartition] = frozenset()
    topics: tuple[str, ...] = ()
    next_rebalance_at_ms: int | None = None
    session_timeout_ms: int | None = None
    consumer: RecordedConsumer | None = None


@dataclass(frozen=True, slots=True)
class RecordedRebalance:
    """One assignment of a group.

    Attributes:
        number: Generation of a classic group, or epoch of a target assignment; position in a log without records.
        at_ms: Time since 1970.
        members: Members, by member id; empty for a group that became empty.
        coordinator_order: Member ids in the order of the coordinator's map; empty for a classic group of Kafka Streams.
        leader: Name of the leader; None if it is unknown or the brokers assigned.
        withheld: Tasks that were assigned to a client, but withheld until another one gives them up, with that client's
            process id.
        lags: Lags by process id and task, if the leader logged them.
        configs: Configs of the assignment that the coordinator recorded.
        stated_causes: What clients logged as the reason, oldest first.
        missing: Number of rebalances since the previous one that were not recorded.
        stable_at_ms: When every member had its assignment and no follow-up was due; None if another rebalance came
            first, or it is unknown.
        assignor: Name of the assignor of a consumer group, as it was recorded; empty for an application.
        partitions: Number of partitions of each topic that a consumer group read.
        max_generation: Highest generation that the leader's assignor had seen in earlier rebalances.
    """

    number: int
    at_ms: int
    members: tuple[RecordedMember, ...]
    coordinator_order: tuple[str, ...] = ()
    leader: str | None = None
    withheld: Mapping[str, str] = field(default_factory=dict)
    lags: Mapping[str, Mapping[str, int]] | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    stated_causes: tuple[str, ...] = ()
    missing: int = 0
    stable_at_ms: int | None = None
    assignor: str = ""
    partitions: Mapping[str, int] = field(default_factory=dict)
    max_generation: int = NO_GENERATION

    def active(self) -> dict[str, str]:
        """Return the process of each task that was assigned, including withheld ones."""
        return {
            **{task: member.process_id for member in self.members for task in member.active},
            **self.withheld,
        }

    def standby(self) -> dict[str, tuple[str, ...]]:
        """Return the processes with a standby of each task, sorted; none where the active task is withheld."""
        of_task: dict[str, set[str]] = {}
        for member in self.members:
            for task in member.standby:
                if self.withheld.get(task) != member.process_id:
                    of_task.setdefault(task, set()).add(member.process_id)
        return {task: tuple(sorted(processes)) for task, processes in of_task.items()}

    def by_process(self) -> dict[str, list[RecordedMember]]:
        """Return the members of each process, processes by id."""
        members: dict[str, list[RecordedMember]] = {}
        for member in sorted(self.members, key=lambda member: (member.process_id, member.id)):
            members.setdefault(member.process_id, []).append(member)
        return members


@dataclass(frozen=True, slots=True)
class RecordedGroup:
    """The recorded rebalances of a group.

    Attributes:
        group: Group, which is the application.id of an application.
        protocol: Protocol of the group.
        rebalances: Rebalances, by time.
        source_topics: Topics that each subtopology reads, sorted.
        stateful: Subtopologies with state.
        has_records: Whether they are from `__consumer_offsets`, so that reports of the members are known.
        remarks: Sentences on what is missing or assumed.
        kind: What its members are.
        topic_ids: Id of each topic, if it was recorded.
    """

    group: str
    protocol: Protocol
    rebalances: tuple[RecordedRebalance, ...]
    source_topics: Mapping[int, tuple[str, ...]]
    stateful: frozenset[int]
    has_records: bool
    remarks: tuple[str, ...] = ()
    kind: GroupKind = GroupKind.APPLICATION
    topic_ids: Mapping[str, TopicId] = field(default_factory=dict)

    @property
    def has_consumers(self) -> bool:
        """Whether its members are consumers without Kafka Streams."""
        return self.kind is GroupKind.CONSUMERS
