"""Kafka's uniform assignor of brokers (KIP-848)."""

from __future__ import annotations

from dataclasses import dataclass

from assignors.consumers.broker_group import BrokerGroup
from assignors.consumers.uniform_heterogeneous import HeterogeneousAssignment
from assignors.consumers.uniform_homogeneous import HomogeneousAssignment
from assignors.model.consumer_group import ConsumerAssignment, ConsumerGroupState, SubscriptionType

_FIRST_RELEASE = "4.0.0"


@dataclass(frozen=True, slots=True)
class BrokerUniform:
    """Keeps the target assignment where balance permits.

    Guarantees: shares differ by at most one partition if all members subscribe to the same topics. Otherwise, the loads
    of the subscribers of each topic differ by at most one partition that could move, unless 16 passes do not suffice.
    Priority: balance, stickiness. Ignores racks (KAFKA-16694 removed what KIP-848 planned). Kafka 4.0.0 reserves the
    larger shares for the first members of its map, although others own more partitions.
    Complexity: O(P + M) if all members subscribe to the same topics; otherwise O(S log M + P) per pass, for P
    partitions, M members and S subscriptions of members to topics.
    Source: `org.apache.kafka.coordinator.group.assignor.UniformAssignor`, KIP-848; Kafka 4.0.0 to 4.4.0.

    Attributes:
        release: Kafka release: 4.0.0, or any later one, which all give the same answers.
    """

    release: str = "4.4"

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member.

        Raises:
            KafkaError: Kafka's assignor throws for this state.
        """
        if not state.member_ids:
            return ConsumerAssignment(())
        group = BrokerGroup.of(state)
        if state.subscription_type is SubscriptionType.HOMOGENEOUS:
            gives_up_extra = self.release != _FIRST_RELEASE
            return ConsumerAssignment(HomogeneousAssignment(group, gives_up_extra=gives_up_extra).build())
        return ConsumerAssignment(HeterogeneousAssignment(group).build())
