"""When a copy that follows a log has caught up: one rule for task state and for partition replicas."""

from __future__ import annotations

from typing import Final

from assignors.model.columns import BoolArray
from simulator.world.layout import FloatArray

CAUGHT_UP_BYTES: Final = 0.5
"""A copy that lacks no more than this has caught up: amounts are floating-point bytes, and this is less than one."""


def is_caught_up(missing_bytes: FloatArray) -> BoolArray:
    """Return which copies have caught up, from the bytes that they lack."""
    caught_up: BoolArray = missing_bytes <= CAUGHT_UP_BYTES
    return caught_up
