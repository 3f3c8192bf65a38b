"""How long Kafka's rack-aware search keeps a group leader busy.

`assignors.flow` counts for each flow what Kafka's own search does for it (`FlowEffort`): `passes` x `edges` looks at an
edge. Here a look gets its time.

Guarantees
    Predicted is the search of a rack-aware strategy and nothing else, in a warm JVM. What an assignment takes besides
    is not: mostly milliseconds, but seconds for sticky assignors on thousands of tasks on few clients, and for high
    availability on a thousand clients or on dozens of standbys.
Priority
    Looks are exact; what one takes depends on the machine. A look follows pointers (an entry of a ``TreeMap``, its
    edge, the entries of two nodes in a ``HashMap``), so memory matters as much as the processor.
Complexity
    A multiplication a flow.
Source
    ``Graph.detectNegativeCycles`` of Kafka Streams. On two cores of an AMD EPYC with nothing else to do, OpenJDK
    17.0.15, trunk of 2024-10-25, a look took 9.6 and 7.4 ns at 100 tasks x 10 clients, 9.3, 10.2 and 8.1 ns at
    300 x 30, and 6.8 ns at 1,000 x 50 (149 s): 8.5 ns, give or take a fifth, without growing with the graph. On such a
    machine that was busy with other work, Kafka 4.3.1 took 15 to 25 ns, and 40 ns for graphs of 180,000 edges, which
    then no longer have the cache to themselves; docs/reference/performance.md has those.
"""

from __future__ import annotations

from collections.abc import Iterable

from assignors.flow import FlowEffort

LOOK_NS = 8.5
"""What a look at an edge takes."""


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
