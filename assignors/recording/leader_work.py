"""The operations of Kafka's assignors outside of flows, counted by their reimplementations.

Each kind dominates the run time for some shape of application; `assignors.recording.leader_time` has the time of each.

Source: `LegacyStickyTaskAssignor`, `HighAvailabilityTaskAssignor`, `TaskMovement`, `ConstrainedPrioritySet`, Kafka
4.3.1.
"""

from __future__ import annotations

import math
from enum import StrEnum


class LeaderWork(StrEnum):
    """A kind of operation."""

    PLACE = "place"
    """assignment of a copy to a client"""
    VISIT = "visit"
    """visit of a client by a sticky assignor that looks for the client of a copy"""
    PAIR = "pair"
    """insertion of a task pair by a sticky assignor, times the number of tasks: with more tasks, the set of pairs has
    more hash collisions and more cache misses
    """
    COMPARE = "compare"
    """comparison of the loads of two clients in a balancing sweep"""
    COPY = "copy"
    """task copied by a balancing sweep, once for each two clients"""
    RANK = "rank"
    """comparison in the sorted sets of clients by lag, one set for each task"""
    MOVE = "move"
    """comparison in the priority queue of clients during a task movement"""


def comparisons_per_element(size: int) -> float:
    """Return the approximate number of comparisons to insert one of `size` elements into a sorted collection."""
    return max(1.0, math.log2(max(1, size)))
