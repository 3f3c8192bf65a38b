"""Simulation of one world with one assignor."""

from __future__ import annotations

from assignors.flow import flow_cache
from assignors.model.assignment import TaskAssignor
from assignors.objective.cost import EQUAL_WEIGHTS, Weights
from simulator.assignment.explanation import ExplanationRequest
from simulator.processes.simulation import Observer, Simulation
from simulator.results.trace import Trace
from simulator.world.world import World


def simulate(
    world: World,
    assignor: TaskAssignor,
    weights: Weights = EQUAL_WEIGHTS,
    *,
    capture: bool = False,
    explain: ExplanationRequest | None = None,
    observe: Observer | None = None,
) -> Trace:
    """Simulate a world for its duration.

    Args:
        world: the cluster, the application and their disturbances, as drawn from a seed.
        assignor: computes the assignment of every rebalance.
        weights: the assignor's default costs of a remote partition and of a moved task.
        capture: whether to keep the assignor's input and output of every rebalance (`Trace.captured_rounds`).
        explain: the tasks whose moves to explain; affects no other figure.
        observe: called with the execution after every change of it; must not modify it.

    Returns:
        The trace, equal for equal arguments. If the assignment is invalid or the assignor raises an `AssignorError`,
        the run ends there and `Trace.failure` has the reason; other exceptions propagate.
    """
    with flow_cache():
        return Simulation(world, assignor, weights, capture=capture, explain=explain, observe=observe).run()
