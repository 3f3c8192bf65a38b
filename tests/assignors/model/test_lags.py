"""Which copies are caught up, compared with Kafka's rule for a single lag."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.configs import LONG_MAX
from assignors.model.lags import is_caught_up
from assignors.model.state import LATEST_OFFSET, NO_LAG, UNKNOWN_OFFSET_SUM

SENTINELS = (LATEST_OFFSET, UNKNOWN_OFFSET_SUM, NO_LAG)
LIMITS = (0, 1, 10_000, LONG_MAX - 1)


@given(
    st.lists(st.one_of(st.sampled_from((*SENTINELS, *LIMITS, LONG_MAX)), st.integers(0, 20_000)), max_size=12),
    st.one_of(st.sampled_from(LIMITS), st.integers(0, 20_000)),
)
def test_running_tasks_and_lags_within_the_limit_are_caught_up(lags: list[int], limit: int) -> None:
    expected = [lag == LATEST_OFFSET or 0 <= lag <= limit for lag in lags]
    assert is_caught_up(np.array(lags, dtype=np.int64), limit).tolist() == expected


@pytest.mark.parametrize("lag", [*SENTINELS, 0, LONG_MAX])
def test_every_copy_is_caught_up_without_a_limit(lag: int) -> None:
    """Source: `ClientState.lagFor`, `HighAvailabilityTaskAssignor.taskIsCaughtUpOnClient`, Kafka 4.3.1."""
    assert is_caught_up(np.array([[lag]]), LONG_MAX).tolist() == [[True]]
