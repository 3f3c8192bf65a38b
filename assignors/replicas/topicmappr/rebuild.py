"""How topicmappr's rebuild fills places: whoever may stay stays, and every gap goes to the broker that ranks first.

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
"""Rows of brokers for each row of the state, the preferred leader first; NOBODY is a gap."""


class NoBrokerError(Exception):
    """No broker may take this place of a partition."""

    def __init__(self, row: int, place: int) -> None:
        super().__init__(row, place)
        self.row = row
        self.place = place

    def as_plan(self, state: ClusterState, constraint: str) -> Plan:
        """What a strategy answers that came to this."""
        reason = f"{state.name(self.row)}: no broker is left for replica {self.place + 1} that {constraint}"
        return Plan.without_replicas(PlanStatus.FAILED, reason)


class BrokerCandidates:
    """The brokers that may receive replicas, and what they have taken so far.

    They rank by score, the lowest first, then by row; every replica that one takes adds its cost to its score. By
    count, the score is how many replicas they hold, and brokers of one score are shuffled for every choice. By storage,
    it is the bytes that are free, negated, and nobody takes more than that.

    Args:
        state: the cluster, with brokers by id.
        request: names who stays; everybody else is replaced.
        score: what each broker of the state starts with.
        min_rack_ids: 0 if all replicas of a partition must be in different racks; otherwise the number of racks from
            which on they need not.
        by_storage: whether they rank by storage.
    """

    def __init__(
        self, state: ClusterState, request: PlanRequest, score: Sequence[float], min_rack_ids: int, *, by_storage: bool
    ) -> None:
        self._stays = [*request.is_allowed(state).tolist(), False]
        self._rack = state.rack.tolist() if request.rack_aware else [NO_RACK] * len(state.brokers)
        self._ranked = sorted((score[row], row) for row in range(len(state.brokers)) if self._stays[row])
        self._score = list(score)
        self._min_rack_ids = min_rack_ids
        self._by_storage = by_storage

    def fill(self, old: Sequence[int], new: Sequence[int], cost: float, seed: int) -> int | None:
        """Choose who has the next place of a partition, by row: who has it now if it stays; None if nobody may.

        Args:
            old: who had which place; those that are replaced count neither as holders nor as racks.
            new: who will, as far as that is settled.
            cost: what is added to the score of a broker that takes it anew.
            seed: for the shuffling.
        """
        present = old[len(new)]
        if self._stays[present]:
            return present
        holders = {broker for broker in (*old, *new) if self._stays[broker]}
        racks = {self._rack[broker] for broker in holders} - {NO_RACK}
        is_spread = 0 < self._min_rack_ids <= len(racks)
        for score, broker in self._in_turn(seed):
            if broker in holders:
                continue
            has_room = not self._by_storage or score + cost <= 0
            # The tool lets a broker whose rack is there already in without a look at its storage.
            if is_spread if self._rack[broker] in racks else has_room:
                self._charge(broker, cost)
                return broker
        return None

    def _in_turn(self, seed: int) -> Iterator[tuple[float, int]]:
        if self._by_storage or len(self._ranked) <= 2:
            yield from self._ranked
            return
        random = GoRandom(seed)
        for _, run in groupby(self._ranked, key=lambda ranked: ranked[0]):
            brokers = list(run)
            random.shuffle(brokers)
            yield from brokers

    def _charge(self, broker: int, cost: float) -> None:
        del self._ranked[bisect_left(self._ranked, (self._score[broker], broker))]
        self._score[broker] += cost
        insort(self._ranked, (self._score[broker], broker))


def place_by_position(
    candidates: BrokerCandidates, old: ReplicaLists, order: Sequence[int], costs: Sequence[float]
) -> ReplicaLists:
    """Fill all first places, then all second ones, and so on.

    Args:
        candidates: who may receive replicas.
        old: where they are, and the gaps.
        order: the rows in the order in which they are served.
        costs: by row, what a replica costs the broker that takes it.

    Raises:
        NoBrokerError: a place that nobody may take.
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
    """Fill all places of a partition, then those of the next; arguments and errors as in `place_by_position`."""
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
    """Where replicas are, cut or filled up with gaps to what is asked; nothing but gaps if it is to be stripped."""
    factors = request.factors(state).tolist()
    if is_stripped:
        return [[NO_BROKER] * factor for factor in factors]
    held = replica_lists(state)
    return [[*row[:factor], *[NO_BROKER] * (factor - len(row))] for row, factor in zip(held, factors, strict=True)]
