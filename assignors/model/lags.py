"""Which copies of a task are caught up, and how many records the others must restore."""

from __future__ import annotations

import numpy as np

from assignors.errors import IllegalStateError
from assignors.model.columns import BoolArray, IntArray
from assignors.model.configs import LONG_MAX
from assignors.model.state import LATEST_OFFSET, NO_LAG, UNKNOWN_OFFSET_SUM, ApplicationState, previous_holders


def is_caught_up(lags: IntArray, acceptable_recovery_lag: int) -> BoolArray:
    """Return which lags let a client run the task at once, as in Kafka.

    A copy is caught up if the task runs there (LATEST_OFFSET) or its lag is known and within
    `acceptable.recovery.lag`. If that is `Long.MAX_VALUE`, all copies are caught up, even those with unknown lags.

    Args:
        lags: lags in records, or sentinels of `assignors.model.state`; any shape.
        acceptable_recovery_lag: `acceptable.recovery.lag` in records.

    Returns:
        An array of the same shape.
    """
    if acceptable_recovery_lag == LONG_MAX:
        return np.ones(lags.shape, dtype=np.bool_)
    # Sentinels are negative, so as unsigned numbers they are larger than any lag.
    caught_up: BoolArray = lags.view(np.uint64) <= np.uint64(acceptable_recovery_lag)
    caught_up |= lags == LATEST_OFFSET
    return caught_up


def caught_up(state: ApplicationState) -> BoolArray:
    """Return which copies are caught up, shape (T, C); True for stateless tasks."""
    within = is_caught_up(state.lags, state.assignment_configs.acceptable_recovery_lag)
    ready: BoolArray = within | (state.lags == NO_LAG)
    return ready


def require_lags(state: ApplicationState) -> None:
    """Check that each client has a lag for each stateful task.

    Raises:
        IllegalStateError: a lag is missing; the message is Kafka's.
    """
    # No other lag is lower.
    missing = (state.lags.min(axis=1, initial=0) == NO_LAG) & state.tasks.stateful
    if missing.any():
        raise IllegalStateError(f"Tried to lookup lag for unknown task {state.tasks.ids[int(missing.argmax())]}")


def records_to_restore(state: ApplicationState) -> IntArray:
    """Return the number of records that each copy lacks, shape (T, C).

    An unknown lag counts as the largest known lag of the task's copies, and at least 1.
    """
    records = np.maximum(state.lags, 0)
    unknown = state.lags == UNKNOWN_OFFSET_SUM
    largest = np.maximum(records.max(axis=1, initial=1), 1)
    lacking: IntArray = np.where(unknown, largest[:, None], records)
    return lacking


def best_available(state: ApplicationState) -> BoolArray:
    """Return the clients that are the best choice to run each task at once, shape (T, C).

    These are the caught-up clients that ran the task; else all caught-up clients; else those that lack the fewest
    records.
    """
    ready, records = caught_up(state), records_to_restore(state)
    runs = ready & previous_holders(state)[0]
    closest: BoolArray = records == records.min(axis=1, initial=records.max(initial=0), keepdims=True)
    return np.where(runs.any(axis=1, keepdims=True), runs, np.where(ready.any(axis=1, keepdims=True), ready, closest))


def scale_down(records: IntArray, maximum: int) -> IntArray:
    """Return the records in coarser units, so that none exceeds the maximum; unchanged if none does."""
    largest = int(records.max(initial=0))
    return records if largest <= maximum else records // -(-largest // maximum)
