"""How much brokers hold and have free, in bytes."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.state import NO_BROKER, ClusterState


def bytes_per_broker(replicas: IntArray, size_bytes: IntArray, num_brokers: int) -> IntArray:
    """Shape (B,); what the replicas on each broker take; exact up to 2^53 bytes a broker."""
    is_there = replicas != NO_BROKER
    weights = np.broadcast_to(size_bytes[:, None], replicas.shape)[is_there]
    return np.bincount(replicas[is_there], weights=weights, minlength=num_brokers).astype(np.int64)


def fixed_bytes(state: ClusterState) -> IntArray:
    """Return what the partitions on each broker take that no plan may change, shape (B,)."""
    if state.fixed is None or state.fixed.size_bytes is None:
        return np.zeros(len(state.brokers), dtype=np.int64)
    return bytes_per_broker(state.fixed.replicas, state.fixed.size_bytes, len(state.brokers))


def capacity_bytes(state: ClusterState) -> IntArray:
    """Shape (B,); what each broker's disks take; 0 where nobody said."""
    return np.array([broker.capacity_bytes or 0 for broker in state.brokers], dtype=np.int64)
