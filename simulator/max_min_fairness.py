"""Sharing a capacity so that nobody gets more than asked for, nor less than another who asked for as much.

The max-min fair shares of a fluid: what TCP, a fair scheduler or a fetcher that takes turns comes to in the mean.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from simulator.world.layout import FloatArray


def max_min_shares(capacity: FloatArray, group: IntArray, demand: FloatArray) -> FloatArray:
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


def max_min_shares_of_two(
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


def max_min_shares_between(
    sending: FloatArray, sender: IntArray, receiving: FloatArray, receiver: IntArray
) -> FloatArray:
    """Share what can be sent and what can be received among members that each have one who sends and one who receives.

    Every member takes as much as it can get. That is `fair_shares_of_two`, without a table of K x D where there are
    many of both.

    Args:
        sending: shape (S,); what each can send.
        sender: shape (K,); who sends to each member.
        receiving: shape (D,); what each can receive.
        receiver: shape (K,); who receives for each member.

    Returns:
        Shape (K,).

    Complexity: at most S + D passes, each of K.
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
        # The scarcest capacity is dealt out, and the others have the more for the rest.
        scarcest = fair.min()
        served = fair <= scarcest * (1 + 1e-12)
        shares[waiting[served]] = scarcest
        sent -= scarcest * np.bincount(at_sender[served], minlength=len(sent))
        received -= scarcest * np.bincount(at_receiver[served], minlength=len(received))
        np.maximum(sent, 0.0, out=sent)
        np.maximum(received, 0.0, out=received)
        waiting = waiting[~served]
    return shares
