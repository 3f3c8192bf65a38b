"""Ranges of replica counts per broker and per rack that are as even as racks allow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assignors.model.columns import IntArray


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

    Args:
        factors: shape (P,); the replication factor of each partition.
        rack_limits: shape (P,); the maximum number of replicas of a partition in one rack.
        sizes: shape (R,); the number of brokers of each rack.

    Returns:
        The number of replicas of each rack.

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
