"""Every answer there is, tried one after the other: for clusters of a handful of partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations, product

from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState

Sets = tuple[tuple[int, ...], ...]


def placements(state: ClusterState, request: PlanRequest) -> Iterator[Sets]:
    """Every way of placing replicas that keeps all rules."""
    allowed = [row for row, is_allowed in enumerate(request.is_allowed(state)) if is_allowed]
    most = request.rack_limits(state)
    choices = []
    for row, factor in enumerate(request.factors(state)):
        sets = combinations(allowed, int(factor))
        choices.append([each for each in sets if not request.is_rack_aware(state) or crowd(state, each) <= most[row]])
    yield from product(*choices)


def crowd(state: ClusterState, brokers: tuple[int, ...]) -> int:
    return max(Counter(state.rack[list(brokers)].tolist()).values())


def squares(brokers: Iterable[Hashable]) -> int:
    """How uneven counts are; brokers, or topics on brokers, that are not named count nothing either way."""
    return sum(count**2 for count in Counter(brokers).values())


def least_moves(state: ClusterState, request: PlanRequest, weights: list[int] | None = None) -> tuple[int, int]:
    """The least that has to be copied for the evenest counts, and how uneven topics are at best then."""
    held = [{broker for broker in row if broker != NO_BROKER} for row in state.replicas.tolist()]
    each = weights or [1] * state.num_partitions

    def judged(sets: Sets) -> tuple[int, int, int, int]:
        copied = sum(weight * len(set(new) - old) for new, old, weight in zip(sets, held, each, strict=True))
        replicas = sum(len(set(new) - old) for new, old in zip(sets, held, strict=True))
        return squares(broker for new in sets for broker in new), copied, replicas, topic_squares(state, sets)

    _, copied, _, topics = min(map(judged, placements(state, request)))
    return copied, topics


def topic_squares(state: ClusterState, sets: Iterable[Iterable[int]]) -> int:
    """How uneven the replicas of topics are."""
    return squares((topic, broker) for topic, new in zip(state.topic.tolist(), sets, strict=True) for broker in new)


def least_changes(state: ClusterState, per_topic: bool = False) -> int:
    """The fewest changes of preferred leaders for the evenest leaders that the replicas admit."""
    held = [[broker for broker in row if broker != NO_BROKER] for row in state.replicas.tolist()]
    topics = state.topic.tolist()

    def judged(leaders: tuple[int, ...]) -> tuple[int, int, int]:
        in_topics = squares(zip(topics, leaders, strict=True)) if per_topic else 0
        return in_topics, squares(leaders), sum(new != old[0] for new, old in zip(leaders, held, strict=True))

    return min(map(judged, product(*held)))[2]


def evenest_failover(rows: list[list[int]]) -> tuple[int, int]:
    """How uneven leaders are at best over all losses of a broker, and in how few partitions the order changes."""
    leaders = Counter(row[0] for row in rows)

    def judged(heirs: tuple[int, ...]) -> tuple[int, int]:
        total = 0
        for lost in leaders:
            after = Counter(leaders)
            del after[lost]
            after.update(heir for row, heir in zip(rows, heirs, strict=True) if row[0] == lost)
            total += sum(count**2 for count in after.values())
        return total, sum(heir != row[1] for row, heir in zip(rows, heirs, strict=True))

    return min(map(judged, product(*(row[1:] for row in rows))))
