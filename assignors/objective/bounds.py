"""Lower bounds that hold for all assignments."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import NO_RACK
from assignors.model.state import ApplicationState


def min_remote_source_partitions(state: ApplicationState) -> int | None:
    """Return the minimum number of source partitions that active tasks read across racks, over all assignments.

    Each task is placed in its best rack, regardless of balance. The bound therefore holds for each assignor and all
    capacities; a balanced assignment may not reach it.

    Returns:
        The bound; None if a client has no rack or there is no client.

    Complexity: O(T·R + C).
    """
    if not len(state.clients) or (state.clients.rack == NO_RACK).any():
        return None
    return int(state.partitions.count_remote(state.tasks.source)[:, np.unique(state.clients.rack)].min(axis=1).sum())
