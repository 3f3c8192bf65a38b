"""Sharing a capacity so that nobody gets more than asked for, nor less than another who asked for as much.

The max-min fair shares of a fluid: what TCP, a fair scheduler or a fetcher that takes turns comes to in the mean.
"""

from __future__ import annotations

import numpy as np

from assignors.columns import IntArray
from simulator.layout import FloatArray


def fair_shares(capacity: FloatArray, group: IntArray, demand: FloatArray) -> FloatArray:
    """Share the capacity of each group among its members.

    Args:
        capacity: shape (G,); infinity for no limit.
        group: shape (K,); the group of each member.
        demand: shape (K,); what each asks for, infinity for as much as possible.

    Returns:
        Shape (K,).
    """
    shares = np.zeros(len(group), dtype=np.float64)
    left = capacity.copy()
    waiting = np.arange(len(group))
    while len(waiting):
        groups = group[waiting]
        fair = left[groups] / np.bincount(groups, minlength=len(left))[groups]
        content = demand[waiting] <= fair
        if not content.any():
            shares[waiting] = fair
            break
        served = waiting[content]
        shares[served] = demand[served]
        spent = np.bincount(group[served], weights=demand[served], minlength=len(left))
        np.subtract(left, spent, out=left, where=np.isfinite(left))
        np.maximum(left, 0.0, out=left)
        waiting = waiting[~content]
    return shares


def fair_shares_of_two(
    capacity: FloatArray, group: IntArray, other_capacity: FloatArray, weight: FloatArray, demand: FloatArray
) -> FloatArray:
    """The same where each member draws on a second kind of capacity too.

    Args:
        capacity: shape (G,).
        group: shape (K,).
        other_capacity: shape (B,); infinity for no limit.
        weight: shape (K, B); how much of each other capacity a unit of a member's share takes.
        demand: shape (K,).

    Returns:
        Shape (K,).

    Complexity: at most K + G + B passes, each of K x B.
    """
    shares = np.zeros(len(group), dtype=np.float64)
    left, other_left = capacity.copy(), other_capacity.copy()
    waiting = np.arange(len(group))
    while len(waiting):
        groups, weights = group[waiting], weight[waiting]
        fair = left[groups] / np.bincount(groups, minlength=len(left))[groups]
        total = weights.sum(axis=0)
        other_fair = np.divide(other_left, total, out=np.full(len(total), np.inf), where=total > 0)
        fair = np.minimum(fair, np.where(weights > 0, other_fair, np.inf).min(axis=1, initial=np.inf))
        content = demand[waiting] <= fair
        # Where nobody has enough, the scarcest capacity is dealt out, and the others have the more for the rest.
        chosen = content if content.any() else fair <= fair.min() * (1 + 1e-12)
        served = waiting[chosen]
        shares[served] = np.minimum(demand[served], fair[chosen])
        left -= np.bincount(group[served], weights=shares[served], minlength=len(left))
        other_left -= shares[served] @ weight[served]
        np.maximum(left, 0.0, out=left)
        np.maximum(other_left, 0.0, out=other_left)
        waiting = waiting[~chosen]
    return shares
