"""Exhaustive search over all placements, for clusters with a handful of partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations, product

from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState

Sets = tuple[tuple[int, ...], ...]


def placements(state: ClusterState, request: PlanRequest) -> Iterator[Sets]:
    """Yield every placement that meets all rules."""
    allowed = [row for row, is_allowed in enumerate(request.is_allowed(state)) if is_allowed]
    most = request.rack_limits(state)
    choices = []
    for row, factor in enumerate(request.factors(state)):
        sets = combinations(allowed, int(factor))
        choices.append(
            [
                brokers_of
                for brokers_of in sets
                if not request.is_rack_aware(state) or max_per_rack(state, brokers_of) <= most[row]
            ]
        )
    yield from product(*choices)


def max_per_rack(state: ClusterState, brokers: tuple[int, ...]) -> int:
    return max(Counter(state.rack[list(brokers)].tolist()).values())


def sum_of_squares(brokers: Iterable[Hashable]) -> int:
    """Return the sum of squared counts of brokers, or of topics on brokers."""
    return sum(count**2 for count in Counter(brokers).values())


def min_moves(state: ClusterState, request: PlanRequest, weights: list[int] | None = None) -> tuple[int, int]:
    """Return the fewest copies for the most even counts, and the lowest unevenness of topics at that."""
    held = [{broker for broker in row if broker != NO_BROKER} for row in state.replicas.tolist()]
    move_weights = weights or [1] * state.num_partitions

    def objective(sets: Sets) -> tuple[int, int, int, int]:
        copied = sum(weight * len(set(new) - old) for new, old, weight in zip(sets, held, move_weights, strict=True))
        replicas = sum(len(set(new) - old) for new, old in zip(sets, held, strict=True))
        return sum_of_squares(broker for new in sets for broker in new), copied, replicas, topic_squares(state, sets)

    _, copied, _, topics = min(map(objective, placements(state, request)))
    return copied, topics


def topic_squares(state: ClusterState, sets: Iterable[Iterable[int]]) -> int:
    """Return the unevenness of replicas per topic."""
    return sum_of_squares(
        (topic, broker) for topic, new in zip(state.topic.tolist(), sets, strict=True) for broker in new
    )


def min_changes(state: ClusterState, per_topic: bool = False) -> int:
    """Return the fewest changes of preferred leaders for the most even leaders that the replicas allow."""
    held = [[broker for broker in row if broker != NO_BROKER] for row in state.replicas.tolist()]
    topics = state.topic.tolist()

    def objective(leaders: tuple[int, ...]) -> tuple[int, int, int]:
        in_topics = sum_of_squares(zip(topics, leaders, strict=True)) if per_topic else 0
        return in_topics, sum_of_squares(leaders), sum(new != old[0] for new, old in zip(leaders, held, strict=True))

    return min(map(objective, product(*held)))[2]


def min_failover_unevenness(rows: list[list[int]]) -> tuple[int, int]:
    """Return the lowest unevenness of leaders over all failures of a broker, and the fewest changes of order for it."""
    leaders = Counter(row[0] for row in rows)

    def objective(heirs: tuple[int, ...]) -> tuple[int, int]:
        total = 0
        for lost in leaders:
            after = Counter(leaders)
            del after[lost]
            after.update(heir for row, heir in zip(rows, heirs, strict=True) if row[0] == lost)
            total += sum(count**2 for count in after.values())
        return total, sum(heir != row[1] for row, heir in zip(rows, heirs, strict=True))

    return min(map(objective, product(*(row[1:] for row in rows))))
