"""Replicas, leaders and bytes per broker, and differences between two placements."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.state import NO_BROKER, ClusterState


def count_replicas(replicas: IntArray, num_brokers: int) -> IntArray:
    """Return the number of replicas on each broker, shape (B,)."""
    return np.bincount(replicas[replicas != NO_BROKER], minlength=num_brokers).astype(np.int64)


def count_leaders(replicas: IntArray, num_brokers: int) -> IntArray:
    """Return the number of partitions with each broker as preferred leader, shape (B,)."""
    return count_replicas(replicas[:, :1], num_brokers)


def count_per_rack(replicas: IntArray, rack: IntArray, num_racks: int) -> IntArray:
    """Return the number of replicas of each partition per rack, shape (P, R); brokers without a rack do not count."""
    rack_of_replica = np.where(replicas == NO_BROKER, NO_BROKER, rack[replicas])
    rows, columns = np.nonzero(rack_of_replica != NO_BROKER)
    flat = rows * num_racks + rack_of_replica[rows, columns]
    return np.bincount(flat, minlength=len(replicas) * num_racks).astype(np.int64).reshape(len(replicas), num_racks)


def bytes_per_broker(replicas: IntArray, size_bytes: IntArray, num_brokers: int) -> IntArray:
    """Return the total size of the replicas on each broker, shape (B,)."""
    total_bytes = np.zeros(num_brokers + 1, dtype=np.int64)
    np.add.at(total_bytes, replicas, size_bytes[:, None])
    return total_bytes[:-1]


def fixed_bytes_per_broker(state: ClusterState) -> IntArray:
    """Return the size of the replicas on each broker that no plan may change, shape (B,)."""
    if state.fixed is None or state.fixed.size_bytes is None:
        return np.zeros(len(state.brokers), dtype=np.int64)
    return bytes_per_broker(state.fixed.replicas, state.fixed.size_bytes, len(state.brokers))


def capacity_per_broker(state: ClusterState) -> IntArray:
    """Return the disk capacity of each broker in bytes, shape (B,); 0 for an unknown capacity."""
    return np.array([broker.capacity_bytes or 0 for broker in state.brokers], dtype=np.int64)


def added_replicas(old: IntArray, new: IntArray) -> BoolArray:
    """Return a mask of the replicas in `new` on brokers that do not hold the partition in `old`, shape (P, W)."""
    is_held = (new[:, :, None] == old[:, None, :]).any(axis=2)
    is_added: BoolArray = (new != NO_BROKER) & ~is_held
    return is_added
