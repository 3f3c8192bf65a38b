"""Runs of the small world, whose invariants are checked after every change."""

from __future__ import annotations

import dataclasses

import numpy as np

from assignors.model.assignment import TaskAssignor
from assignors.model.configs import RackAwareStrategy
from assignors.tasks.high_availability import HighAvailability
from simulator.results.trace import Trace
from simulator.run import simulate
from simulator.world.disturbances import Disturbance
from simulator.world.world import GroupProtocol, Store, Subtopology, World
from tests.simulator.invariants import InvariantChecker
from tests.simulator.world_builders import with_configs, with_group

SECOND = 1_000
GIGABYTES = 6 * 600_000_000


def run(base: World, *disturbances: Disturbance, assignor: TaskAssignor | None = None) -> Trace:
    disturbed = dataclasses.replace(base, disturbances=disturbances)
    return simulate(disturbed, assignor or HighAvailability(), observe=InvariantChecker(disturbed))


def at(trace: Trace) -> list[int]:
    return [each.at_ms for each in trace.rounds]


def members(trace: Trace) -> list[list[int]]:
    return [sorted(each.members.tolist()) for each in trace.rounds]


def with_client(base: World, row: int, **changes: object) -> World:
    """The world with one client changed."""
    clients = [dataclasses.replace(each, **changes) if i == row else each for i, each in enumerate(base.clients)]  # type: ignore[arg-type]
    return dataclasses.replace(base, clients=tuple(clients))


def in_memory(base: World) -> World:
    """The world with a store that is not persistent."""
    first, second = base.application.subtopologies
    stores = (Store("counts", "app-counts-changelog", persistent=False),)
    parts = (first, Subtopology(second.id, second.source_topics, stores))
    return dataclasses.replace(base, application=dataclasses.replace(base.application, subtopologies=parts))


def of_streams(base: World, **configs: object) -> World:
    return with_group(base, protocol=GroupProtocol.STREAMS, **configs)


def rack_aware(base: World) -> World:
    return with_configs(base, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)


def ran_on(trace: Trace, row: int, number: int = 0) -> np.ndarray:
    """The tasks that a round gave to a client."""
    return np.flatnonzero(trace.rounds[number].owner == row)


def down_s(trace: Trace) -> list[float]:
    return (trace.downtime_ms / 1000).tolist()
