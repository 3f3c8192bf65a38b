"""One simulated run."""

from __future__ import annotations

from assignors.flow import flow_cache
from assignors.model.assignment import TaskAssignor
from assignors.objective.cost import EQUAL_WEIGHTS, Weights
from simulator.assignment.explanation import ExplanationRequest
from simulator.flows.execution import Execution
from simulator.processes.simulation import Observer, Simulation
from simulator.results.trace import Trace
from simulator.world.world import World


def _nobody_looks(execution: Execution) -> None:
    """Most runs are only looked at when they are over."""


def simulate(
    world: World,
    assignor: TaskAssignor,
    weights: Weights = EQUAL_WEIGHTS,
    observe: Observer = _nobody_looks,
    question: ExplanationRequest | None = None,
) -> Trace:
    """Let a world live through its duration with one assignor.

    Args:
        world: the cluster, the application and what happens to them; drawn from a seed already.
        assignor: who decides.
        weights: what the assignor takes a remote partition and a moved task to cost where nothing is configured.
        observe: is shown the execution after every change; must not touch it.
        question: of which tasks to explain the moves; nothing else depends on it.

    Returns:
        What happened; the same for the same arguments, to the byte. A failing assignor ends the run, and is a part of
        the trace.
    """
    with flow_cache():
        return Simulation(world, assignor, weights, observe, question).run()
