"""One simulated run."""

from __future__ import annotations

from assignors.assignment import TaskAssignor
from simulator.processes import Clockwork
from simulator.trace import Trace
from simulator.world import World


def simulate(world: World, assignor: TaskAssignor, traffic_cost: int = 1) -> Trace:
    """Let a world live through its duration with one assignor.

    Args:
        world: the cluster, the application and what happens to them; drawn from a seed already.
        assignor: who decides.
        traffic_cost: what the assignor takes a remote partition to cost where nothing is configured.

    Returns:
        What happened; the same for the same arguments, to the byte. A failing assignor ends the run, and is a part of
        the trace.
    """
    return Clockwork(world, assignor, traffic_cost).run()
