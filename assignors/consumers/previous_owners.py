"""Who owned which partition before, as the leader's sticky assignors see it from the members' reports.

Source: `AbstractStickyAssignor.allSubscriptionsEqual` and `prepopulateCurrentAssignments`, kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assignors.consumers.classic_group import ClassicGroup
from assignors.model.consumer_group import NO_GENERATION, topic_of


@dataclass(frozen=True, slots=True)
class MemberReport:
    """What a sticky assignor reads from a member's subscription (`AbstractStickyAssignor.MemberData`).

    Attributes:
        partitions: keys of the partitions that it owned.
        generation: their generation; None if the member reports none.
    """

    partitions: tuple[int, ...]
    generation: int | None


@dataclass(frozen=True, slots=True)
class PartitionClaims:
    """The previous assignment, without contradictions.

    Attributes:
        owned: keys of the partitions of subscribed topics that each member keeps its claim to, by row.
        claimed_twice: partitions that several members claim in the same generation.
        is_homogeneous: whether all members subscribe to the same topics. Members without topics before the first one
            with topics do not count, as in Kafka.
        max_generation: highest generation that any member reports now, or the leader's assignor saw before.
    """

    owned: tuple[list[int], ...]
    claimed_twice: frozenset[int]
    is_homogeneous: bool
    max_generation: int

    @classmethod
    def of(cls, group: ClassicGroup, reports: Sequence[MemberReport]) -> PartitionClaims:
        """Resolve conflicting claims: the higher generation wins; in the same generation, the last claim."""
        state, topics = group.state, frozenset(group.topics)
        owned: tuple[list[int], ...] = tuple([] for _ in state.member_ids)
        owner: dict[int, int] = {}
        claimed_twice: set[int] = set()
        max_generation = state.max_generation
        for member in group.members:
            report = reports[member]
            generation = NO_GENERATION if report.generation is None else report.generation
            max_generation = max(max_generation, generation)
            for key in report.partitions:
                if topic_of(key) not in topics:
                    continue
                other = owner.get(key)
                # Kafka compares with the generation in the other's subscription, not with that in its user data.
                others_generation = NO_GENERATION if other is None else max(state.generations[other], NO_GENERATION)
                if other is None:
                    owned[member].append(key)
                    owner[key] = member
                elif generation == others_generation:
                    claimed_twice.add(key)
                    _remove(owned[other], key)
                    owner[key] = member
                elif generation > others_generation:
                    owned[member].append(key)
                    _remove(owned[other], key)
                    owner[key] = member
        return cls(owned, frozenset(claimed_twice), _is_homogeneous(group), max_generation)


def _remove(keys: list[int], key: int) -> None:
    if key in keys:
        keys.remove(key)


def _is_homogeneous(group: ClassicGroup) -> bool:
    first: tuple[int, ...] = ()
    topics: frozenset[int] = frozenset()
    for member in group.members:
        rows = group.state.subscriptions[member]
        if not first:
            first, topics = rows, frozenset(rows)
        elif rows != first and (len(rows) != len(topics) or not topics.issuperset(rows)):
            return False
    return True


def owners_of_older_generations(
    group: ClassicGroup, reports: Sequence[MemberReport], max_generation: int
) -> dict[int, int]:
    """Return the member that owned each partition in the newest generation before the newest of all."""
    owners: dict[int, tuple[int, int]] = {}
    for member in group.members:
        report = reports[member]
        if report.generation is None:
            if max_generation <= NO_GENERATION:
                continue
            generation = NO_GENERATION
        elif report.generation < max_generation:
            generation = report.generation
        else:
            continue
        for key in report.partitions:
            if key not in owners or generation > owners[key][1]:
                owners[key] = member, generation
    return {key: member for key, (member, _) in owners.items()}
