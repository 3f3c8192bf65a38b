"""topicmappr's rebuild: allowed replicas stay, and every gap goes to the first broker by rank.

Source: DataDog/kafka-kit, `mapper`: `partitions.go` (`placeByPosition`, `placeByPartition`), `constraints.go`
(`SelectBroker`, `passesWithParams`), `brokers.go` (`SortPseudoShuffle`, `SortByStorage`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from itertools import groupby

from assignors.model.columns import NO_RACK
from assignors.replicas.plan import Plan, PlanRequest, PlanStatus
from assignors.replicas.replica_lists import replica_lists
from assignors.replicas.state import NO_BROKER, ClusterState
from assignors.replicas.topicmappr.go_random import GoRandom

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
