"""What the metrics of a run are computed from, each part once.

The reason of a move is derived from members, copies and racks. It is the first that applies: its client left the group;
the new client had a standby or warm-up; the new client ran it before; fewer of its partitions are read across racks;
balance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.ids import TopicPartition
from simulator.flows.traffic import TrafficBytes
from simulator.results.convergence import Convergence, convergence
from simulator.results.trace import INITIAL_ROUND, Round, Trace, first_final_index, num_rebalances
from simulator.world.layout import FloatArray
from simulator.world.world import Price

_GIGABYTE = 1e9
_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class CrossRackFetches:
    """How many partitions of the source topics are fetched across racks.

    Attributes:
        partitions: partitions whose consumer is in another rack than the broker from which it fetches.
        bound: partitions without a replica in the rack of any client, which each assignment fetches across racks.
        avoidable_usd_per_day: cost of the other ones at their usual traffic; None without a price.
    """

    partitions: int
    bound: int
    avoidable_usd_per_day: float | None


def cross_rack_fetches(trace: Trace) -> CrossRackFetches | None:
    """Count the partitions that the last assignment of a run fetches across racks.

    In `trace`, leaders, replicas and `client.rack` must not change. The result is None if nothing was assigned, or a
    rack of a client or a broker is unknown.
    """
    rack_of = {broker.id: broker.rack for broker in trace.world.cluster.brokers}
    if not trace.rounds or not trace.knows_racks(trace.rounds[-1]) or None in rack_of.values():
        return None
    last = trace.rounds[-1]
    clients = trace.world.clients
    racks = {clients[row].rack for row in last.members.tolist()}
    price = trace.world.price
    partitions = bound = 0
    usd_per_day = 0.0
    for row, key in _source_partitions(trace):
        topic = trace.world.cluster.topics[key.topic]
        replicas = {rack_of[broker] for broker in topic.replicas[key.partition]}
        is_avoidable = bool(replicas & racks)
        bound += not is_avoidable
        if last.owner[row] == UNASSIGNED:
            continue
        client = clients[int(last.owner[row])]
        is_near = client.announces_rack and trace.world.cluster.reads_from_nearest_replica and client.rack in replicas
        leader_rack = rack_of[topic.leaders[key.partition]]
        if is_near or leader_rack == client.rack:
            continue
        partitions += 1
        if price is not None and is_avoidable:
            day_bytes = topic.bytes_per_s[key.partition] * _SECONDS_PER_DAY
            usd_per_day += day_bytes / _GIGABYTE * price.between(str(leader_rack), str(client.rack)).usd_per_gb
    return CrossRackFetches(partitions, bound, None if price is None else usd_per_day)


def _source_partitions(trace: Trace) -> Iterator[tuple[int, TopicPartition]]:
    """Yield the partitions that tasks read, with the row of the task."""
    layout = trace.layout
    for row in range(len(layout.tasks)):
        yield from ((row, layout.partitions[number]) for number in layout.tasks.source.row(row).tolist())


class MoveReason(StrEnum):
    """Why an active task moved to another client."""

    MEMBER_LOST = "member_lost"
    PROMOTED = "promoted"
    RETURNED = "returned"
    RACK = "rack"
    BALANCE = "balance"


REASONS = tuple(MoveReason)


@dataclass(frozen=True, slots=True, eq=False)
class RoundMoves:
    """The moves from one round to the next.

    Attributes:
        tasks: shape (M,); the active tasks that moved.
        sources: shape (M,); the client that had each task, UNASSIGNED if none.
        targets: shape (M,); the client that gets each task, UNASSIGNED if none.
        reasons: shape (M,); indices of `REASONS`.
        standbys: shape (S, 2); task and client of each new standby.
    """

    into: Round
    tasks: IntArray
    sources: IntArray
    targets: IntArray
    reasons: IntArray
    standbys: IntArray


def round_moves(trace: Trace) -> Iterator[RoundMoves]:
    """Yield the moves of each round after the first."""
    num_tasks, num_clients = len(trace.layout.tasks), len(trace.world.clients)
    has_run: BoolArray = np.zeros((num_tasks, num_clients), dtype=np.bool_)
    racks = np.append(trace.client_racks, NO_RACK)
    for before, after in pairwise(trace.rounds):
        rows = np.flatnonzero(before.owner != UNASSIGNED)
        has_run[rows, before.owner[rows]] = True
        # A task of an added partition that no client has run yet does not move.
        is_new = (trace.added_at_ms > 0) & ~has_run.any(axis=1)
        tasks = np.flatnonzero((before.owner != after.owner) & ~is_new)
        old, new = before.owner[tasks], after.owner[tasks]
        was_standby = before.standbys(num_clients)
        yield RoundMoves(
            into=after,
            tasks=tasks,
            sources=old,
            targets=new,
            reasons=_reasons(racks, before, after, tasks, was_standby[tasks, new], has_run[tasks, new]),
            standbys=after.standby[~was_standby[after.standby[:, 0], after.standby[:, 1]]],
        )


def _reasons(
    racks: IntArray, before: Round, after: Round, tasks: IntArray, is_promoted: BoolArray, is_returned: BoolArray
) -> IntArray:
    """Return the reason for which each task moved, given the rack of each client, and NO_RACK for no client."""
    old, new = before.owner[tasks], after.owner[tasks]
    is_member = np.zeros(len(racks), dtype=np.bool_)
    is_member[after.members] = True
    remote = after.remote_source_counts
    is_nearer = remote[tasks, racks[old]] > remote[tasks, racks[new]]
    last = np.where(is_returned, 2, np.where(is_nearer, 3, 4))
    return np.where(is_member[old], np.where(is_promoted, 1, last), 0)


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A finished run. `rounds`: the rows of its table `rounds`."""

    trace: Trace
    rounds: Sequence[Mapping[str, Any]]
    moved: Sequence[RoundMoves]

    @cached_property
    def converged(self) -> Convergence:
        """How the group converged."""
        return convergence(self.trace)

    @property
    def num_rebalances(self) -> int:
        """The number of rebalances."""
        return num_rebalances(self.trace.rounds)

    @cached_property
    def downtime_ms(self) -> IntArray:
        """How long each task was not processed, shape (T,)."""
        return self.trace.downtime_ms

    @cached_property
    def longest_downtime_ms(self) -> IntArray:
        """The longest outage of each task, shape (T,)."""
        return self.trace.longest_downtime_ms

    def downtime_percentile_ms(self, percent: float) -> float | None:
        """Return a percentile of the downtime over tasks; None without tasks."""
        return float(np.percentile(self.downtime_ms, percent)) if len(self.downtime_ms) else None

    @cached_property
    def unavailable_ms(self) -> Counter[TopicPartition]:
        """How long each partition that was unavailable for some time was unavailable."""
        by_partition: Counter[TopicPartition] = Counter()
        for outage in self.trace.outages:
            by_partition[outage.partition] += outage.until_ms - outage.from_ms
        return by_partition

    def num_moves(self, reason: str) -> int:
        """Return how many active tasks moved for a `MoveReason`."""
        return sum(int((moves.reasons == REASONS.index(reason)).sum()) for moves in self.moved)

    @cached_property
    def cross_rack_bytes(self) -> float | None:
        """The bytes between racks in all rounds; None if unknown in one."""
        values = [row["cross_rack_bytes"] for row in self.rounds]
        return None if None in values else sum(values, 0.0)

    @property
    def usd(self) -> float | None:
        """The cost of the bytes between racks; None without a price, or if they are unknown."""
        price = self.trace.world.price
        if price is None or self.cross_rack_bytes is None:
            return None
        usd_per_byte = self._usd_per_byte(price)
        return sum(_usd(round_.traffic, usd_per_byte) for round_ in self.trace.rounds)

    @property
    def usd_per_day(self) -> float | None:
        """The cost of a day of the last round's steady state; None without a price, or if a rack is unknown."""
        price, rounds = self.trace.world.price, self.trace.rounds
        if price is None or not rounds or not self.trace.knows_racks(rounds[-1]):
            return None
        return _SECONDS_PER_DAY * _usd(rounds[-1].steady_state, self._usd_per_byte(price))

    def _usd_per_byte(self, price: Price) -> FloatArray:
        """Return the price from each rack to each rack, shape (R, R); 0 within a rack."""
        racks = self.trace.layout.racks
        prices = [
            [price.between(source, target).usd_per_gb * (source != target) for target in racks] for source in racks
        ]
        return np.array(prices, dtype=np.float64).reshape(len(racks), len(racks)) / _GIGABYTE

    @cached_property
    def costs(self) -> dict[str, float | None]:
        """The total costs and their bounds by column: in the deciding round, on average and at worst."""
        rounds = [round_ for round_ in self.trace.rounds if round_.number != INITIAL_ROUND] or self.trace.rounds
        if not rounds:
            return {}
        deciding = rounds[first_final_index(rounds)]
        appraisal = deciding.appraisal
        costs: dict[str, float | None] = {
            "deciding_round": deciding.number,
            "total_cost": None if appraisal is None else appraisal.cost,
            "total_cost_bound": None if appraisal is None else appraisal.bound,
        }
        appraised = [(round_.number, round_.appraisal) for round_ in rounds if round_.appraisal is not None]
        if not appraised:
            return costs
        number, worst = max(appraised, key=lambda pair: pair[1].cost - pair[1].bound)
        return {
            **costs,
            "mean_total_cost": sum(appraisal.cost for _, appraisal in appraised) / len(appraised),
            "mean_total_cost_bound": sum(appraisal.bound for _, appraisal in appraised) / len(appraised),
            "worst_cost_round": number,
            "worst_total_cost": worst.cost,
            "worst_total_cost_bound": worst.bound,
        }


def _usd(traffic: TrafficBytes, usd_per_byte: FloatArray) -> float:
    return float(sum((matrix[:-1, :-1] * usd_per_byte).sum() for matrix in traffic.values()))
