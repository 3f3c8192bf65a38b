"""Equal shares of bins in integers, and the flow that balances bins.

A bin holds countable items: a broker its replicas, a broker and a topic the leaders there, or a leader and a first
follower their common partitions. The bins of one group should hold equal numbers. Units flow from bins with too much
through possible transfers to bins with too little.

Guarantees: no bin above its share ends below it rounded down, and none below ends above it rounded up. With costs
`fixed` and the residue, every bin ends even if that is possible.

Priority: the size of the flow; with `fixed`, whole units that bins must give and take before the residue of rounding;
few hops.

Complexity: one max flow and one min-cost flow over the arcs, and O(bins) more.

Source: Pinterest, "Using graph algorithms to optimize Kafka operations, part 2". With its costs, a unit through the
residue saves a hop at the price of one. So if the flow cannot fill all arcs, it may leave a bin uneven that only a
longer chain would relieve. A residue that costs more than any chain (`fixed`) prevents this: augmenting a flow never
empties an arc at the source or the sink, so a max flow exists that fills as many of the other arcs as possible.

The part of the flow that does not improve balance is pruned: in the source, the weakly connected components that do not
reduce the skew; here also the paths within a component that do not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from assignors.flow.min_cost import Arcs, max_flow, max_flow_min_cost, min_cost_flow
from assignors.model.columns import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class LoadRanges:
    """The lowest and the highest number of replicas per broker and per rack.

    Attributes:
        broker_least: shape (B,).
        broker_most: shape (B,).
        rack_least: shape (R,).
        rack_most: shape (R,).
    """

    broker_least: IntArray
    broker_most: IntArray
    rack_least: IntArray
    rack_most: IntArray


def compute_load_ranges(factors: IntArray, rack_limits: IntArray, rack: IntArray) -> LoadRanges:
    """Compute the mean, rounded down and up, extended to the fair share of a rack where that differs.

    `factors`, shape (P,): the replication factor of each partition. `rack_limits`, shape (P,): the maximum number of
    replicas of a partition in one rack. `rack`, shape (B,): the rack of each broker. Returns the ranges per broker and
    per rack.
    """
    sizes, total = np.bincount(rack), int(factors.sum())
    shares = fair_rack_shares(factors, rack_limits, sizes)
    mean, rack_mean = Fraction(total, len(rack)), Fraction(total, int((sizes > 0).sum()))
    per_broker = [share / size if size else mean for share, size in zip(shares, sizes.tolist(), strict=True)]
    by_broker = [_range_between(mean, share) for share in per_broker]
    by_rack = [_range_between(rack_mean, share) for share in shares]
    least, most = np.array(by_broker).T
    rack_least, rack_most = np.array(by_rack).T
    return LoadRanges(least[rack], most[rack], np.where(sizes > 0, rack_least, 0), rack_most)


def _range_between(mean: Fraction, share: Fraction) -> tuple[int, int]:
    return math.floor(min(mean, share)), math.ceil(max(mean, share))


def fair_rack_shares(factors: IntArray, rack_limits: IntArray, sizes: IntArray) -> tuple[Fraction, ...]:
    """Compute the number of replicas of each rack if all brokers get numbers as equal as racks allow.

    A rack gets the same number per broker as all racks, within the minimum and the maximum that its partitions allow.

    `factors`: shape (P,); the replication factor of each partition. `rack_limits`: shape (P,); the maximum number of
    replicas of a partition in one rack. `sizes`: shape (R,); the number of brokers of each rack. Returns the number of
    replicas of each rack.

    Complexity: O(P·R + R²).
    """
    max_in_rack = np.minimum(rack_limits[:, None], sizes[None, :])
    most = max_in_rack.sum(axis=0)
    least = np.maximum(factors[:, None] - (max_in_rack.sum(axis=1)[:, None] - max_in_rack), 0).sum(axis=0)
    per_broker = _level(int(factors.sum()), least.tolist(), most.tolist(), sizes.tolist())
    shares = zip(least.tolist(), most.tolist(), sizes.tolist(), strict=True)
    return tuple(min(max(per_broker * size, Fraction(low)), Fraction(high)) for low, high, size in shares)


def _level(total: int, least: list[int], most: list[int], sizes: list[int]) -> Fraction:
    """Return the number of replicas per broker at which the racks, within their limits, hold the total."""
    racks = [(low, high, size) for low, high, size in zip(least, most, sizes, strict=True) if size]
    steps = sorted({Fraction(limit, size) for low, high, size in racks for limit in (low, high)})
    level, held = Fraction(0), Fraction(sum(low for low, _, _ in racks))
    for step in steps:
        growing = sum(size for low, high, size in racks if Fraction(low, size) <= level < Fraction(high, size))
        if held + growing * (step - level) >= total and growing:
            return level + (total - held) / growing
        level, held = step, held + growing * (step - level)
    return level


@dataclass(frozen=True, eq=False)
class EvenShares:
    """The loads of N bins and their targets.

    The share of a bin is the total of its group divided by the number of bins. It is rarely an integer: a bin with its
    share rounded down or up is even.

    Attributes:
        total: shape (groups,); the target total of each group. Their sum is the sum of all loads.
    """

    load: IntArray
    group: IntArray
    total: IntArray

    @classmethod
    def within(cls, load: IntArray, group: IntArray, num_groups: int) -> EvenShares:
        """Build shares for groups that keep their total."""
        total = np.zeros(num_groups, dtype=np.int64)
        np.add.at(total, group, load)
        return cls(load, group, total)

    def of_groups(self, is_chosen: BoolArray) -> tuple[EvenShares, IntArray]:
        """Return the shares of some groups, and the number of each bin of them, shape (N,).

        `is_chosen`, shape (groups,). Bins of other groups have meaningless numbers.
        """
        bins = is_chosen[self.group]
        group = (np.cumsum(is_chosen) - 1)[self.group[bins]]
        return EvenShares(self.load[bins], group, self.total[is_chosen]), np.cumsum(bins) - 1

    @property
    def num_groups(self) -> int:
        """Return the number of groups."""
        return len(self.total)

    @cached_property
    def _size(self) -> IntArray:
        return np.bincount(self.group, minlength=self.num_groups)[self.group]

    @cached_property
    def floor(self) -> IntArray:
        """Return the share of each bin, rounded down, shape (N,)."""
        floor: IntArray = self.total[self.group] // self._size
        return floor

    @cached_property
    def ceiling(self) -> IntArray:
        """Return the share of each bin, rounded up, shape (N,)."""
        ceiling: IntArray = -(-self.total[self.group] // self._size)
        return ceiling

    @cached_property
    def _excess(self) -> IntArray:
        """Return load minus share, times the size of the group: an integer, so there are no rounding errors."""
        excess: IntArray = self.load * self._size - self.total[self.group]
        return excess

    @cached_property
    def is_over(self) -> BoolArray:
        """Return whether each bin is above its share."""
        over: BoolArray = self._excess > 0
        return over

    @cached_property
    def is_under(self) -> BoolArray:
        """Return whether each bin is below its share."""
        under: BoolArray = self._excess < 0
        return under

    @cached_property
    def must_give(self) -> IntArray:
        """Return by how much the load of each bin exceeds its share, rounded up."""
        amount: IntArray = np.maximum(self._excess, 0) // self._size
        return amount

    @cached_property
    def must_take(self) -> IntArray:
        """Return by how much the load of each bin is below its share, rounded down."""
        amount: IntArray = np.maximum(-self._excess, 0) // self._size
        return amount

    def residue(self, is_member: BoolArray) -> IntArray:
        """Return the fractional deviations of each group's member bins, summed to whole units, shape (groups,)."""
        rest = np.zeros(self.num_groups, dtype=np.int64)
        members = np.flatnonzero(is_member)
        np.add.at(rest, self.group[members], np.abs(self._excess[members]) % self._size[members])
        sizes = np.maximum(np.bincount(self.group, minlength=self.num_groups), 1)
        whole: IntArray = rest // sizes
        return whole

    @cached_property
    def distance(self) -> int:
        """Return the total deviation; 0 if every bin is even."""
        return int(self.must_give.sum() + self.must_take.sum())

    @cached_property
    def is_uneven(self) -> BoolArray:
        """Return which groups have a bin that must give or take, shape (groups,)."""
        uneven = np.zeros(self.num_groups, dtype=np.bool_)
        uneven[self.group[(self.must_give > 0) | (self.must_take > 0)]] = True
        return uneven

    def spread(self) -> IntArray:
        """Return the maximum minus the minimum load of each group, shape (groups,)."""
        most = np.full(self.num_groups, -1, dtype=np.int64)
        least = np.full(self.num_groups, np.iinfo(np.int64).max, dtype=np.int64)
        np.maximum.at(most, self.group, self.load)
        np.minimum.at(least, self.group, self.load)
        return np.where(most < 0, 0, most - least)


def prune_by_component(shares: EvenShares, arcs: Arcs, num_nodes: int, flows: IntArray) -> IntArray:
    """Remove weakly connected components in which no bin gives what it must give, or takes what it must take.

    `shares`: the bins, which are the first nodes. `arcs`: the graph. `num_nodes`: the number of nodes. `flows`: the
    flow on each arc. Returns the remaining flow on each arc.

    Complexity: O(arcs · log(nodes)).
    """
    gives, takes = _useful(shares, arcs, num_nodes, flows)
    used = flows > 0
    component = _components(arcs.tail[used], arcs.head[used], num_nodes)
    is_useful = np.zeros(num_nodes, dtype=np.bool_)
    is_useful[component[: len(shares.load)][(gives > 0) | (takes > 0)]] = True
    return np.where(is_useful[component[arcs.tail]], flows, 0)


def prune_by_path(shares: EvenShares, arcs: Arcs, num_nodes: int, flows: IntArray) -> IntArray:
    """Keep the fewest hops of a flow with which bins give and take as much of their excess as with the whole flow.

    Arguments and result are those of `prune_by_component`. Returns the remaining flow on each arc. Raises ValueError if
    the arcs do not carry a flow between bins.

    Guarantees: within the arcs that the flow uses, no cheaper flow balances the bins equally.

    Complexity: a min-cost flow over these arcs.
    """
    gives, takes = _useful(shares, arcs, num_nodes, flows)
    net_outflow = _net_outflow(arcs, num_nodes, flows)[: len(gives)]
    used, bins, outside = np.flatnonzero(flows > 0), np.arange(len(gives)), np.full(len(gives), num_nodes)
    nothing = np.zeros(len(gives), dtype=np.int64)
    used_arcs = Arcs(arcs.tail[used], arcs.head[used], flows[used], arcs.cost[used])
    entering = Arcs(outside, bins, np.maximum(net_outflow, 0) - gives, nothing)
    leaving = Arcs(bins, outside, np.maximum(-net_outflow, 0) - takes, nothing)
    supply = np.zeros(num_nodes + 1, dtype=np.int64)
    supply[: len(gives)] = gives - takes
    supply[num_nodes] = -supply.sum()
    cheapest = min_cost_flow(Arcs.joined(used_arcs, entering, leaving), supply)
    if cheapest is None:
        raise ValueError("the arcs do not carry a flow between bins")
    kept = np.zeros_like(flows)
    kept[used] = cheapest[: len(used)]
    return kept


def _useful(shares: EvenShares, arcs: Arcs, num_nodes: int, flows: IntArray) -> tuple[IntArray, IntArray]:
    """Return how much of each bin's outflow it must give, and of its inflow it must take, shape (bins,) each."""
    net_outflow = _net_outflow(arcs, num_nodes, flows)[: len(shares.load)]
    return np.clip(net_outflow, 0, shares.must_give), np.clip(-net_outflow, 0, shares.must_take)


def _net_outflow(arcs: Arcs, num_nodes: int, flows: IntArray) -> IntArray:
    """Return the outflow of each node minus its inflow, shape (nodes,)."""
    net_outflow = np.zeros(num_nodes, dtype=np.int64)
    np.add.at(net_outflow, arcs.tail, flows)
    np.subtract.at(net_outflow, arcs.head, flows)
    return net_outflow


def _components(tail: IntArray, head: IntArray, num_nodes: int) -> IntArray:
    """Return the lowest node of each node's weakly connected component, shape (nodes,)."""
    label = np.arange(num_nodes)
    while True:
        low = np.minimum(label[tail], label[head])
        merged = label.copy()
        np.minimum.at(merged, label[tail], low)
        np.minimum.at(merged, label[head], low)
        while not np.array_equal(merged, merged[merged]):
            merged = merged[merged]
        if np.array_equal(merged, label):
            return label
        label = merged


Costs = Literal["none", "published", "fixed"]
Pruning = Literal["none", "component", "path"]


@dataclass(frozen=True, slots=True)
class BalancingMethod:
    """The method of balancing; each part can be disabled to measure its effect.

    Raises ValueError if costs or pruning is unknown.

    Attributes:
        residue: whether the remainders of rounding flow through two nodes per group.
        costs: none: any max flow; published: a hop and a unit of the residue cost 1 each; fixed: a unit of the residue
            costs more than any chain of hops.
        pruning: the part of the flow to apply. none: all; component: the weakly connected components that improve
            balance; path: the fewest hops with the same balance.
        checks: whether to skip even groups, apply the flow only if it improves balance, and repeat it until it does
            not. Otherwise the flow is applied once.
    """

    residue: bool = True
    costs: Costs = "fixed"
    pruning: Pruning = "path"
    checks: bool = True

    def __post_init__(self) -> None:
        for name, value, allowed in (("costs", self.costs, Costs), ("pruning", self.pruning, Pruning)):
            if value not in get_args(allowed):
                raise ValueError(f"unknown {name} '{value}' ({name}: {', '.join(get_args(allowed))})")


@dataclass(frozen=True, slots=True, eq=False)
class BalancingFlow:
    """A flow between bins.

    Attributes:
        is_full: whether all arcs at the source are full, so that no further arcs could increase the flow.
        is_direct: whether, besides, no further arcs could make it cheaper: every unit takes one hop, and bins take as
            much as they must.
    """

    flows: IntArray
    is_full: bool
    is_direct: bool


def balance_bins(
    shares: EvenShares, arcs: Arcs, num_nodes: int, max_chain: int, method: BalancingMethod
) -> BalancingFlow:
    """Compute the flow.

    `shares`: the bins, which are the first nodes. `arcs`: the possible transfers between bins, through other nodes; the
    arcs with a cost are hops. `num_nodes`: the number of nodes, including bins. `max_chain`: the maximum number of hops
    in a chain. Returns the flow on the arcs, after pruning.
    """
    residue_cost = 1 if method.costs == "published" else max_chain + 1
    ends = _ends(shares, num_nodes, residue_cost if method.residue else None)
    network = Arcs.joined(arcs, ends)
    source, sink, last = num_nodes, num_nodes + 1, num_nodes + 2 + 2 * shares.num_groups
    if method.costs == "none":
        all_flows = max_flow(network, source, sink)
    else:
        all_flows = max_flow_min_cost(network, source, sink, last)
    is_full = bool((all_flows == network.capacity)[network.tail == source].all())
    flows = all_flows[: len(arcs.tail)]
    value = int(all_flows[network.tail == source].sum())
    needed = network.head == sink if not method.residue else (network.head == sink) & (network.cost == 0)
    taken, must_take = int(all_flows[needed].sum()), int(shares.must_take.sum())
    is_direct = is_full and int(flows @ arcs.cost) == value and taken == min(value, must_take)
    if method.pruning == "component":
        flows = prune_by_component(shares, arcs, num_nodes, flows)
    elif method.pruning == "path":
        flows = prune_by_path(shares, arcs, num_nodes, flows)
    return BalancingFlow(flows, is_full, is_direct)


def _ends(shares: EvenShares, source: int, residue_cost: int | None) -> Arcs:
    """Return the arcs at the source and the sink; a residue with a cost adds two nodes per group, one at either end."""
    sink, first = source + 1, source + 2
    groups = np.arange(shares.num_groups)
    surplus_nodes, deficit_nodes = first + groups, first + shares.num_groups + groups
    over, under = np.flatnonzero(shares.is_over), np.flatnonzero(shares.is_under)
    direct = (arcs_between(source, over, shares.must_give[over]), arcs_between(under, sink, shares.must_take[under]))
    if residue_cost is None:
        return Arcs.joined(*direct)
    return Arcs.joined(
        *direct,
        arcs_between(source, surplus_nodes, shares.residue(shares.is_over), residue_cost),
        arcs_between(surplus_nodes[shares.group[over]], over),
        arcs_between(under, deficit_nodes[shares.group[under]]),
        arcs_between(deficit_nodes, sink, shares.residue(shares.is_under), residue_cost),
    )


def arcs_between(tail: IntArray | int, head: IntArray | int, capacity: IntArray | int = 1, cost: int = 0) -> Arcs:
    """Return arcs; a single number applies to all of them."""
    columns = np.broadcast_arrays(*(np.asarray(column, dtype=np.int64) for column in (tail, head, capacity, cost)))
    return Arcs(*(np.ascontiguousarray(column) for column in columns))
