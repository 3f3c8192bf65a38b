"""How long Kafka's assignors keep a group leader busy.

`assignors.flow` counts for each flow what Kafka's rack-aware search does for it (`FlowEffort`): `passes` x `edges`
looks at an edge. The assignors count the rest (`assignors.recording.leader_work`). Here each operation gets its time.

Guarantees
    Predicts a warm JVM. The search is predicted within a third, the rest within a factor of two: seconds for sticky
    assignors on thousands of tasks on few clients, and for high availability on a thousand clients or on dozens of
    standbys; mostly milliseconds otherwise, which a simulation leaves out (`NEGLIGIBLE_MS`). Reading what members
    report, and spreading tasks over threads, are not counted.
Priority
    Looks are exact; what one takes depends on the machine. A look follows pointers (an entry of a ``TreeMap``, its
    edge, the entries of two nodes in a ``HashMap``), so memory matters as much as the processor.
Complexity
    A multiplication a flow, and a kind of work.
Source
    ``Graph.detectNegativeCycles`` of Kafka Streams. On two cores of an AMD EPYC with nothing else to do, OpenJDK
    17.0.15, trunk of 2024-10-25, a look took 9.6 and 7.4 ns at 100 tasks x 10 clients, 9.3, 10.2 and 8.1 ns at
    300 x 30, and 6.8 ns at 1,000 x 50 (149 s): 8.5 ns, give or take a fifth, without growing with the graph. On such a
    machine that was busy with other work, Kafka 4.3.1 took 15 to 25 ns, and 40 ns for graphs of 180,000 edges, which
    then no longer have the cache to themselves; docs/reference/performance.md has those.
    The times of other work fit the eight shapes of ``StreamsAssignmentScaleTest``, each in two rounds, on the same
    quiet machine: tests/assignors/recording/test_leader_work.py has those times. On a busy machine, Kafka 4.3.1 took the sticky
    assignor 0.21, 2.5 and 24.6 s for 500, 1,000 and 2,000 tasks x 2, and as long with 5 or 20 subtopologies as with
    one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from assignors.flow import FlowEffort
from assignors.recording.leader_work import LeaderWork

LOOK_NS = 8.5
"""What a look at an edge takes."""

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
"""What an operation of each kind takes."""

NEGLIGIBLE_MS: Final = 50.0
"""Less of such work is not counted: network and disks take as long between members, which is not simulated either."""


def leader_time_ms(efforts: Iterable[FlowEffort], relative_speed: float = 1.0) -> float:
    """How long the search takes over all flows of one assignment, in milliseconds.

    Args:
        efforts: one for each flow that Kafka solves, also for those that change nothing.
        relative_speed: how fast the leader's processor is compared with the one that was measured: 2 halves the time.

    Raises:
        ValueError: the speed is not positive.
    """
    if not relative_speed > 0:
        raise ValueError(f"relative_speed must be positive, not {relative_speed}")
    return sum(effort.passes * effort.edges for effort in efforts) * LOOK_NS / 1e6 / relative_speed


def work_time_ms(kind: LeaderWork, count: float) -> float:
    """Return how long so many operations of a kind take, in milliseconds, on the machine that was measured."""
    return count * WORK_NS[kind] / 1e6
