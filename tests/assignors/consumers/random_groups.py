"""Random consumer groups for tests of relations: successive rebalances in which members keep what they got."""

from __future__ import annotations

from collections.abc import Iterator

from assignors.consumers.previous_owners import owned_after
from assignors.consumers.registry import ConsumerAssignorInfo, ConsumerProtocol
from assignors.errors import KafkaError
from assignors.model.consumer_group import ConsumerAssignment, ConsumerGroupState, partition_key
from tools.kafka_consumer_oracle.lives import RandomConsumerGroup


def rebalances(
    info: ConsumerAssignorInfo, seeds: range, rounds: int = 3
) -> Iterator[tuple[ConsumerGroupState, ConsumerAssignment]]:
    """Yield states and assignments; rebalances at which Kafka's assignor throws are left out."""
    assignor = info.make()
    for seed in seeds:
        group = RandomConsumerGroup.from_seed(seed, is_classic=info.protocol is ConsumerProtocol.CLASSIC)
        for _ in range(rounds):
            state = group.state()
            try:
                assignment = assignor.assign(state)
            except KafkaError:
                group.adopt({})
                continue
            yield state, assignment
            owned = owned_after(info, state, assignment)
            group.adopt(
                {
                    member: tuple(map(state.topic_partition, keys))
                    for member, keys in zip(state.member_ids, owned, strict=True)
                }
            )


def subscribers(state: ConsumerGroupState) -> dict[int, frozenset[int]]:
    """Return the members that subscribe to each topic that exists."""
    return {
        row: frozenset(member for member, rows in enumerate(state.subscriptions) if row in rows)
        for row, topic in enumerate(state.topics)
        if topic.partitions
    }


def expected_keys(state: ConsumerGroupState) -> set[int]:
    """Return the partitions that must be assigned: those of topics with a subscriber."""
    return {
        partition_key(row, partition)
        for row, members in subscribers(state).items()
        if members
        for partition in range(state.topics[row].partitions)
    }


def owns_only_what_exists(state: ConsumerGroupState) -> bool:
    """Return whether no member claims a partition that does not exist, or that another member claims."""
    claimed = [key for keys in state.owned for key in keys]
    existing = {partition_key(row, p) for row, topic in enumerate(state.topics) for p in range(topic.partitions)}
    return len(set(claimed)) == len(claimed) and existing.issuperset(claimed)
