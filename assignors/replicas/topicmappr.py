"""topicmappr: rebuild by replica count or free storage, and rebalance by free storage.

Rebuild: allowed replicas stay, and every gap goes to the first broker by rank. Rebalance: one large partition at a time
moves from a broker short of storage to the one with most free.

Source: DataDog/kafka-kit, `mapper`: `partitions.go` (`placeByPosition`, `placeByPartition`, `OptimizeLeaderFollower`,
`replicasByLeaderFollowerRatio`), `constraints.go` (`SelectBroker`, `passesWithParams`), `brokers.go`
(`SortPseudoShuffle`, `SortByStorage`), `stats.go`; `cmd/topicmappr/commands`: `reassignments.go`
(`computeReassignmentBundles`, `determineOffloadTargets`), `planner.go` (`planRelocationsForBroker`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import pstdev
from typing import ClassVar, Literal

import numpy as np

from assignors.model.columns import NO_RACK, IntArray
from assignors.replicas.go_random import GoRandom
from assignors.replicas.normalized_problem import CanonicalState
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import (
    NO_BROKER,
    ClusterState,
    bytes_per_broker,
    capacity_per_broker,
    count_replicas,
    fixed_bytes_per_broker,
    replica_lists,
    replica_table,
)

ReplicaLists = list[list[int]]
"""Rows of brokers for each row of the state, the preferred leader first; NO_BROKER is a gap."""


class NoBrokerError(Exception):
    """No broker may take this position of a partition."""

    def __init__(self, row: int, position: int) -> None:
        super().__init__(row, position)
        self.row = row
        self.position = position

    def as_plan(self, state: ClusterState, constraint: str) -> Plan:
        """Return the failed plan; the constraint says why a broker is excluded."""
        reason = f"{state.name(self.row)}: no broker for replica {self.position + 1}: every broker {constraint}"
        return Plan.without_replicas(PlanStatus.FAILED, reason)


class BrokerCandidates:
    """The brokers that may receive replicas, and their scores.

    Brokers rank by score, the lowest first, then by row; a broker that receives a replica adds its cost to its score.
    By count, the score is the number of replicas, and brokers with the same score are shuffled for every choice. By
    storage, the score is the negated number of free bytes, and no broker takes more than that. `request`: the brokers
    that may keep replicas; all others are replaced. `min_rack_ids`: 0 if all replicas of a partition must be in
    different racks; otherwise the number of racks from which on they may share racks. `by_storage` says whether to rank
    by storage.
    """

    def __init__(
        self, state: ClusterState, request: PlanRequest, score: Sequence[float], min_rack_ids: int, *, by_storage: bool
    ) -> None:
        self._is_allowed = [*request.is_allowed(state).tolist(), False]
        self._rack = state.rack.tolist() if request.rack_aware else [NO_RACK] * len(state.brokers)
        self._ranked = sorted((score[row], row) for row in range(len(state.brokers)) if self._is_allowed[row])
        self._score = list(score)
        self._min_rack_ids = min_rack_ids
        self._by_storage = by_storage

    def fill(self, old: Sequence[int], new: Sequence[int], cost: float, seed: int) -> int | None:
        """Choose the broker of the next position of a partition; an allowed current broker stays.

        `old`: the current brokers by position; replaced brokers count neither as holders nor for racks. `new`: the new
        brokers of earlier positions. `cost`: the cost added to the score of a new broker. Returns the row of the
        broker; None if no broker may take the position.
        """
        current = old[len(new)]
        if self._is_allowed[current]:
            return current
        kept_brokers = {broker for broker in (*old, *new) if self._is_allowed[broker]}
        racks = {self._rack[broker] for broker in kept_brokers} - {NO_RACK}
        may_share_rack = 0 < self._min_rack_ids <= len(racks)
        for score, broker in self._by_rank(seed):
            if broker in kept_brokers:
                continue
            has_storage = not self._by_storage or score + cost <= 0
            # The tool does not check the storage of a broker whose rack already holds a replica.
            if may_share_rack if self._rack[broker] in racks else has_storage:
                self._charge(broker, cost)
                return broker
        return None

    def _by_rank(self, seed: int) -> Iterator[tuple[float, int]]:
        if self._by_storage or len(self._ranked) <= 2:
            yield from self._ranked
            return
        random = GoRandom(seed)
        for _, same_score in groupby(self._ranked, key=lambda ranked: ranked[0]):
            brokers = list(same_score)
            random.shuffle(brokers)
            yield from brokers

    def _charge(self, broker: int, cost: float) -> None:
        del self._ranked[bisect_left(self._ranked, (self._score[broker], broker))]
        self._score[broker] += cost
        insort(self._ranked, (self._score[broker], broker))


def place_by_position(
    candidates: BrokerCandidates, old: ReplicaLists, order: Sequence[int], costs: Sequence[float]
) -> ReplicaLists:
    """Fill the first position of all partitions, then the second, and so on.

    `candidates`: the brokers that may receive replicas; `old`: the current replicas and the gaps; `order`: the rows in
    the order in which they are filled; `costs`: by row, the cost of a replica. Returns the new replicas. Raises
    NoBrokerError if no broker may take a position.
    """
    new: ReplicaLists = [[] for _ in old]
    for position in range(max(map(len, old), default=0)):
        for n, row in enumerate(order):
            if position < len(old[row]):
                _fill(candidates, old[row], new[row], costs[row], seed=position * n + 1, row=row)
    return new


def place_by_partition(
    candidates: BrokerCandidates, old: ReplicaLists, order: Sequence[int], costs: Sequence[float]
) -> ReplicaLists:
    """Fill all positions of a partition, then those of the next; arguments and errors as in `place_by_position`."""
    new: ReplicaLists = [[] for _ in old]
    for row in order:
        for _ in old[row]:
            _fill(candidates, old[row], new[row], costs[row], seed=1, row=row)
    return new


def _fill(candidates: BrokerCandidates, old: list[int], new: list[int], cost: float, *, seed: int, row: int) -> None:
    broker = candidates.fill(old, new, cost, seed)
    if broker is None:
        raise NoBrokerError(row, len(new))
    new.append(broker)


def replica_slots(state: ClusterState, request: PlanRequest, *, is_stripped: bool) -> ReplicaLists:
    """Return the current replicas, truncated or padded with gaps to the requested factor; only gaps if stripped."""
    factors = request.factors(state).tolist()
    if is_stripped:
        return [[NO_BROKER] * factor for factor in factors]
    held = replica_lists(state)
    return [[*row[:factor], *[NO_BROKER] * (factor - len(row))] for row, factor in zip(held, factors, strict=True)]


def order_by_ratio(replicas: ReplicaLists, num_brokers: int) -> None:
    """Sort every list by the brokers' ratio of leaders to followers, in place.

    The lists are sorted in as many passes as the first list has entries, each list by the ratios at that moment. A
    broker that follows no partition comes last. The ratio is not the number of leaders: if brokers hold different
    numbers of replicas, leaders may become less even. `replicas`: one list per partition, by topic and number.
    """
    num_leaders, num_followers = [0] * num_brokers, [0] * num_brokers
    for row in replicas:
        _count(row, num_leaders, num_followers, 1)

    def ratio(broker: int) -> tuple[bool, float]:
        if num_followers[broker]:
            return False, num_leaders[broker] / num_followers[broker]
        return True, num_leaders[broker]

    for _ in range(len(replicas[0]) if replicas else 0):
        for row in replicas:
            reordered = sorted(row, key=ratio)
            _count(row, num_leaders, num_followers, -1)
            _count(reordered, num_leaders, num_followers, 1)
            row[:] = reordered


def _count(brokers: Sequence[int], num_leaders: list[int], num_followers: list[int], step: int) -> None:
    num_leaders[brokers[0]] += step
    for broker in brokers[1:]:
        num_followers[broker] += step


@dataclass(frozen=True, slots=True)
class RelocationRules:
    """The initial placement, and the limits of moves. Brokers and partitions are rows of the state.

    Attributes:
        replicas: by partition.
        by_size: the partitions, the largest first.
        brokers: the brokers that may hold replicas, by id.
        rack: by broker; NO_RACK if racks are ignored.
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


@dataclass(frozen=True)
class TopicmapprCount:
    """Replace replicas that must move, by replica count.

    Guarantees: The plan of the tool, including its shuffles, if the tool finds one. Two of its defects are fixed:
    partitions with different replication factors lose no replicas, and a position that no broker may take fails the
    plan instead of being left out. Replicas on remaining brokers stay unless `force_rebuild` is set, so new brokers
    alone change nothing.
    Priority: No broker twice, then racks, then kept replicas, then count, then a shuffle with a fixed seed.
    Complexity: O(P RF (B + shuffling brokers with equal counts)).
    Source: DataDog/kafka-kit: `topicmappr rebuild --placement count`; `mapper/partitions.go` (`placeByPosition`).

    Attributes:
        force_rebuild: whether to place all replicas anew, as if brokers were empty.
        min_rack_ids: 0 if all replicas of a partition must be in different racks; otherwise the number of racks from
            which on they may share racks, which may exceed rack limits.
        optimize_leadership: whether to sort the lists by the brokers' ratio of leaders to followers afterwards.
    """

    force_rebuild: bool = False
    min_rack_ids: int = 0
    optimize_leadership: bool = False

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
        is_order_independent=True,
    )

    def __post_init__(self) -> None:
        if self.min_rack_ids < 0:
            raise ValueError(f"min_rack_ids {self.min_rack_ids} is less than 0")
        capabilities = replace(
            self.capabilities,
            is_rack_aware=self.min_rack_ids == 0,
            balances_leaders=self.optimize_leadership,
            is_idempotent=not self.optimize_leadership,
        )
        object.__setattr__(self, "capabilities", capabilities)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Fill the gaps position by position: all leaders, then all first followers, and so on."""
        canonical = CanonicalState.of(state)
        count = len(state.brokers)
        used = [0] * count if self.force_rebuild else count_replicas(canonical.state.replicas, count).tolist()
        candidates = BrokerCandidates(canonical.state, request, used, self.min_rack_ids, by_storage=False)
        old = replica_slots(canonical.state, request, is_stripped=self.force_rebuild)
        rows = range(state.num_partitions)
        try:
            new = place_by_position(candidates, old, rows, costs=[1] * len(rows))
        except NoBrokerError as error:
            return error.as_plan(canonical.state, "already holds one, or its rack does")
        if self.optimize_leadership:
            order_by_ratio(new, count)
        return Plan(PlanStatus.FEASIBLE, canonical.to_input_order(replica_table(new)))


_REBUILD = Capabilities(
    balances_bytes=True,
    is_rack_aware=True,
    raises_replication_factor=True,
    lowers_replication_factor=True,
    decommissions_brokers=True,
    is_idempotent=True,
    is_order_independent=True,
    needs_sizes=True,
    needs_capacities=True,
)


@dataclass(frozen=True)
class TopicmapprStorage:
    """Replace or move replicas by free bytes.

    Free bytes are the capacity of a broker minus the replicas in the state: excluded topics are unknown. To scale out,
    use rebalance with a `storage_threshold` of 0: every broker with replicas then gives some away.

    Guarantees: The plan of the tool. Its random choices are fixed: partitions with the same size and number are sorted
    by topic, and equally good rebalances by tolerance. Rebuild keeps the replicas on remaining brokers unless
    `force_rebuild` is set, and gives no broker more than its free bytes, except for a defect of the tool: a broker that
    `min_rack_ids` admits to a rack in use is not checked for storage. Three other defects are fixed: partitions with
    different replication factors lose no replicas, a position that no broker may take fails the plan instead of being
    left out, and a move within a rack goes neither to a broker that holds the partition nor to the tool's stub of a
    missing broker. Rebalance does not decommission brokers.
    Priority: No broker twice, then racks, then storage. Among rebalances, the lowest range of free bytes, then the
    deviation.
    Complexity: Rebuild O(P RF B); rebalance O(98 moves (B log B + partitions tried * B)).
    Source: DataDog/kafka-kit: `topicmappr rebuild --placement storage`, `topicmappr rebalance`, `topicmappr scale`;
    `mapper/partitions.go`, `cmd/topicmappr/commands/{reassignments,planner}.go`.

    Attributes:
        mode: rebuild replaces brokers that leave; rebalance moves replicas between remaining brokers.
        optimize_leadership: whether to sort the lists by the brokers' ratio of leaders to followers afterwards.
        optimize: the order of rebuild: by position for even leaders (distribution), or by partition with shuffled
            lists, including unchanged ones (storage).
        force_rebuild: whether to place all replicas anew.
        size_factor: the factor for the size of a newly placed partition.
        min_rack_ids: 0 if all replicas of a partition must be in different racks; otherwise the number of racks from
            which on they may share racks, which may exceed rack limits. Rebuild only.
        storage_threshold: rebalance relieves brokers this far below the harmonic mean of free bytes; 0 for all brokers
            with replicas.
        storage_threshold_bytes: the same in free bytes, if it is not 0.
        tolerance: the maximum deviation from the mean after a move; 0 to try 0.01, 0.02, … 0.98.
        partition_limit: the number of a broker's partitions to try, the largest first.
        min_partition_bytes: the minimum size of a moved partition.
        locality_scoped: whether moves stay within a rack.
    """

    mode: Literal["rebuild", "rebalance"] = "rebuild"
    optimize_leadership: bool = False
    optimize: Literal["distribution", "storage"] = "distribution"
    force_rebuild: bool = False
    size_factor: float = 1.0
    min_rack_ids: int = 0
    storage_threshold: float = 0.2
    storage_threshold_bytes: int = 0
    tolerance: float = 0.0
    partition_limit: int = 30
    min_partition_bytes: int = 512 * 2**20
    locality_scoped: bool = False

    capabilities: ClassVar[Capabilities] = _REBUILD

    def __post_init__(self) -> None:
        if self.mode not in ("rebuild", "rebalance"):
            raise ValueError(f"mode '{self.mode}' is neither rebuild nor rebalance")
        if self.optimize not in ("distribution", "storage"):
            raise ValueError(f"optimize '{self.optimize}' is neither distribution nor storage")
        for name in ("size_factor", "min_rack_ids", "storage_threshold", "storage_threshold_bytes", "tolerance"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} {getattr(self, name)} is less than 0")
        object.__setattr__(self, "capabilities", self._own_capabilities())

    def _own_capabilities(self) -> Capabilities:
        capabilities = replace(_REBUILD, balances_leaders=self.optimize_leadership)
        if self.mode == "rebalance":
            return replace(
                capabilities,
                raises_replication_factor=False,
                lowers_replication_factor=False,
                decommissions_brokers=False,
                is_idempotent=False,
            )
        keeps_order = self.optimize == "distribution" and not self.optimize_leadership
        return replace(
            capabilities, is_rack_aware=self.min_rack_ids == 0, is_idempotent=keeps_order and not self.force_rebuild
        )

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Rebuild or rebalance."""
        canonical = CanonicalState.of(state)
        sizes = canonical.state.size_bytes
        if sizes is None:
            return Plan.without_replicas(PlanStatus.NOT_APPLICABLE, "requires partition sizes")
        rebuild_or_rebalance = self._rebalance if self.mode == "rebalance" else self._rebuild
        try:
            plan, replicas = rebuild_or_rebalance(canonical.state, request, sizes)
        except NoBrokerError as error:
            needed = round(sizes[error.row] * self.size_factor)
            return error.as_plan(
                canonical.state, f"already holds one, has less than {needed} bytes free, or its rack holds one"
            )
        if self.optimize_leadership:
            order_by_ratio(replicas, len(state.brokers))
        return replace(plan, replicas=canonical.to_input_order(replica_table(replicas)))

    def _rebuild(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> tuple[Plan, ReplicaLists]:
        order = _by_size(state, sizes)
        candidates = BrokerCandidates(
            state, request, self._initial_scores(state, request, sizes), self.min_rack_ids, by_storage=True
        )
        old = replica_slots(state, request, is_stripped=self.force_rebuild)
        place = place_by_position if self.optimize == "distribution" else place_by_partition
        replicas = place(candidates, old, order, costs=(sizes * self.size_factor).tolist())
        if self.optimize == "storage":
            for n, row in enumerate(order):
                GoRandom(n << 20).shuffle(replicas[row])
        return Plan(PlanStatus.FEASIBLE), replicas

    def _initial_scores(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> list[int]:
        """Return the negated free bytes of each broker before any placement."""
        scores = (
            bytes_per_broker(state.replicas, sizes, len(state.brokers))
            + fixed_bytes_per_broker(state)
            - capacity_per_broker(state)
        )
        if self.force_rebuild:
            movable = replica_table(replica_slots(state, request, is_stripped=False))
            scores -= bytes_per_broker(movable, sizes, len(state.brokers))
        as_list: list[int] = scores.tolist()
        return as_list

    def _rebalance(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> tuple[Plan, ReplicaLists]:
        rules = self._rules(state, request, sizes)
        used = bytes_per_broker(state.replicas, sizes, len(state.brokers)) + fixed_bytes_per_broker(state)
        free = (capacity_per_broker(state) - used).tolist()
        brokers_to_relieve = find_short_brokers(rules, free, self.storage_threshold, self.storage_threshold_bytes)
        relocation = relocate(rules, free, brokers_to_relieve, self.tolerance)
        plan = Plan(
            PlanStatus.FEASIBLE,
            objective="range of free bytes",
            value=relocation.free_bytes_spread(rules.brokers)[0],
            notes=(f"tolerance {relocation.tolerance:.2f}",)
            if brokers_to_relieve
            else ("no broker is short of storage",),
        )
        return plan, relocation.apply_to(rules.replicas)

    def _rules(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> RelocationRules:
        is_rack_aware = request.rack_aware or self.locality_scoped
        return RelocationRules(
            replicas=replica_lists(state),
            sizes=sizes.tolist(),
            by_size=_by_size(state, sizes),
            brokers=np.flatnonzero(request.is_allowed(state)).tolist(),
            rack=state.rack.tolist() if is_rack_aware else [NO_RACK] * len(state.brokers),
            partition_limit=self.partition_limit,
            min_partition_bytes=self.min_partition_bytes,
            within_rack=self.locality_scoped,
        )


def _by_size(state: ClusterState, sizes: IntArray) -> list[int]:
    """Return the rows of partitions, the largest first; then by number, then by topic."""
    order: list[int] = np.lexsort((state.topic, state.partition, -sizes)).tolist()
    return order
