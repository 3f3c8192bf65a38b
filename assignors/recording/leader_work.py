"""What Kafka's assignors do besides searching for racks, counted while they are reimplemented.

Each kind is an operation that dominates on some shape of application; `assignors.recording.leader_time` gives each its time.

Source: `LegacyStickyTaskAssignor`, `HighAvailabilityTaskAssignor`, `TaskMovement`, `ConstrainedPrioritySet`, Kafka
4.3.1.
"""

from __future__ import annotations

import math
from enum import StrEnum


class LeaderWork(StrEnum):
    """A kind of operation, and what is counted of it."""

    PLACE = "place"
    """a copy of a task that is given to a client"""
    VISIT = "visit"
    """a client that a sticky assignor looks at for one copy"""
    PAIR = "pair"
    """a pair of tasks that a sticky assignor adds to its set, times the number of tasks: in a set with the square of
    the tasks for size, more pairs share a hash code the more tasks there are, and fewer are in the cache"""
    COMPARE = "compare"
    """two clients whose loads are compared in a sweep that evens them out"""
    COPY = "copy"
    """a task of the set that such a sweep copies for each two clients"""
    RANK = "rank"
    """a comparison in the sets that rank all clients by lag, one set a task"""
    MOVE = "move"
    """a comparison in the priority queue of clients that one movement of a copy goes through"""


def comparisons_per_element(size: int) -> float:
    """Return about how many comparisons each of so many elements takes in a sorted collection."""
    return max(1.0, math.log2(max(1, size)))
