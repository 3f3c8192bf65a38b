"""Predict how long Kafka's assignors keep a group leader busy.

`assignors.flow` counts the work of Kafka's rack-aware search for each flow (`FlowEffort`): `passes` x `edges` edge
scans. The assignors count the rest (`assignors.recording.leader_work`). This module has the time of each operation.

The time of an assignment, `leader_compute_ms` (`simulator.assignment.rebalance`), is ::

    (sum over flows of passes x edges x EDGE_SCAN_NS + other) / leader_speed

where `other` is the sum over kinds of work of count x WORK_NS, or 0 if that is less than NEGLIGIBLE_MS.

Guarantees
    Predicts a warm JVM: the search within a third, the rest within a factor of two. The rest takes seconds for sticky
    assignors with thousands of tasks on few clients, and for high availability with a thousand clients or dozens of
    standbys; otherwise mostly milliseconds, which a simulation leaves out (`NEGLIGIBLE_MS`). Parsing subscriptions and
    distributing tasks over threads are not counted.
Priority
    The number of scans is exact; the time of one depends on the machine. A scan follows pointers (an entry of a
    ``TreeMap``, its edge, the entries of two nodes in a ``HashMap``), so memory matters as much as the processor.
Complexity
    One multiplication for each flow and each kind of work.
Source
    ``Graph.detectNegativeCycles`` of Kafka Streams. On two idle cores of an AMD EPYC, with OpenJDK 17.0.15 and trunk of
    2024-10-25, a scan took 9.6 and 7.4 ns with 100 tasks x 10 clients, 9.3, 10.2 and 8.1 ns with 300 x 30, and 6.8 ns
    with 1,000 x 50 (149 s): 8.5 ns ± 20 %, independent of the size of the graph. On such a machine under load,
    Kafka 4.3.1 took 15 to 25 ns, and 40 ns for graphs of 180,000 edges, which then share the cache with other
    processes; see docs/development/performance.md.
    The times of other work fit the eight shapes of ``StreamsAssignmentScaleTest``, each in two rounds, on the same
    idle machine; tests/assignors/recording/test_leader_work.py has the times. Under load, the sticky assignor of Kafka
    4.3.1 took 0.21, 2.5 and 24.6 s for 500, 1,000 and 2,000 tasks x 2, with 1, 5 or 20 subtopologies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from assignors.flow import FlowEffort
from assignors.recording.leader_work import LeaderWork

EDGE_SCAN_NS = 8.5
"""Time of an edge scan."""

WORK_NS: Final[Mapping[LeaderWork, float]] = MappingProxyType(
    {
        LeaderWork.PLACE: 3_000,
        LeaderWork.VISIT: 30,
        LeaderWork.PAIR: 0.65,
        LeaderWork.COMPARE: 300,
        LeaderWork.COPY: 40,
        LeaderWork.RANK: 100,
        LeaderWork.MOVE: 100,
    }
)
"""Time of an operation of each kind."""

NEGLIGIBLE_MS: Final = 50.0
"""Threshold below which such work is not counted: unsimulated network and disk latencies are about as long."""


def leader_time_ms(efforts: Iterable[FlowEffort], relative_speed: float = 1.0) -> float:
    """Return the time of the search over all flows of one assignment, in milliseconds.

    `efforts`: effort of each flow that Kafka solves, even if it moves nothing. `relative_speed`: speed of the leader's
    processor relative to the measured one; 2 halves the time. Raises ValueError if the speed is not positive.
    """
    if not relative_speed > 0:
        raise ValueError(f"relative_speed must be positive, not {relative_speed}")
    return sum(effort.passes * effort.edges for effort in efforts) * EDGE_SCAN_NS / 1e6 / relative_speed


def work_time_ms(kind: LeaderWork, count: float) -> float:
    """Return the time of `count` operations of a kind on the measured machine, in milliseconds."""
    return count * WORK_NS[kind] / 1e6
