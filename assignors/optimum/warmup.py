"""Whose copy of a task is good enough to run it."""

from __future__ import annotations

import numpy as np

from assignors.errors import IllegalStateError
from assignors.model.columns import BoolArray
from assignors.model.state import NO_LAG, ApplicationState
from assignors.tasks.task_movement import is_caught_up


def needs_warmup(state: ApplicationState) -> BoolArray:
    """Where a stateful task would wait: this client is not caught up, and some other one is closer to being so.

    Returns:
        Shape (N, C), a row for each stateful task; caught up means within `acceptable.recovery.lag`.

    Raises:
        IllegalStateError: the lag of a stateful task is not known of some client, as in Kafka.
    """
    lags = state.lags[state.tasks.stateful]
    missing = (lags == NO_LAG).any(axis=1)
    if missing.any():
        task = state.tasks.ids[int(np.flatnonzero(state.tasks.stateful)[missing.argmax()])]
        raise IllegalStateError(f"Tried to lookup lag for unknown task {task}")
    if not lags.size:
        return np.zeros(lags.shape, dtype=np.bool_)
    behind: BoolArray = ~is_caught_up(state, lags) & (lags > lags.min(axis=1, keepdims=True))
    return behind
