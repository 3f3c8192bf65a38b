"""Balance of the first replicas of partitions, so that all brokers come first equally often.

It balances leaders (the first replica) over brokers, and first followers over brokers for each leader, so that the
partitions of a failed leader are spread evenly.
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
        chosen = shares.is_uneven[group] if method.checks else np.ones(len(group), dtype=np.bool_)
        if not chosen.any():
            return column, shares
        changed = column.copy()
        changed[chosen] = _transfer_by_flow(bins[chosen], column[chosen], shares, method)
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
