"""Decide which clients must restore a copy of a task before they run it."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray
from assignors.model.lags import is_caught_up, require_lags
from assignors.model.state import ApplicationState


def needs_warmup(state: ApplicationState) -> BoolArray:
    """Return where a stateful task would wait for state: the client is not caught up, and another client is closer.

    Returns:
        Shape (N, C), a row for each stateful task.

    Raises:
        IllegalStateError: the lag of a stateful task is missing for a client, as in Kafka.
    """
    require_lags(state)
    lags = state.lags[state.tasks.stateful]
    if not lags.size:
        return np.zeros(lags.shape, dtype=np.bool_)
    caught_up = is_caught_up(lags, state.assignment_configs.acceptable_recovery_lag)
    behind: BoolArray = ~caught_up & (lags > lags.min(axis=1, keepdims=True))
    return behind
