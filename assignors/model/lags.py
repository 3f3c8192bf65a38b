"""How far each client's copy of each task is from being caught up."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.model.configs import LONG_MAX
from assignors.model.state import LATEST_OFFSET, NO_LAG, UNKNOWN_OFFSET_SUM, ApplicationState
from assignors.objective.cost import previous


def caught_up(state: ApplicationState) -> BoolArray:
    """Whether a copy is within `acceptable.recovery.lag`, shape (T, C); true of stateless tasks."""
    acceptable = state.assignment_configs.acceptable_recovery_lag
    lags = state.lags
    near: BoolArray = (lags == LATEST_OFFSET) | (lags == NO_LAG) | ((lags >= 0) & (lags <= acceptable))
    return near | (acceptable == LONG_MAX)


def records_to_restore(state: ApplicationState) -> IntArray:
    """The records a copy lacks, shape (T, C); where that is not known, what the task's farthest copy lacks, or 1."""
    records = np.maximum(state.lags, 0)
    unknown = state.lags == UNKNOWN_OFFSET_SUM
    farthest = np.maximum(records.max(axis=1, initial=1), 1)
    lacking: IntArray = np.where(unknown, farthest[:, None], records)
    return lacking


def best_available(state: ApplicationState) -> BoolArray:
    """The clients that could run each task at once, shape (T, C).

    The caught-up ones that ran it; else the caught-up ones; else those that lack the fewest records.
    """
    ready, records = caught_up(state), records_to_restore(state)
    runs = ready & previous(state)[0]
    closest: BoolArray = records == records.min(axis=1, initial=records.max(initial=0), keepdims=True)
    return np.where(runs.any(axis=1, keepdims=True), runs, np.where(ready.any(axis=1, keepdims=True), ready, closest))


def scaled(records: IntArray, most: int) -> IntArray:
    """The same in coarser units, such that no number exceeds `most`; as it is where none does."""
    largest = int(records.max(initial=0))
    return records if largest <= most else records // -(-largest // most)
