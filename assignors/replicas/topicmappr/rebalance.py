"""topicmappr's rebalance: one large partition at a time moves from a broker short of storage to the one with most free.

Source: DataDog/kafka-kit, `cmd/topicmappr/commands`: `reassignments.go` (`computeReassignmentBundles`,
`determineOffloadTargets`), `planner.go` (`planRelocationsForBroker`); `mapper/stats.go`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from statistics import pstdev

from assignors.model.columns import NO_RACK
from assignors.replicas.topicmappr.rebuild import ReplicaLists


@dataclass(frozen=True, slots=True)
class RelocationRules:
    """The initial placement, and the limits of moves. Brokers and partitions are rows of the state.

    Attributes:
        replicas: by partition.
        sizes: by partition, in bytes.
        by_size: the partitions, the largest first.
        brokers: the brokers that may hold replicas, by id.
        rack: by broker; NO_RACK if racks are ignored.
        partition_limit: the number of a broker's partitions to try.
        min_partition_bytes: the minimum size of a moved partition.
        within_rack: whether moves stay within a rack.
    """

    replicas: ReplicaLists
    sizes: Sequence[int]
    by_size: Sequence[int]
    brokers: Sequence[int]
    rack: Sequence[int]
    partition_limit: int
    min_partition_bytes: int
    within_rack: bool


@dataclass(slots=True)
class Relocation:
    """The moves found with one tolerance.

    Attributes:
        free: by broker, the free bytes after the moves.
        tolerance: the maximum deviation from the mean after a move.
        moves: by partition, the new broker by old broker.
    """

    free: list[int]
    tolerance: float
    moves: dict[int, dict[int, int]] = field(default_factory=dict)

    def free_bytes_spread(self, brokers: Sequence[int]) -> tuple[int, float]:
        """Return range and standard deviation of free bytes; like the tool, with a maximum of at least 0."""
        free = [self.free[broker] for broker in brokers]
        return max(0, *free) - min(free), pstdev(free)

    def apply_to(self, replicas: ReplicaLists) -> ReplicaLists:
        """Return the replicas after the moves."""
        return [
            [self.moves.get(row, {}).get(broker, broker) for broker in brokers] for row, brokers in enumerate(replicas)
        ]


def find_short_brokers(
    rules: RelocationRules, free: Sequence[int], threshold: float, threshold_bytes: int
) -> list[int]:
    """Return the brokers to relieve, the one with fewest free bytes first.

    `threshold`: the minimum deviation below the harmonic mean of free bytes; 0 for all brokers with replicas.
    `threshold_bytes`: the limit of free bytes for brokers with replicas; 0 to use `threshold`. Returns rows of brokers.
    """
    holders = {broker for replicas in rules.replicas for broker in replicas}
    if threshold_bytes > 0:
        brokers_to_relieve = [
            broker for broker in rules.brokers if broker in holders and free[broker] < threshold_bytes
        ]
    elif threshold > 0:
        positive = [free[broker] for broker in rules.brokers if free[broker] > 0]
        mean = len(positive) / sum(1 / bytes_free for bytes_free in positive) if positive else 0.0
        brokers_to_relieve = [
            broker for broker in rules.brokers if positive and (mean - free[broker]) / mean > threshold
        ]
    else:
        brokers_to_relieve = [broker for broker in rules.brokers if broker in holders]
    return sorted(brokers_to_relieve, key=lambda broker: free[broker])


def relocate(
    rules: RelocationRules, free: Sequence[int], brokers_to_relieve: Sequence[int], tolerance: float
) -> Relocation:
    """Relieve brokers; return the relocation with the lowest range, then deviation, of free bytes over all tolerances.

    `tolerance`: the maximum deviation from the mean after a move; 0 to try all tolerances of the tool. Returns the best
    relocation.
    """
    relocations = (
        _relocate_with(rules, free, brokers_to_relieve, candidate)
        for candidate in ([tolerance] if tolerance else _tolerances())
    )
    return min(relocations, key=lambda relocation: relocation.free_bytes_spread(rules.brokers))


def _tolerances() -> list[float]:
    """Return 0.01, 0.02 and so on, summed like the tool, including rounding errors."""
    tolerances = [0.01]
    while tolerances[-1] + 0.01 < 0.99:
        tolerances.append(tolerances[-1] + 0.01)
    return tolerances


def _relocate_with(
    rules: RelocationRules, free: Sequence[int], brokers_to_relieve: Sequence[int], tolerance: float
) -> Relocation:
    relocation = Relocation(list(free), tolerance)
    partitions = {
        source: [row for row in rules.by_size if source in rules.replicas[row]] for source in brokers_to_relieve
    }
    # The tool counts failed brokers over all rounds, so it may stop although other brokers could still move replicas.
    num_failed = 0
    while num_failed < len(brokers_to_relieve):
        for source in brokers_to_relieve:
            row = _move_one(rules, relocation, source, partitions[source], set(brokers_to_relieve))
            if row is None:
                num_failed += 1
            else:
                partitions[source].remove(row)
    return relocation


def _move_one(
    rules: RelocationRules,
    relocation: Relocation,
    source: int,
    partitions: Sequence[int],
    brokers_to_relieve: Collection[int],
) -> int | None:
    free = relocation.free
    positive = [free[broker] for broker in rules.brokers if free[broker] > 0]
    if not positive:
        return None
    mean = sum(positive) / len(positive)
    ranked = sorted(rules.brokers, key=lambda broker: -free[broker])
    for row in partitions[: rules.partition_limit]:
        size = rules.sizes[row]
        if size < rules.min_partition_bytes:
            return None
        planned = relocation.moves.get(row, {})
        excluded = {*rules.replicas[row], *planned.values()} - {source}
        freest = _freest(
            rules, source, excluded, [broker for broker in ranked if broker not in brokers_to_relieve], free
        )
        if freest is None or free[source] + size > mean * (1 + relocation.tolerance):
            continue
        if free[freest] - size < mean * (1 - relocation.tolerance):
            continue
        free[source] += size
        free[freest] -= size
        relocation.moves[row] = {**planned, source: freest}
        return row
    return None


def _freest(
    rules: RelocationRules, source: int, excluded: Collection[int], ranked: Sequence[int], free: Sequence[int]
) -> int | None:
    racks = {rules.rack[broker] for broker in excluded} - {NO_RACK}
    for broker in ranked:
        if broker in excluded:
            continue
        if rules.within_rack and rules.rack[broker] == rules.rack[source]:
            return broker
        if not rules.within_rack and rules.rack[broker] not in racks and free[broker] >= 0:
            return broker
    return None
