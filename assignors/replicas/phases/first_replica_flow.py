"""Which of a partition's replicas comes first, so that all come first equally often.

The same question is asked twice: who of the replicas leads, so that brokers lead equally many partitions; and who of
the followers is the first, so that each leader's partitions fall to all brokers alike if it goes down.
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs
from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.residue_flow import BalancingMethod, arcs_between, balance_bins
from assignors.replicas.state import NO_BROKER


def balance_first_replicas(
    candidates: IntArray, group: IntArray, num_groups: int, method: BalancingMethod
) -> tuple[IntArray, EvenShares]:
    """Choose who comes first of each partition's candidates.

    Args:
        candidates: shape (P, W); rows of brokers, the one that comes first now first, NOBODY behind the last; every
            partition has one.
        group: shape (P,); the group of each partition. Within a group, every broker that is a candidate of any of its
            partitions is to come first equally often.
        num_groups: how many groups there are.
        method: how.

    Returns:
        Shape (P,), the column of the chosen candidate; and how often each (group, broker) comes first then.
    """
    bins, bin_group = _bins(candidates, group)
    column = np.zeros(len(candidates), dtype=np.int64)
    shares = _shares(bins, column, bin_group, num_groups)
    while True:
        chosen = shares.is_uneven[group] if method.checks else np.ones(len(group), dtype=np.bool_)
        if not chosen.any():
            return column, shares
        changed = column.copy()
        changed[chosen] = _handed_on(bins[chosen], column[chosen], shares, method)
        new = _shares(bins, changed, bin_group, num_groups)
        if method.checks and new.distance >= shares.distance:
            return column, shares
        column, shares = changed, new
        if not method.checks:
            return column, shares


def swap_columns(replicas: IntArray, place: int, column: IntArray) -> IntArray:
    """The same replicas, where in each partition the one at a place has changed places with that of `column`."""
    rows = np.arange(len(replicas))
    moved = replicas.copy()
    moved[:, place], moved[rows, column] = replicas[rows, column], replicas[:, place]
    return moved


def _bins(candidates: IntArray, group: IntArray) -> tuple[IntArray, IntArray]:
    """Candidates as (group, broker) pairs, numbered without gaps, and the group of each."""
    there = candidates != NO_BROKER
    width = int(candidates.max(initial=0)) + 1
    keys, number = np.unique((group[:, None] * width + candidates)[there], return_inverse=True)
    bins = np.full(candidates.shape, NO_BROKER, dtype=np.int64)
    bins[there] = number
    return bins, keys // width


def _shares(bins: IntArray, column: IntArray, bin_group: IntArray, num_groups: int) -> EvenShares:
    first = bins[np.arange(len(bins)), column]
    return EvenShares.within(np.bincount(first, minlength=len(bin_group)), bin_group, num_groups)


def _handed_on(bins: IntArray, column: IntArray, shares: EvenShares, method: BalancingMethod) -> IntArray:
    """The columns after one flow: from who comes first, by way of the partition, to another of its candidates."""
    num_bins, rows = len(shares.load), np.arange(len(bins))
    is_other = bins != NO_BROKER
    is_other[rows, column] = False
    row, other = np.nonzero(is_other)
    # By broker, not by the order of replicas: what one run ends with, another then sees as the same network.
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
