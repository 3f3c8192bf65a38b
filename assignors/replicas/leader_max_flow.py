"""Balance of leaders per topic, by max flow.

`balance_first_replicas` chooses the first replicas of partitions so that all brokers come first equally often: leaders
over brokers here, and in `three_phase_flow` also first followers over brokers for each leader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.flow.min_cost import Arcs
from assignors.model.columns import BoolArray, IntArray, distinct
from assignors.replicas.even_shares import BalancingMethod, Costs, EvenShares, Pruning, arcs_between, balance_bins
from assignors.replicas.normalized_problem import CanonicalState
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState

MAX_PARTITIONS = 10_000
"""The number of partitions of whole groups above which their flow is computed in parts. No flow leaves a group."""


def balance_first_replicas(
    candidates: IntArray, group: IntArray, num_groups: int, method: BalancingMethod
) -> tuple[IntArray, EvenShares]:
    """Choose the first of each partition's candidates.

    `candidates`, shape (P, W): rows of brokers, the current first one first, padded with NO_BROKER; every partition has
    at least one. `group`, shape (P,): the group of each partition. Within a group, all candidate brokers should come
    first equally often. Returns the column of the chosen candidate, shape (P,), and how often each (group, broker)
    comes first.
    """
    bins, bin_group = _bins(candidates, group)
    column = np.zeros(len(candidates), dtype=np.int64)
    shares = _shares(bins, column, bin_group, num_groups)
    while True:
        chosen = shares.is_uneven if method.checks else np.ones(num_groups, dtype=np.bool_)
        if not chosen.any():
            return column, shares
        changed = column.copy()
        for part in _parts(chosen, group):
            rows = np.flatnonzero((part & chosen)[group])
            of_part, number = shares.of_groups(part)
            numbered = np.append(number, NO_BROKER)[bins[rows]]
            changed[rows] = _transfer_by_flow(numbered, column[rows], of_part, method)
        new = _shares(bins, changed, bin_group, num_groups)
        if method.checks and new.distance >= shares.distance:
            return column, shares
        column, shares = changed, new
        if not method.checks:
            return column, shares


def swap_columns(replicas: IntArray, position: int, column: IntArray) -> IntArray:
    """Return the replicas with the replica at a position and the one in `column` swapped in each partition."""
    rows = np.arange(len(replicas))
    swapped = replicas.copy()
    swapped[:, position], swapped[rows, column] = replicas[rows, column], replicas[:, position]
    return swapped


def _bins(candidates: IntArray, group: IntArray) -> tuple[IntArray, IntArray]:
    """Return the candidates as numbers of (group, broker) pairs, and the group of each pair."""
    is_candidate = candidates != NO_BROKER
    width = int(candidates.max(initial=0)) + 1
    keys, number = np.unique((group[:, None] * width + candidates)[is_candidate], return_inverse=True)
    bins = np.full(candidates.shape, NO_BROKER, dtype=np.int64)
    bins[is_candidate] = number
    return bins, keys // width


def _shares(bins: IntArray, column: IntArray, bin_group: IntArray, num_groups: int) -> EvenShares:
    first = bins[np.arange(len(bins)), column]
    return EvenShares.within(np.bincount(first, minlength=len(bin_group)), bin_group, num_groups)


def _parts(chosen: BoolArray, group: IntArray) -> list[BoolArray]:
    """Return which groups are in each part with a chosen one; `group`, shape (P,): the group of each partition."""
    sizes = np.where(chosen, np.bincount(group, minlength=len(chosen)), 0)
    part = (np.cumsum(sizes) - sizes) // MAX_PARTITIONS
    return [part == number for number in distinct(part[chosen])]


def _transfer_by_flow(bins: IntArray, column: IntArray, shares: EvenShares, method: BalancingMethod) -> IntArray:
    """Return the columns after one flow from the first replicas through partitions to other candidates."""
    num_bins, rows = len(shares.load), np.arange(len(bins))
    is_other = bins != NO_BROKER
    is_other[rows, column] = False
    row, other = np.nonzero(is_other)
    # Sort by broker, not by replica order, so that a second run builds the same network from the result of the first.
    by_broker = np.lexsort((bins[row, other], row))
    row, other = row[by_broker], other[by_broker]
    leaving = arcs_between(bins[rows, column], num_bins + rows, cost=1)
    arriving = arcs_between(num_bins + row, bins[row, other])
    longest = int(np.bincount(shares.group).max())
    flow = balance_bins(shares, Arcs.joined(leaving, arriving), num_bins + len(bins), longest, method)
    taken: BoolArray = flow.flows[len(rows) :] > 0
    result = column.copy()
    result[row[taken]] = other[taken]
    return result


@dataclass(frozen=True, slots=True)
class LeaderMaxFlow:
    """Transfer leadership from brokers that lead too much of a topic to brokers that lead too little; move no replica.

    A unit of flow goes from the leader of a partition through the partition to a follower, and possibly further. A
    transferred leader swaps positions with the follower: the order changes, nothing is copied. Brokers without a
    replica of a topic have no share in it, and even topics are not changed.

    Attributes:
        residue: whether two nodes shared by all brokers carry the remainders of rounding. Without it, brokers within
            one of their share can neither give nor take.
        costs: none: any max flow; published: as in the article; fixed: the residue costs more than any chain, without
            which some topics stay uneven unnecessarily.
        pruning: the part of the flow to apply. none: all; component: the weakly connected components that reduce the
            skew, as in the article; path: the fewest hops that reduce it equally.

    Guarantees: With the residue and costs `fixed`, the leader counts of a topic differ by at most 1 wherever possible.
    With any parameters, the plan is idempotent. It is independent of the input order.
    Priority: Balance of every topic, then few leader changes. The balance over all topics is not considered.
    Complexity: A max flow, a min-cost flow, and another one for pruning by path, in a network of P·W arcs; several such
    networks for more than 10,000 partitions, each of whole topics. Repeated while the balance of an uneven topic
    improves.
    Source: Pinterest Engineering, "Using graph algorithms to optimize Kafka operations, part 2". `fixed` and `path` are
    additions of this project.
    """

    residue: bool = True
    costs: Costs = "fixed"
    pruning: Pruning = "path"

    capabilities: ClassVar[Capabilities] = Capabilities(
        moves_replicas=False, balances_leaders=True, is_idempotent=True, is_order_independent=True
    )

    def __post_init__(self) -> None:
        self._method()

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose an order of every partition's replicas."""
        canonical = CanonicalState.of(state)
        topic, replicas = canonical.state.topic, canonical.state.replicas
        column, shares = balance_first_replicas(replicas, topic, len(state.topics), self._method())
        return Plan(
            PlanStatus.FEASIBLE,
            canonical.to_input_order(swap_columns(replicas, 0, column)),
            notes=uneven_topics(canonical.state.topics, shares),
        )

    def _method(self) -> BalancingMethod:
        return BalancingMethod(self.residue, self.costs, self.pruning)


def uneven_topics(topics: tuple[str, ...], shares: EvenShares) -> tuple[str, ...]:
    """Return a note on uneven topics (the groups of `shares`): the worst one, and the number of others."""
    spread = np.where(shares.is_uneven, shares.spread(), 0)
    count, worst = int(np.count_nonzero(spread)), int(spread.argmax())
    if not count:
        return ()
    more = f", and of {count - 1} more topics" if count > 1 else ""
    return (f"leaders of {topics[worst]} stay uneven (range: {spread[worst]}){more}",)
