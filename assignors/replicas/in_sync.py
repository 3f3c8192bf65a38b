"""Preferred leaders that are not in sync.

Kafka elects a preferred leader only from the ISR, so a lagging replica does not lead until it has caught up. Added
replicas are not affected: a reassignment completes only when all target replicas are in sync.

Source: `org.apache.kafka.controller.PartitionChangeBuilder` (`electPreferredLeader`, `isValidNewLeader`), KIP-455.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.state import NO_BROKER, ClusterState

_MOST_NAMES = 20
"""The maximum number of partitions in a message."""


def leaders_out_of_sync(state: ClusterState, replicas: IntArray) -> BoolArray:
    """Return a mask of the partitions whose preferred leader in `replicas` is a current replica that is not in sync.

    `replicas` has shape (P, W), as `Plan.replicas`.
    """
    if state.in_sync is None:
        return np.zeros(state.num_partitions, dtype=np.bool_)
    is_leader = (state.replicas == replicas[:, :1]) & (state.replicas != NO_BROKER)
    out_of_sync: BoolArray = (is_leader & ~state.in_sync).any(axis=1)
    return out_of_sync


def warn_of_leaders(state: ClusterState, replicas: IntArray, rows: Collection[int]) -> Iterator[str]:
    """Yield a warning that lists the partitions among `rows` whose preferred leader is not in sync."""
    rows_out_of_sync = [row for row in np.flatnonzero(leaders_out_of_sync(state, replicas)).tolist() if row in rows]
    if rows_out_of_sync:
        names = [f"{state.name(row)} (broker {state.ids[replicas[row, 0]]})" for row in rows_out_of_sync[:_MOST_NAMES]]
        more = f", and {len(rows_out_of_sync) - _MOST_NAMES:,} more" if len(rows_out_of_sync) > _MOST_NAMES else ""
        yield f"preferred leaders not in sync, they lead only after they have caught up: {', '.join(names)}{more}"
