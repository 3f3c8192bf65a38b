"""Which members of a consumer group are the same client, and how many partitions its topics had.

A consumer that restarts has a new member id. A static one is recognized by its `group.instance.id`, and a dynamic one
by its `client.id` and host: it takes the place of a member with the same that has disappeared, or of the only one
with the same that disappears within its session timeout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assignors.model.ids import TopicPartition
from scenarios.kafka.incident.recorded import RecordedConsumer, RecordedMember, RecordedRebalance
from scenarios.kafka.naming import TOPIC_PATTERN
from scenarios.kafka.observation.consumer_scenario_writer import consumer_names
from scenarios.kafka.observation.observation import ObservationError, ObservedConsumer

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
        member: Member id.
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
