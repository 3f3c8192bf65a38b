"""Runs of several applications on the same cluster and hosts, in one simulated time.

Every application has its own group, clients and tasks. They share the bandwidth of brokers and hosts: when the copies
of one application read more or less, the rates of the others change at that moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

import simpy

from assignors.flow import flow_cache
from assignors.model.assignment import TaskAssignor
from assignors.objective import EQUAL_WEIGHTS, Weights
from simulator.errors import AssignorFailedError, BudgetExceededError, SimulationError
from simulator.flows.execution import Execution
from simulator.flows.shared_bandwidth import SharedBandwidth
from simulator.processes.run_options import DEFAULT_OPTIONS, RunOptions
from simulator.processes.simulation import Simulation, simulate
from simulator.results.trace import Trace
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class Neighbor:
    """Another application on the same cluster.

    Attributes:
        world: its clients and disturbances, on the same brokers for the same time.
        assignor: computes its assignments.
        weights: the assignor's default costs.
        upgraded: as in `simulate`.
    """

    world: World
    assignor: TaskAssignor
    weights: Weights = EQUAL_WEIGHTS
    upgraded: Mapping[str, TaskAssignor] = field(default_factory=dict)


def simulate_alongside(
    world: World,
    assignor: TaskAssignor,
    weights: Weights = EQUAL_WEIGHTS,
    options: RunOptions = DEFAULT_OPTIONS,
    *,
    neighbors: Sequence[Neighbor] = (),
    upgraded: Mapping[str, TaskAssignor] = MappingProxyType({}),
) -> Trace:
    """Simulate a world together with the neighbors of its application.

    Returns the trace of the world's application, with those of the neighbors by `application.id` (`Trace.neighbors`).
    An invalid assignment of any application, or an exceeded budget, ends the run of all.

    Guarantees: the order of `neighbors` has no influence. A neighbor that uses no limited broker or host of the
    application does not change any figure of it.

    Args:
        options: for the first application only, except for the limits, and for `observe`, which is called with the
            execution of the application that changed.
        neighbors: the other applications, each with another `application.id`.
        upgraded: as in `simulate`, for the first application only.
    """
    if not neighbors:
        return simulate(world, assignor, weights, options, upgraded=upgraded)
    own = Neighbor(world, assignor, weights, upgraded)
    others = sorted(neighbors, key=lambda neighbor: neighbor.world.application.id)
    with flow_cache():
        return _JointSimulation([own, *others], options).run()


class _JointSimulation:
    """The simulations of several applications, the first of which is the one whose trace is asked for."""

    def __init__(self, applications: Sequence[Neighbor], options: RunOptions) -> None:
        self._env = simpy.Environment(initial_time=0)
        self._duration_ms = applications[0].world.duration_ms
        self._bandwidth = SharedBandwidth.of_worlds([application.world for application in applications])
        self._observe = options.observe
        of_neighbors = replace(options, capture=False, prove=None, explain=None, on_rebalance=None)
        self._changed: dict[int, Execution] = {}
        self._is_updating = False
        self._simulations = [
            Simulation(
                application.world,
                application.assignor,
                application.weights,
                replace(options if index == 0 else of_neighbors, observe=partial(self._note_change, index)),
                upgraded=application.upgraded,
                env=self._env,
                bandwidth=self._bandwidth.of_application(index),
            )
            for index, application in enumerate(applications)
        ]

    def run(self) -> Trace:
        """Run until the end of the first world's duration, and return the trace of the first application."""
        for simulation in self._simulations:
            simulation.start()
        failure: SimulationError | None = None
        try:
            self._env.run(until=self._duration_ms)
        except (AssignorFailedError, BudgetExceededError) as error:
            failure = error
        own, *others = (simulation.finish(failure) for simulation in self._simulations)
        if isinstance(failure, BudgetExceededError) and own.stopped is None:
            [stopped] = (trace for trace in others if trace.stopped is not None)
            own = replace(own, stopped=f"neighbor {stopped.world.application.id}: {stopped.stopped}")
        elif isinstance(failure, AssignorFailedError) and own.failure is None:
            [failed] = (trace for trace in others if trace.failure is not None)
            reason = f"neighbor {failed.world.application.id}: {failed.failure}"
            own = replace(own, failure=reason, failure_kind=failed.failure_kind)
        return replace(own, neighbors=tuple(others))

    def _note_change(self, index: int, execution: Execution) -> None:
        """Update the applications whose rates a change of one of them affects, then let the observer see them all."""
        self._changed[index] = execution
        if self._is_updating:
            return
        self._is_updating = True
        try:
            # Copies that have caught up by now need less, which changes the rates of the others again.
            while self._bandwidth.outdated:
                self._simulations[self._bandwidth.outdated[0]].update_rates()
        finally:
            self._is_updating = False
        changed, self._changed = self._changed, {}
        if self._observe is not None:
            for changed_execution in changed.values():
                self._observe(changed_execution)
