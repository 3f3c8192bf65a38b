"""Max-min fair shares of a capacity: no member gets more than its demand, nor less than another with the same demand.

This is what TCP, a fair scheduler or a round-robin fetcher approaches on average.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from simulator.world.layout import FloatArray


def max_min_shares(capacity: FloatArray, group: IntArray, demand: FloatArray) -> FloatArray:
    """Return max-min fair shares of the capacity of each group.

    `capacity`, shape (G,): infinity for no limit. `group`, shape (K,): the group of each member. `demand`, shape (K,):
    the demand of each member, infinity for as much as possible. Returns the share of each member, shape (K,).
    """
    if np.isinf(capacity).all():
        return demand.astype(np.float64)
    fair = capacity.take(group) / np.bincount(group, minlength=len(capacity)).take(group)
    if not (demand <= fair).any():
        return fair
    shares = np.zeros(len(group), dtype=np.float64)
    remaining = capacity.copy()
    waiting = np.arange(len(group))
    while len(waiting):
        groups = group[waiting]
        fair = remaining[groups] / np.bincount(groups, minlength=len(remaining))[groups]
        satisfied = demand[waiting] <= fair
        if not satisfied.any():
            shares[waiting] = fair
            break
        served = waiting[satisfied]
        shares[served] = demand[served]
        spent = np.bincount(group[served], weights=demand[served], minlength=len(remaining))
        np.subtract(remaining, spent, out=remaining, where=np.isfinite(remaining))
        np.maximum(remaining, 0.0, out=remaining)
        waiting = waiting[~satisfied]
    return shares


def max_min_shares_of_two(
    capacity: FloatArray, group: IntArray, other_capacity: FloatArray, weight: FloatArray, demand: FloatArray
) -> FloatArray:
    """Return max-min fair shares where each member also uses a second kind of capacity.

    `capacity`: shape (G,), infinity for no limit; `group` and `demand`: shape (K,), those of each member;
    `other_capacity`: shape (B,), infinity for no limit; `weight`: shape (K, B), how much of each other capacity a unit
    of a member's share uses. Returns the share of each member, shape (K,).

    Complexity: up to K + G + B passes of O(K · B).
    """
    shares = np.zeros(len(group), dtype=np.float64)
    remaining, other_remaining = capacity.copy(), other_capacity.copy()
    waiting = np.arange(len(group))
    while len(waiting):
        groups, weights = group[waiting], weight[waiting]
        fair = remaining[groups] / np.bincount(groups, minlength=len(remaining))[groups]
        total = weights.sum(axis=0)
        other_fair = np.divide(other_remaining, total, out=np.full(len(total), np.inf), where=total > 0)
        fair = np.minimum(fair, np.where(weights > 0, other_fair, np.inf).min(axis=1, initial=np.inf))
        satisfied = demand[waiting] <= fair
        # If no demand can be met, the scarcest capacity is shared out, which leaves more of the others.
        chosen = satisfied if satisfied.any() else fair <= fair.min() * (1 + 1e-12)
        served = waiting[chosen]
        shares[served] = np.minimum(demand[served], fair[chosen])
        remaining -= np.bincount(group[served], weights=shares[served], minlength=len(remaining))
        other_remaining -= shares[served] @ weight[served]
        np.maximum(remaining, 0.0, out=remaining)
        np.maximum(other_remaining, 0.0, out=other_remaining)
        waiting = waiting[~chosen]
    return shares


def max_min_shares_between(
    sending: FloatArray, sender: IntArray, receiving: FloatArray, receiver: IntArray, demand: FloatArray | None = None
) -> FloatArray:
    """Return max-min fair rates for flows limited by sender and receiver.

    The result is that of `max_min_shares_of_two`, without its table of K x D.

    `sending`, shape (S,), and `receiving`, shape (D,): the capacity of each sender and receiver; `sender`, `receiver`
    and `demand`: shape (K,), those of each flow; by default, every flow takes as much as it can get. Returns the rate
    of each flow, shape (K,).

    Complexity: up to S + D passes of O(K), or K passes with demands.
    """
    shares = np.zeros(len(sender), dtype=np.float64)
    sent, received = sending.copy(), receiving.copy()
    waiting = np.arange(len(sender))
    while len(waiting):
        at_sender, at_receiver = sender[waiting], receiver[waiting]
        fair = np.minimum(
            sent[at_sender] / np.bincount(at_sender, minlength=len(sent))[at_sender],
            received[at_receiver] / np.bincount(at_receiver, minlength=len(received))[at_receiver],
        )
        satisfied = demand[waiting] <= fair if demand is not None else np.zeros(len(waiting), dtype=np.bool_)
        if demand is not None and satisfied.any():
            served, amounts = satisfied, demand[waiting]
        else:
            # The scarcest capacity is shared out, which leaves more of the others.
            scarcest = fair.min()
            served, amounts = fair <= scarcest * (1 + 1e-12), np.full(len(waiting), scarcest)
        shares[waiting[served]] = amounts[served]
        sent -= np.bincount(at_sender[served], amounts[served], minlength=len(sent))
        received -= np.bincount(at_receiver[served], amounts[served], minlength=len(received))
        np.maximum(sent, 0.0, out=sent)
        np.maximum(received, 0.0, out=received)
        waiting = waiting[~served]
    return shares
