"""Lower bounds that hold for all assignments."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from assignors.model.columns import NO_RACK, PartitionTable, Ragged
from assignors.model.state import ApplicationState


def min_remote_source_partitions(state: ApplicationState) -> int | None:
    """Return the minimum number of source partitions that active tasks read across racks, over all assignments.

    Each task is placed in its best rack, regardless of balance. The bound therefore holds for each assignor and all
    capacities; a balanced assignment may not reach it. In a consumer group, only racks of subscribers count, and topics
    that no member subscribes to are not read.

    Returns:
        The bound; None if a client has no rack or there is no client.

    Complexity: O(T·R + C); O(T·C) if members of a consumer group subscribe to different topics.
    """
    racks = tuple(sorted(set(state.clients.rack.tolist())))
    if not racks or racks[0] == NO_RACK:
        return None
    if state.subscribers is None:
        return _min_remote(state.partitions, state.tasks.source, racks)
    by_rack = state.partitions.count_remote(state.tasks.source)
    is_read = state.subscribers.any(axis=1)
    remote = np.where(state.subscribers, by_rack[:, state.clients.rack], np.iinfo(np.int64).max)
    return int(remote[is_read].min(axis=1).sum())


@lru_cache(maxsize=16)
def _min_remote(partitions: PartitionTable, source: Ragged, racks: tuple[int, ...]) -> int:
    """Return the minimum over all assignments to racks; tables are shared between the rebalances of a group."""
    return int(partitions.count_remote(source)[:, racks].min(axis=1).sum())
