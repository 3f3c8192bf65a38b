"""How long Kafka's rack-aware search keeps a group leader busy.

`assignors.flow` counts for each flow what Kafka's own search does for it (`FlowEffort`): `passes` x `edges` looks at an
edge. Here a look gets its time.

Guarantees
    Predicted is the search of a rack-aware strategy and nothing else, in a warm JVM. What an assignment takes besides
    is not: mostly milliseconds, but seconds for sticky assignors on thousands of tasks on few clients, and for high
    availability on a thousand clients or on dozens of standbys.
Priority
    Looks are exact; what one takes depends on the machine. A look follows pointers (an entry of a ``TreeMap``, its
    edge, the entries of two nodes in a ``HashMap``), which takes the longer, the less of the graph is in the
    processor's cache. So its time grows with the edges, up to the largest graph that was measured; beyond it is taken
    as constant, which is rather too little.
Complexity
    A few multiplications a flow.
Source
    ``Graph.detectNegativeCycles`` of Kafka Streams: the time that the thread ran, Kafka 4.3.1 on OpenJDK 17.0.15 with
    4 GB and its default collector, on two cores of an AMD EPYC (Zen 3 at 2.4 GHz; 512 kB of L2 cache a core, 32 MB of
    L3) in a virtual machine that was busy with other work, too. Over 14 applications from 100 tasks x 10 clients to
    2,000 x 100, of both strategies, which took from 85 ms to 154 s, half were within 6 % of the prediction, and the
    worst was 23 % above it. Shorter ones take longer than predicted, as the JVM is not warm by then. A single search
    over a graph of 90,000 edges and more, as where nothing can be improved, took up to twice as long. On a day when
    such a machine had nothing else to do and its cache to itself, a look took 9.4 ns at 300 x 30 and 7.4 ns at
    1,000 x 50 (149 s; 300 s at the `relative_speed` of 1.85 that fits the former).
"""

from __future__ import annotations

from collections.abc import Iterable

from assignors.flow import FlowEffort

LOOK_NS = 15.0
"""What a look takes in a graph that the cache holds."""

LOOK_NS_PER_EDGE = 0.000_135
"""By how much more it takes for each edge of the graph."""

MOST_EDGES_MEASURED = 400_000
"""Up to how many edges that was seen to hold."""


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
    return sum(effort.passes * effort.edges * look_ns(effort.edges) for effort in efforts) / 1e6 / relative_speed


def look_ns(edges: int) -> float:
    """What a look at an edge takes in a graph of so many, in nanoseconds."""
    return LOOK_NS + LOOK_NS_PER_EDGE * min(edges, MOST_EDGES_MEASURED)
