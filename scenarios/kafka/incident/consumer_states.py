"""Recomputation of recorded assignments of a consumer group, and the comparison with what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from assignors.consumers.registry import ConsumerProtocol, find
from assignors.errors import AssignorError, UnknownAssignorError
from assignors.model.consumer_group import (
    NO_GENERATION,
    ConsumerAssignor,
    ConsumerGroupState,
    ConsumerMember,
    ConsumerTopic,
)
from assignors.model.ids import TopicId, TopicPartition
from scenarios.kafka.incident.consumer_clients import recorded_consumer
from scenarios.kafka.incident.recomputation import Mismatch
from scenarios.kafka.incident.recorded import RecordedMember, RecordedRebalance
from scenarios.kafka.incident.states import PartitionRacks
from scenarios.language.releases import NEWEST

_GENERATION = 0
"""Generation of partitions that members own by the last recorded assignment, whatever its number."""


@dataclass(frozen=True, slots=True)
class RecomputedPartitions:
    """The assignment of an assignor for a recorded rebalance; clients by process id.

    Attributes:
        assigned: Client of each partition.
        withheld: Next client of each partition that another one must revoke first.
        error: Why there is no assignment; None if there is one.
    """

    assigned: Mapping[str, str]
    withheld: Mapping[str, str]
    error: str | None = None

    def owners(self) -> dict[str, str]:
        """Return the client of each partition, including withheld ones."""
        return {**self.assigned, **self.withheld}


@dataclass(frozen=True, slots=True)
class ConsumerStates:
    """Builds the input of the assignor in the rebalances of a consumer group.

    Attributes:
        racks: Rack of each replica of a partition, if it is known.
        topic_ids: Id of each topic, if it is known.
    """

    racks: PartitionRacks
    topic_ids: Mapping[str, TopicId]

    def recorded(self, rebalance: RecordedRebalance) -> ConsumerGroupState:
        """Return what the assignor of a rebalance got."""
        members = {member.id: recorded_consumer(member).reported for member in rebalance.members}
        listed = [members[name] for name in rebalance.coordinator_order]
        return ConsumerGroupState.of(listed, self._topics(rebalance), max_generation=rebalance.max_generation)

    def with_owned(self, rebalance: RecordedRebalance, before: RecordedRebalance | None) -> ConsumerGroupState:
        """Return what another assignor would get: the members own what the rebalance before assigned to them."""
        owned = {} if before is None else {member.id: member.active for member in before.members}
        of_client = {} if before is None else {member.process_id: member.active for member in before.members}
        members = {
            member.id: _owning(member, owned.get(member.id, of_client.get(member.process_id, ())))
            for member in rebalance.members
        }
        return ConsumerGroupState.of((members[name] for name in rebalance.coordinator_order), self._topics(rebalance))

    def _topics(self, rebalance: RecordedRebalance) -> Iterator[ConsumerTopic]:
        for name, number in rebalance.partitions.items():
            racks = [self.racks.get(TopicPartition(name, partition), ()) for partition in range(number)]
            known = tuple(racks) if all(racks) else ()
            yield ConsumerTopic(name, number, known, self.topic_ids.get(name))


def _owning(member: RecordedMember, partitions: tuple[str, ...]) -> ConsumerMember:
    reported = recorded_consumer(member).reported
    return replace(
        reported,
        owned=tuple(map(TopicPartition.parse, partitions)),
        generation=_GENERATION if partitions else NO_GENERATION,
        user_data_generation=_GENERATION if partitions else None,
    )


def find_recorded_assignor(name: str, protocol: str, release: str | None) -> ConsumerAssignor | None:
    """Return the assignor of the recorded name in a release; None if it is not Kafka's, or not in the release.

    `release`: release of the clients, or of the brokers if they assign; None for the newest.
    """
    try:
        info = find(name, ConsumerProtocol(protocol))
        return info.at(release or NEWEST).make()
    except UnknownAssignorError:
        return None


def recompute_partitions(
    rebalance: RecordedRebalance, state: ConsumerGroupState, assignor: ConsumerAssignor
) -> RecomputedPartitions:
    """Compute the assignment of a recorded rebalance again.

    `state`: the input of the assignor. Returns the assignment, or why there is none.
    """
    client_of = {member.id: member.process_id for member in rebalance.members}
    try:
        answer = assignor.assign(state)
    except AssignorError as error:
        return RecomputedPartitions({}, {}, str(error))
    clients = [client_of[member] for member in state.member_ids]
    return RecomputedPartitions(
        {
            str(state.topic_partition(key)): client
            for client, keys in zip(clients, answer.partitions, strict=True)
            for key in keys
        },
        {str(state.topic_partition(key)): clients[member] for key, member in answer.withheld},
    )


def compare_partitions(rebalance: RecordedRebalance, recomputed: RecomputedPartitions) -> tuple[Mismatch, ...]:
    """Return the partitions that the assignor gives to another client than recorded, sorted.

    Clients of withheld partitions are compared if the rebalance afterwards shows them.
    """
    recorded = {name: member.process_id for member in rebalance.members for name in member.active}
    names = {*recorded, *rebalance.withheld, *recomputed.assigned}
    mismatches = []
    for name in sorted(names, key=TopicPartition.parse):
        expected, answer = recorded.get(name), recomputed.assigned.get(name)
        if expected == answer and name in rebalance.withheld:
            expected, answer = rebalance.withheld[name], recomputed.withheld.get(name)
        if expected != answer:
            held, answers = (() if client is None else (client,) for client in (expected, answer))
            mismatches.append(Mismatch(name, "active", held, answers))
    return tuple(mismatches)
