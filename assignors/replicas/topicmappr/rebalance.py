"""topicmappr's rebalance: one large partition at a time goes from a broker that is short of storage to the freest one.

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
    """What is there before anything moves, and what may move. Brokers and partitions are rows of the state.

    Attributes:
        replicas: by partition.
        sizes: by partition, in bytes.
        by_size: the partitions, the largest first.
        members: the brokers that hold or may hold something, by id.
        rack: by broker; NO_RACK where racks do not matter.
        partition_limit: how many of a broker's partitions are looked at.
        min_partition_bytes: the least size that is moved.
        within_rack: whether moves stay within a rack.
    """

    replicas: ReplicaLists
    sizes: Sequence[int]
    by_size: Sequence[int]
    members: Sequence[int]
    rack: Sequence[int]
    partition_limit: int
    min_partition_bytes: int
    within_rack: bool


@dataclass(slots=True)
class Relocation:
    """Moves that were found with one tolerance.

    Attributes:
        free: by broker, the bytes that are free afterwards.
        tolerance: how far from the mean a move might bring a broker.
        moves: by partition, who takes over from whom.
    """

    free: list[int]
    tolerance: float
    moves: dict[int, dict[int, int]] = field(default_factory=dict)

    def spread(self, members: Sequence[int]) -> tuple[int, float]:
        """Range and standard deviation of free bytes, in bytes; the tool counts the range's upper end from 0."""
        free = [self.free[broker] for broker in members]
        return max(0, *free) - min(free), pstdev(free)

    def applied(self, replicas: ReplicaLists) -> ReplicaLists:
        """The replicas after the moves."""
        return [[self.moves.get(row, {}).get(who, who) for who in lists] for row, lists in enumerate(replicas)]


def short_of_storage(rules: RelocationRules, free: Sequence[int], threshold: float, threshold_bytes: int) -> list[int]:
    """The brokers to relieve, that which has least free first.

    Args:
        rules: the cluster.
        free: by broker, the bytes that are free.
        threshold: how far below the harmonic mean of what is free a broker is that is short; 0 for all that hold
            something.
        threshold_bytes: how little a broker has free that is short, among those that hold something; 0 to go by
            `threshold`.
    """
    holders = {broker for replicas in rules.replicas for broker in replicas}
    if threshold_bytes > 0:
        short = [broker for broker in rules.members if broker in holders and free[broker] < threshold_bytes]
    elif threshold > 0:
        positive = [free[broker] for broker in rules.members if free[broker] > 0]
        mean = len(positive) / sum(1 / bytes_free for bytes_free in positive) if positive else 0.0
        short = [broker for broker in rules.members if positive and (mean - free[broker]) / mean > threshold]
    else:
        short = [broker for broker in rules.members if broker in holders]
    return sorted(short, key=lambda broker: free[broker])


def relocate(rules: RelocationRules, free: Sequence[int], short: Sequence[int], tolerance: float) -> Relocation:
    """Relieve brokers; of all tolerances the one that leaves the least range, then deviation, of free bytes.

    Args:
        rules: the cluster.
        free: by broker, the bytes that are free.
        short: the brokers to relieve, in turn.
        tolerance: how far from the mean of what is free a move may bring a broker; 0 to try what the tool tries.
    """
    found = (_relocated(rules, free, short, tried) for tried in ([tolerance] if tolerance else _tolerances()))
    return min(found, key=lambda relocation: relocation.spread(rules.members))


def _tolerances() -> list[float]:
    """0.01, 0.02 and so on, summed up as the tool does it, rounding errors included."""
    tried = [0.01]
    while tried[-1] + 0.01 < 0.99:
        tried.append(tried[-1] + 0.01)
    return tried


def _relocated(rules: RelocationRules, free: Sequence[int], short: Sequence[int], tolerance: float) -> Relocation:
    relocation = Relocation(list(free), tolerance)
    held = {source: [row for row in rules.by_size if source in rules.replicas[row]] for source in short}
    # The tool adds up those that found nothing over all rounds, so it may stop while others still could move.
    fruitless = 0
    while fruitless < len(short):
        for source in short:
            row = _move_one(rules, relocation, source, held[source], set(short))
            if row is None:
                fruitless += 1
            else:
                held[source].remove(row)
    return relocation


def _move_one(
    rules: RelocationRules, relocation: Relocation, source: int, held: Sequence[int], short: Collection[int]
) -> int | None:
    free = relocation.free
    positive = [free[broker] for broker in rules.members if free[broker] > 0]
    if not positive:
        return None
    mean = sum(positive) / len(positive)
    ranked = sorted(rules.members, key=lambda broker: -free[broker])
    for row in held[: rules.partition_limit]:
        size = rules.sizes[row]
        if size < rules.min_partition_bytes:
            return None
        planned = relocation.moves.get(row, {})
        others = {*rules.replicas[row], *planned.values()} - {source}
        freest = _freest(rules, source, others, [broker for broker in ranked if broker not in short], free)
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
    rules: RelocationRules, source: int, others: Collection[int], ranked: Sequence[int], free: Sequence[int]
) -> int | None:
    racks = {rules.rack[broker] for broker in others} - {NO_RACK}
    for broker in ranked:
        if broker in others:
            continue
        if rules.within_rack and rules.rack[broker] == rules.rack[source]:
            return broker
        if not rules.within_rack and rules.rack[broker] not in racks and free[broker] >= 0:
            return broker
    return None
