"""The assignment that a consumer group should have, computed from what its members reported.

Classic protocol: the coordinator returns what each member sent with its last request to join, and lists the members in
the order in which the leader got them. This is what the leader's assignor knew.

Consumer protocol (KIP-848): the coordinator computes a target from the previous one, which the poll before has seen.
A member whose first heartbeat triggers that is not in the coordinator's map yet, and comes last.

Source: `ConsumerCoordinator.onLeaderElected` of kafka-clients; `TargetAssignmentBuilder.build` and
`GroupMetadataManager.updateTargetAssignment` in `org.apache.kafka.coordinator.group`, Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assignors.model.consumer_group import ConsumerAssignor, ConsumerGroupState, ConsumerMember
from scenarios.kafka.formats.topic_patterns import compile_pattern
from scenarios.kafka.observation.group_snapshot import GroupSnapshot, SnapshotMember
from scenarios.watch.consumers import WatchedConsumers
from scenarios.watch.predicted_assignment import PredictedAssignment

_MAX_ORDERS = 8
"""Limit of the orders of members that are tried."""


def predict_classic_consumers(
    consumers: WatchedConsumers, assignor: ConsumerAssignor, snapshot: GroupSnapshot
) -> PredictedAssignment:
    """Compute the last assignment of a classic consumer group again.

    Args:
        consumers: the group.
        assignor: its assignor.
        snapshot: the stable group.

    Returns:
        The assignment, in which partitions are withheld that another member must revoke first.

    Raises:
        AssignorError: Kafka's assignor throws for this group.
    """
    return _predict(consumers, assignor, snapshot.members)


def predict_coordinated_consumers(
    consumers: WatchedConsumers, assignor: ConsumerAssignor, before: GroupSnapshot, snapshot: GroupSnapshot
) -> Iterator[PredictedAssignment]:
    """Compute the target of a group of the consumer protocol from the previous one.

    Args:
        consumers: the group.
        assignor: its assignor.
        before: the group with the previous target.
        snapshot: the group with the target.

    Yields:
        The target, for each possible order of the members: only one is known.

    Raises:
        AssignorError: Kafka's assignor throws for this group.
    """
    previous = {member.id: member for member in before.members}
    of_instance = {member.instance_id: member for member in before.members if member.instance_id}
    members = []
    for member in snapshot.members:
        # A static member that returns has a new id, and the target of its old one.
        held = previous.get(member.id) or of_instance.get(member.instance_id or "")
        members.append(replace(member, owned=() if held is None else held.owned))
    yield _predict(consumers, assignor, members)
    for new in [member for member in members if member.id not in previous][: _MAX_ORDERS - 1]:
        yield _predict(consumers, assignor, [*(member for member in members if member is not new), new])


def _predict(
    consumers: WatchedConsumers, assignor: ConsumerAssignor, members: Sequence[SnapshotMember]
) -> PredictedAssignment:
    state = ConsumerGroupState.of((_reported(member, consumers) for member in members), consumers.topics)
    answer = assignor.assign(state)
    process_of = [member.process_id for member in members]
    return PredictedAssignment(
        tasks=consumers.task_names,
        active={
            str(state.topic_partition(key)): process
            for process, keys in zip(process_of, answer.partitions, strict=True)
            for key in keys
        },
        withheld=frozenset(str(state.topic_partition(key)) for key, _ in answer.withheld),
        may_wait=frozenset(),
        standby={},
    )


def _reported(member: SnapshotMember, consumers: WatchedConsumers) -> ConsumerMember:
    """Return what a member reported; it subscribes by pattern to the topics that match now."""
    pattern = None if member.pattern is None else compile_pattern(member.pattern)
    matching = [] if pattern is None else [topic.name for topic in consumers.topics if pattern.fullmatch(topic.name)]
    return ConsumerMember(
        member_id=member.id,
        topics=tuple(dict.fromkeys((*member.topics, *matching))),
        instance_id=member.instance_id,
        rack=member.rack,
        owned=member.owned,
        generation=member.generation,
        user_data_generation=member.user_data_generation,
    )
