"""How many replicas brokers and racks may hold for loads to be even, as far as racks allow that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assignors.model.columns import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class LoadRanges:
    """The least and the most replicas.

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
    """The mean, rounded down and up; further apart where a rack's fair share is another, and by no more than that.

    Args:
        factors: shape (P,); replicas of each partition.
        most_in_a_rack: shape (P,); how many of them one rack may hold.
        rack: shape (B,); the rack of each broker.
    """
    sizes, total = np.bincount(rack), int(factors.sum())
    shares = fair_rack_shares(factors, rack_limits, sizes)
    mean, rack_mean = Fraction(total, len(rack)), Fraction(total, int((sizes > 0).sum()))
    each = [share / size if size else mean for share, size in zip(shares, sizes.tolist(), strict=True)]
    by_broker = [_around(mean, share) for share in each]
    by_rack = [_around(rack_mean, share) for share in shares]
    least, most = np.array(by_broker).T
    rack_least, rack_most = np.array(by_rack).T
    return LoadRanges(least[rack], most[rack], np.where(sizes > 0, rack_least, 0), rack_most)


def _around(mean: Fraction, share: Fraction) -> tuple[int, int]:
    return math.floor(min(mean, share)), math.ceil(max(mean, share))


def fair_rack_shares(factors: IntArray, rack_limits: IntArray, sizes: IntArray) -> tuple[Fraction, ...]:
    """How many replicas each rack gets if all brokers get as equal a number as racks allow.

    A rack's share is so many a broker, unless its partitions have to have more there, or may not have as many.

    Args:
        factors: shape (P,); replicas of each partition.
        most_in_a_rack: shape (P,); how many of them one rack may hold.
        sizes: shape (R,); brokers of each rack.

    Complexity: O(P·R + R²).
    """
    room = np.minimum(rack_limits[:, None], sizes[None, :])
    most = room.sum(axis=0)
    least = np.maximum(factors[:, None] - (room.sum(axis=1)[:, None] - room), 0).sum(axis=0)
    each = _level(int(factors.sum()), least.tolist(), most.tolist(), sizes.tolist())
    shares = zip(least.tolist(), most.tolist(), sizes.tolist(), strict=True)
    return tuple(min(max(each * size, Fraction(low)), Fraction(high)) for low, high, size in shares)


def _level(total: int, least: list[int], most: list[int], sizes: list[int]) -> Fraction:
    """So many a broker that racks, within their limits, hold the total; it grows from one limit to the next."""
    racks = [(low, high, size) for low, high, size in zip(least, most, sizes, strict=True) if size]
    steps = sorted({Fraction(limit, size) for low, high, size in racks for limit in (low, high)})
    level, held = Fraction(0), Fraction(sum(low for low, _, _ in racks))
    for step in steps:
        growing = sum(size for low, high, size in racks if Fraction(low, size) <= level < Fraction(high, size))
        if held + growing * (step - level) >= total and growing:
            return level + (total - held) / growing
        level, held = step, held + growing * (step - level)
    return level
