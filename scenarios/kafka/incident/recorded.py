"""The recorded rebalances of a group: members, what they reported, and what they were assigned.

A consumer that restarts has a new member id. A static one is recognized by its `group.instance.id`, and a dynamic one
by its `client.id` and host: it takes the place of a member with the same that has disappeared, or of the only one
with the same that disappears within its session timeout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from assignors.model.consumer_group import NO_GENERATION, ConsumerMember
from assignors.model.ids import TopicId, TopicPartition
from scenarios.kafka.naming import TOPIC_PATTERN
from scenarios.kafka.observation.consumer_scenario_writer import consumer_names
from scenarios.kafka.observation.observation import GroupKind, ObservationError, ObservedConsumer

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
        process_id: Process id; of a consumer, the first member id of the same client.
        client_id: Client id that the threads of the process share; of a consumer, a distinct name.
        thread: Client id of the thread, which a restarted process uses again; of a consumer, its process id.
        rack: `client.rack`; None if it has none, or it was not recorded.
        instance_id: `group.instance.id`; None for a dynamic member.
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


_SESSION_MS: Final = 45_000
"""Default of `group.consumer.session.timeout.ms`."""

_TOLERANCE_MS: Final = 2_000
"""Time for the assignment after a session has timed out."""

MAX_PARTITION: Final = 100_000
"""Maximum number of a partition that is plausible."""


@dataclass(slots=True)
class _TrackedClient:
    """A client and the member that it has now.

    Attributes:
        id: Its first member id.
        last: Position of the last rebalance with the member.
    """

    id: str
    member: str
    last: int


def check_partitions(place: str, partitions: Iterable[TopicPartition]) -> None:
    """Reject partitions that no cluster has, before anything is built from them.

    Raises ObservationError if a partition is impossible; the message begins with the place.
    """
    for topic, partition in partitions:
        if not re.fullmatch(TOPIC_PATTERN, topic, re.ASCII) or not 0 <= partition <= MAX_PARTITION:
            raise ObservationError(f"{place}: partition {partition} of topic '{topic[:60]}' is impossible")


def with_partition_counts(rebalances: Sequence[RecordedRebalance]) -> list[RecordedRebalance]:
    """Return the rebalances with the number of partitions of each topic: the largest one until then, plus one.

    All assignors of Kafka assign every partition of the topics to which members subscribe. A partition that is withheld
    has an owner that reports it.
    """
    counts: dict[str, int] = {}
    result = []
    for rebalance in rebalances:
        for member in rebalance.members:
            for partition in (*map(TopicPartition.parse, member.active), *member.owned):
                counts[partition.topic] = max(counts.get(partition.topic, 0), partition.partition + 1)
        result.append(replace(rebalance, partitions=dict(sorted(counts.items()))))
    return result


def with_clients(rebalances: Sequence[RecordedRebalance]) -> tuple[RecordedRebalance, ...]:
    """Return the rebalances with the client of each member, and a distinct name of it."""
    client_of = _clients(rebalances)
    first: dict[str, ObservedConsumer] = {}
    for rebalance in rebalances:
        for member in rebalance.members:
            first.setdefault(client_of[member.id], observed_consumer(member))
    names = consumer_names([replace(consumer, member_id=client) for client, consumer in first.items()])
    return tuple(
        replace(
            rebalance,
            members=tuple(
                replace(member, process_id=client, thread=client, client_id=names[client])
                for member in rebalance.members
                for client in (client_of[member.id],)
            ),
        )
        for rebalance in rebalances
    )


def observed_consumer(member: RecordedMember, partitions: Sequence[TopicPartition] = ()) -> ObservedConsumer:
    """Return a recorded consumer as an observed one with the given partitions."""
    recorded = recorded_consumer(member)
    return ObservedConsumer(
        member_id=member.id,
        client_id=recorded.client_id,
        host=recorded.host,
        instance_id=member.instance_id,
        rack=member.rack,
        topics=tuple(sorted(set(recorded.reported.topics))),
        partitions=tuple(sorted(partitions)),
    )


def recorded_consumer(member: RecordedMember) -> RecordedConsumer:
    """Return what was recorded of a consumer; raise TypeError if the member is a stream thread."""
    if member.consumer is None:
        raise TypeError(f"member '{member.id}' is no consumer")
    return member.consumer


def _clients(rebalances: Sequence[RecordedRebalance]) -> dict[str, str]:
    """Return the first member id of the client of each member, by member id."""
    last_position = {
        member.id: position for position, rebalance in enumerate(rebalances) for member in rebalance.members
    }
    client_of: dict[str, str] = {}
    clients: dict[tuple[str, ...], list[_TrackedClient]] = {}
    for rebalance in rebalances:
        present = {member.id for member in rebalance.members}
        for member in rebalance.members:
            if member.id in client_of:
                continue
            same = clients.setdefault(_identity(member), [])
            until_ms = rebalance.at_ms + (member.session_timeout_ms or _SESSION_MS) + _TOLERANCE_MS
            gone_ms = {
                client.member: rebalances[client.last + 1].at_ms
                for client in same
                if client.member in present and client.last + 1 < len(rebalances)
            }
            found = _replaced(same, present, gone_ms, until_ms)
            if found is None:
                found = _TrackedClient(member.id, member.id, 0)
                same.append(found)
            found.member, found.last = member.id, last_position[member.id]
            client_of[member.id] = found.id
    return client_of


def _identity(member: RecordedMember) -> tuple[str, ...]:
    recorded = recorded_consumer(member)
    return (member.instance_id,) if member.instance_id is not None else (recorded.client_id, recorded.host)


def _replaced(
    same: Sequence[_TrackedClient], present: set[str], gone_ms: Mapping[str, int], until_ms: int
) -> _TrackedClient | None:
    """Return the client that a new member is: one whose member has disappeared last, or soon will."""
    absent = [client for client in same if client.member not in present]
    if absent:
        return max(absent, key=lambda client: client.last)
    remaining: Iterator[_TrackedClient] = (
        client for client in same if gone_ms.get(client.member, until_ms + 1) <= until_ms
    )
    return next(remaining, None) if len(same) == 1 else None
