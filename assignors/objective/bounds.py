"""What no assignment can do better than."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import NO_RACK
from assignors.model.state import ApplicationState


def min_remote_source_partitions(state: ApplicationState) -> int | None:
    """The fewest source partitions that any assignment of the active tasks can read from another rack.

    Every task is put where it reads fewest, whatever that does to the balance, so the bound holds for every assignor
    and every capacity; an assignment that must be balanced may not reach it.

    Returns:
        The bound, None where a client has no rack or there is no client.

    Complexity: O(T·R + C).
    """
    if not len(state.clients) or (state.clients.rack == NO_RACK).any():
        return None
    return int(state.partitions.remote(state.tasks.source)[:, np.unique(state.clients.rack)].min(axis=1).sum())
