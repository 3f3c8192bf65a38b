"""The first followers by which leaders stay evenest if any broker is down, with fewest changes: a minimum-cost flow.

If a broker is down, each partition that it leads goes to its first follower. What that does to the others does not
hang on who follows whom elsewhere, so every broker's loss is a flow of its own; they are solved as one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assignors.flow.min_cost import MAX_COST, Arcs, min_cost_flow
from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NUM_TIE_BREAKERS, NormalizedProblem
from assignors.replicas.state import NO_BROKER


class _FollowerChoices(NamedTuple):
    """Who may follow first; an entry for each follower of each partition that has a choice, by partition.

    Attributes:
        partition: the partition.
        broker: the follower.
        pair: of leader and follower; pairs are numbered from 0.
        level: what the follower leads at least if the leader is down, by pair.
        cost: what it costs to have it follow first.
        step: what it costs that a broker has to lead one more; more than all changes together.
    """

    partition: IntArray
    broker: IntArray
    pair: IntArray
    level: IntArray
    cost: IntArray
    step: int


def choose_first_followers(question: NormalizedProblem, table: IntArray) -> IntArray:
    """Shape (P,); who shall follow first, places in `Question.brokers`; NOBODY where there is no choice.

    Args:
        question: the question.
        table: shape (P, W); who holds replicas, the leader first.
    """
    chosen = np.full(len(table), NO_BROKER, dtype=np.int64)
    free = np.flatnonzero((table != NO_BROKER).sum(axis=1) > 2)
    if not len(free):
        return chosen
    heirs = _follower_choices(question, table, free)
    is_contested = np.isin(heirs.partition, heirs.partition[np.bincount(heirs.pair)[heirs.pair] > 1])
    for part, choose in ((is_contested, _choose_by_flow), (~is_contested, _choose_cheapest)):
        entries = np.flatnonzero(part)
        taken = entries[choose(heirs, entries)] if len(entries) else entries
        chosen[heirs.partition[taken]] = heirs.broker[taken]
    return chosen


def _follower_choices(question: NormalizedProblem, table: IntArray, free: IntArray) -> _FollowerChoices:
    brokers = question.num_brokers
    row, place = np.nonzero(table[free, 1:] != NO_BROKER)
    partition = free[row]
    broker = table[partition, place + 1]
    pairs, pair = np.unique(table[partition, 0] * brokers + broker, return_inverse=True)
    level = _forced_leads(table, brokers, pairs)
    room = MAX_COST // (len(row) * 3 * (int(level.max()) + len(row)))
    ties = NUM_TIE_BREAKERS if (NUM_TIE_BREAKERS * len(free) + NUM_TIE_BREAKERS + 1) * len(free) < room else 0
    tie = question.ties(partition, broker, ties) if ties else np.zeros(len(row), dtype=np.int64)
    change = ties * len(free) + 1
    return _FollowerChoices(
        partition, broker, pair, level, np.where(place > 0, change + tie, 0), (change + ties) * len(free) + 1
    )


def _forced_leads(table: IntArray, brokers: int, pairs: IntArray) -> IntArray:
    """What the second of each pair of brokers leads for certain if the first is down; less what every broker leads."""
    leaders = np.bincount(table[:, 0], minlength=brokers)
    is_forced = (table != NO_BROKER).sum(axis=1) == 2
    forced = np.sort(table[is_forced, 0] * brokers + table[is_forced, 1])
    inherited = np.searchsorted(forced, pairs, side="right") - np.searchsorted(forced, pairs, side="left")
    settled: IntArray = leaders[pairs % brokers] - leaders.min() + inherited
    return settled


def _choose_cheapest(heirs: _FollowerChoices, entries: IntArray) -> IntArray:
    """Which entries to take where no two partitions have a pair of brokers in common: the cheapest of each."""
    partition = heirs.partition[entries]
    cost = heirs.cost[entries] + heirs.step * heirs.level[heirs.pair[entries]]
    order = np.lexsort((cost, partition))
    first: IntArray = order[np.diff(partition[order], prepend=-1) != 0]
    return first


def _choose_by_flow(heirs: _FollowerChoices, entries: IntArray) -> IntArray:
    """Which entries to take where they have: those that a flow takes from partitions by pairs to a sink."""
    _, row = np.unique(heirs.partition[entries], return_inverse=True)
    pairs, pair, counts = np.unique(heirs.pair[entries], return_inverse=True, return_counts=True)
    num_rows, one = int(row.max()) + 1, np.ones(len(row), dtype=np.int64)
    sink = num_rows + len(pairs)
    rise = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    level = np.repeat(heirs.level[pairs], counts) + rise
    to_pairs = Arcs(row, num_rows + pair, one, heirs.cost[entries])
    stairs = Arcs(num_rows + np.repeat(np.arange(len(pairs)), counts), sink * one, one, heirs.step * level)
    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[:num_rows], supply[sink] = 1, -num_rows
    flows = min_cost_flow(Arcs.joined(to_pairs, stairs), supply)
    if flows is None:
        raise ValueError("a partition has nobody to follow its leader")
    return np.flatnonzero(flows[: len(row)])
