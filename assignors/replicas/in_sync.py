"""Preferred leaders that are not in sync.

Kafka elects a preferred leader only from the ISR, so such a replica does not lead until it has caught up. A replica
that a plan adds is no such leader: the reassignment ends only when all replicas of the target are in sync.

Source: `org.apache.kafka.controller.PartitionChangeBuilder` (`electPreferredLeader`, `isValidNewLeader`), KIP-455.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.state import NO_BROKER, ClusterState

_MOST_NAMES = 20
"""The most partitions named in a message."""


def leaders_out_of_sync(state: ClusterState, replicas: IntArray) -> BoolArray:
    """Return for which partitions the preferred leader among `replicas` is a replica of today that is not in sync.

    Args:
        state: the cluster.
        replicas: shape (P, W), as `Plan.replicas`.
    """
    if state.in_sync is None:
        return np.zeros(state.num_partitions, dtype=np.bool_)
    is_leader = (state.replicas == replicas[:, :1]) & (state.replicas != NO_BROKER)
    lagging: BoolArray = (is_leader & ~state.in_sync).any(axis=1)
    return lagging


def warn_of_leaders(state: ClusterState, replicas: IntArray, rows: Collection[int]) -> Iterator[str]:
    """Yield a warning that names the partitions, among some rows, whose preferred leader is not in sync."""
    found = [row for row in np.flatnonzero(leaders_out_of_sync(state, replicas)).tolist() if row in rows]
    if found:
        named = [f"{state.name(row)} (broker {state.ids[replicas[row, 0]]})" for row in found[:_MOST_NAMES]]
        more = f", and {len(found) - _MOST_NAMES:,} more" if len(found) > _MOST_NAMES else ""
        yield f"preferred leaders not in sync, which lead only once they have caught up: {', '.join(named)}{more}"
