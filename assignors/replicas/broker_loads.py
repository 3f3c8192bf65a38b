"""How many replicas and leaders brokers have."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.state import NO_BROKER


def count_replicas(replicas: IntArray, num_brokers: int) -> IntArray:
    """Shape (B,); how many replicas each broker holds."""
    return np.bincount(replicas[replicas != NO_BROKER], minlength=num_brokers).astype(np.int64)


def count_leaders(replicas: IntArray, num_brokers: int) -> IntArray:
    """Shape (B,); of how many partitions each broker is the preferred leader."""
    return count_replicas(replicas[:, :1], num_brokers)


def added_replicas(old: IntArray, new: IntArray) -> BoolArray:
    """Shape of `new`; which replicas are where none of the partition was: what has to be copied."""
    there = (new[:, :, None] == old[:, None, :]).any(axis=2)
    is_added: BoolArray = (new != NO_BROKER) & ~there
    return is_added


def count_per_rack(replicas: IntArray, rack: IntArray, num_racks: int) -> IntArray:
    """Shape (P, R); how many replicas of each partition every rack holds; those without a rack are not counted."""
    place = np.where(replicas == NO_BROKER, NO_BROKER, rack[replicas])
    rows, columns = np.nonzero(place != NO_BROKER)
    flat = rows * num_racks + place[rows, columns]
    return np.bincount(flat, minlength=len(replicas) * num_racks).astype(np.int64).reshape(len(replicas), num_racks)
