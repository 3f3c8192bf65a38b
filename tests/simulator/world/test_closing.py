"""When a client that is stopped begins to close, when its process ends, and whether it is killed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.world.pod_events import AT_ONCE, MINIMUM_GRACE_MS, Closing

SECOND = 1_000


@pytest.mark.parametrize(
    ("pre_stop_s", "close_s", "grace_s", "begins_s", "ends_s", "is_killed"),
    [
        (0, 0, None, 0, 0, False),
        (5, 3, None, 5, 8, False),
        (5, 3, 30, 5, 8, False),
        (0, 30, 30, 0, 30, False),
        (0, 31, 30, 0, 30, True),
        (10, 40, 30, 10, 30, True),
        (29, 1.5, 30, 29, 30.5, False),
        (29, 5, 30, 29, 31, True),
        (60, 5, 30, 30, 32, True),
        (60, 1, 30, 30, 31, False),
        (0, 1, 0, 0, 0, True),
        (0, 0, 0, 0, 0, False),
    ],
)
def test_grace_period_includes_the_hook_but_leaves_two_seconds_to_close(
    pre_stop_s: float, close_s: float, grace_s: float | None, begins_s: float, ends_s: float, is_killed: bool
) -> None:
    grace_ms = None if grace_s is None else round(grace_s * SECOND)
    closing = Closing(None, round(close_s * SECOND), round(pre_stop_s * SECOND), grace_ms)
    assert (closing.begins_after_ms, closing.ends_after_ms) == (begins_s * SECOND, ends_s * SECOND)
    assert closing.is_killed is is_killed


@given(st.integers(0, 60_000), st.integers(0, 60_000), st.none() | st.integers(0, 60_000))
def test_closing_never_ends_before_it_begins_nor_long_after_the_grace_period(
    close_ms: int, pre_stop_ms: int, grace_ms: int | None
) -> None:
    closing = Closing(None, close_ms, pre_stop_ms, grace_ms)
    assert 0 <= closing.begins_after_ms <= closing.ends_after_ms <= pre_stop_ms + close_ms
    if grace_ms is not None:
        assert closing.ends_after_ms <= grace_ms + (MINIMUM_GRACE_MS if pre_stop_ms else 0)
    assert closing.is_killed == (closing.ends_after_ms < closing.begins_after_ms + close_ms)


def test_default_closes_at_once() -> None:
    assert (AT_ONCE.begins_after_ms, AT_ONCE.ends_after_ms, AT_ONCE.is_killed) == (0, 0, False)
