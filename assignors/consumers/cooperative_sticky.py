"""Kafka's cooperative sticky assignor of clients."""

from __future__ import annotations

from dataclasses import dataclass

from assignors.consumers.classic_group import ClassicGroup
from assignors.consumers.previous_owners import MemberReport
from assignors.consumers.sticky import assign_sticky
from assignors.model.consumer_group import NO_GENERATION, ConsumerAssignment, ConsumerGroupState


@dataclass(frozen=True, slots=True)
class ConsumerCooperativeSticky:
    """The sticky assignment under the cooperative protocol: a partition that changes its owner waits for a follow-up.

    Guarantees: those of `ConsumerSticky` once no partition is withheld. No partition is assigned to a member while
    another member owns it.
    Priority: as `ConsumerSticky`.
    Complexity: as `ConsumerSticky`.
    Source: `org.apache.kafka.clients.consumer.CooperativeStickyAssignor`, KIP-429, KIP-792; kafka-clients 3.8 to 4.3.
    """

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member, without those that another member must revoke first.

        Raises KafkaError if Kafka's assignor throws for this state.
        """
        group = ClassicGroup.of(state)
        assigned, transferred = assign_sticky(group, [_report_of(state, m) for m in range(len(state.member_ids))])
        if transferred is None:
            transferred = _changes_of_owner(group, assigned)
        for key, member in transferred.items():
            assigned[member].remove(key)
        return ConsumerAssignment(tuple(map(tuple, assigned)), tuple(sorted(transferred.items())))


def _report_of(state: ConsumerGroupState, member: int) -> MemberReport:
    """Return what the subscription says; the generation of old clients is in their user data."""
    generation = state.generations[member]
    if generation > NO_GENERATION:
        return MemberReport(state.owned[member], generation)
    return MemberReport(state.owned[member], state.user_data_generations[member])


def _changes_of_owner(group: ClassicGroup, assigned: list[list[int]]) -> dict[int, int]:
    """Return the new owner of each partition that one member gains and another one loses."""
    gained: dict[int, int] = {}
    lost: set[int] = set()
    for member in group.members:
        keys, owned = assigned[member], set(group.state.owned[member])
        gained.update((key, member) for key in keys if key not in owned)
        lost |= owned.difference(keys)
    return {key: member for key, member in gained.items() if key in lost}
