"""First followers that keep leader counts most even if any broker is down, with the fewest changes, by a min-cost flow.

If a broker is down, the first follower of each of its partitions becomes leader. The followers of one broker's
partitions do not affect those of another's, so the problem separates by leader; one flow solves all of them together.

`keep_order` orders the replicas within partitions with as few changes as possible.

Tables have shape (P, W), as `NormalizedProblem.held`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assignors.flow.min_cost import MAX_COST, Arcs, min_cost_flow
from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NUM_TIE_BREAKERS, NormalizedProblem
from assignors.replicas.state import NO_BROKER


def keep_order(problem: NormalizedProblem, pairs: IntArray) -> IntArray:
    """Return the replicas in order: kept replicas keep their positions; added ones fill the gaps first, then the end.

    `pairs`: the wanted replicas, as sorted pairs (partition * brokers + broker).
    """
    width = int(problem.factors.max(initial=0))
    old = np.full((problem.num_partitions, max(width, problem.held.shape[1])), NO_BROKER, dtype=np.int64)
    old[:, : problem.held.shape[1]] = problem.held
    pair = np.arange(problem.num_partitions)[:, None] * problem.num_brokers + old
    is_kept = (old != NO_BROKER) & np.isin(pair, pairs)
    table = np.where(is_kept, old, NO_BROKER)
    partition, broker = np.divmod(np.setdiff1d(pairs, pair[is_kept]), problem.num_brokers)
    rank_in_partition = np.arange(len(partition)) - np.searchsorted(partition, partition)
    gaps_first = np.argsort(is_kept, axis=1, kind="stable")
    table[partition, gaps_first[partition, rank_in_partition]] = broker
    replicas_first = np.argsort(table == NO_BROKER, axis=1, kind="stable")
    return np.take_along_axis(table, replicas_first, axis=1)[:, :width]


def swap_to_position(table: IntArray, position: int, broker: IntArray) -> IntArray:
    """Swap the given broker of each partition with the broker at a position; NO_BROKER leaves a partition unchanged."""
    rows = np.flatnonzero(broker != NO_BROKER)
    if not len(rows):
        return table
    current_position = (table[rows] == broker[rows, None]).argmax(axis=1)
    changed = table.copy()
    changed[rows, current_position] = table[rows, position]
    changed[rows, position] = broker[rows]
    return changed


class _FollowerChoices(NamedTuple):
    """The possible first followers: one entry per follower of each partition with a choice, sorted by partition.

    Attributes:
        broker: the follower.
        pair: the number of the pair of leader and follower.
        level: by pair, the minimum number of partitions that the follower leads if the leader is down.
        cost: the cost of this follower as first follower.
        step: the cost of one more partition led by a broker; higher than the cost of all changes together.
    """

    partition: IntArray
    broker: IntArray
    pair: IntArray
    level: IntArray
    cost: IntArray
    step: int


def choose_first_followers(problem: NormalizedProblem, table: IntArray) -> IntArray:
    """Choose the first follower of each partition.

    `problem`: the current replicas. `table`, shape (P, W): the planned replicas, the leader first. Returns indices in
    `NormalizedProblem.brokers`, shape (P,); NO_BROKER for a partition without a choice.
    """
    chosen = np.full(len(table), NO_BROKER, dtype=np.int64)
    with_choice = np.flatnonzero((table != NO_BROKER).sum(axis=1) > 2)
    if not len(with_choice):
        return chosen
    choices = _follower_choices(problem, table, with_choice)
    is_contested = np.isin(choices.partition, choices.partition[np.bincount(choices.pair)[choices.pair] > 1])
    for part, select in ((is_contested, _choose_by_flow), (~is_contested, _choose_cheapest)):
        entries = np.flatnonzero(part)
        taken = entries[select(choices, entries)] if len(entries) else entries
        chosen[choices.partition[taken]] = choices.broker[taken]
    return chosen


def _follower_choices(problem: NormalizedProblem, table: IntArray, with_choice: IntArray) -> _FollowerChoices:
    brokers = problem.num_brokers
    row, position = np.nonzero(table[with_choice, 1:] != NO_BROKER)
    partition = with_choice[row]
    broker = table[partition, position + 1]
    pairs, pair = np.unique(table[partition, 0] * brokers + broker, return_inverse=True)
    level = _forced_leads(table, brokers, pairs)
    cost_limit = MAX_COST // (len(row) * 3 * (int(level.max()) + len(row)))
    ties = (
        NUM_TIE_BREAKERS
        if (NUM_TIE_BREAKERS * len(with_choice) + NUM_TIE_BREAKERS + 1) * len(with_choice) < cost_limit
        else 0
    )
    tie = problem.ties(partition, broker, ties) if ties else np.zeros(len(row), dtype=np.int64)
    change = ties * len(with_choice) + 1
    return _FollowerChoices(
        partition, broker, pair, level, np.where(position > 0, change + tie, 0), (change + ties) * len(with_choice) + 1
    )


def _forced_leads(table: IntArray, brokers: int, pairs: IntArray) -> IntArray:
    """Return how many partitions each pair's follower certainly leads if the leader is down, above the minimum."""
    leaders = np.bincount(table[:, 0], minlength=brokers)
    is_forced = (table != NO_BROKER).sum(axis=1) == 2
    forced = np.sort(table[is_forced, 0] * brokers + table[is_forced, 1])
    inherited = np.searchsorted(forced, pairs, side="right") - np.searchsorted(forced, pairs, side="left")
    forced_counts: IntArray = leaders[pairs % brokers] - leaders.min() + inherited
    return forced_counts


def _choose_cheapest(choices: _FollowerChoices, entries: IntArray) -> IntArray:
    """Return the cheapest entry of each partition, if no two partitions share a pair of brokers."""
    partition = choices.partition[entries]
    cost = choices.cost[entries] + choices.step * choices.level[choices.pair[entries]]
    order = np.lexsort((cost, partition))
    first: IntArray = order[np.diff(partition[order], prepend=-1) != 0]
    return first


def _choose_by_flow(choices: _FollowerChoices, entries: IntArray) -> IntArray:
    """Return the entries that a min-cost flow from partitions through pairs to a sink selects.

    Raises ValueError if a partition has no follower.
    """
    _, row = np.unique(choices.partition[entries], return_inverse=True)
    pairs, pair, counts = np.unique(choices.pair[entries], return_inverse=True, return_counts=True)
    num_rows, ones = int(row.max()) + 1, np.ones(len(row), dtype=np.int64)
    sink = num_rows + len(pairs)
    rank_in_pair = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    level = np.repeat(choices.level[pairs], counts) + rank_in_pair
    to_pairs = Arcs(row, num_rows + pair, ones, choices.cost[entries])
    to_sink = Arcs(num_rows + np.repeat(np.arange(len(pairs)), counts), sink * ones, ones, choices.step * level)
    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[:num_rows], supply[sink] = 1, -num_rows
    flows = min_cost_flow(Arcs.joined(to_pairs, to_sink), supply)
    if flows is None:
        raise ValueError("a partition has no follower")
    return np.flatnonzero(flows[: len(row)])
